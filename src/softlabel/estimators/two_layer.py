"""A two-layer student as a scikit-learn classifier, for hard or soft labels."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from softlabel.data.scaling import Scaler
from softlabel.errors import InputError, require
from softlabel.estimators.fitting import as_seed, checked_soft_labels, encode_classes, weighted_rows
from softlabel.networks.losses import Labels, hard_labels, soft_labels
from softlabel.networks.pgd import TrainingOptions, count_steps, train_students
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.networks.students import Student
from softlabel.numerics import threads_for
from softlabel.ranges import check_count

SMALL = 2000  # largest number of rows for full batches in float64
BATCH_SIZE = 256
FULL_BATCH_STEPS = 300
MIN_STEPS, MIN_EPOCHS = 2000, 10  # with mini-batches
_TABLE: Any = {"dtype": [np.float64, np.float32], "order": "C", "force_writeable": True}


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions:
    """Options of `TwoLayerClassifier` that are rarely needed.

    Parameters
    ----------
    scale : {"standard", "max", "unit", "none"}, default="standard"
        Scaling of the inputs: columns with mean 0 and deviation 1; division by the largest norm; unit norm of every
        row; none.
    schedule : {"cosine", "linear", "constant"}, default="cosine"
        Learning-rate schedule.
    temperature_on : {"labels", "both"}, default="labels"
        Whether the temperature is applied to the labels only, or to the labels and the student's logits.
    train_output : bool, default=True
        Whether the output weights are trained.
    biases : bool, default=True
        Whether neurons and outputs have biases.
    precision : {"auto", "float32", "float64", "bfloat16"}, default="auto"
        Floating-point type. "auto" is float64 for up to 2,000 rows, otherwise float32.

    Examples
    --------
    >>> import softlabel as sl
    >>> model = sl.TwoLayerClassifier(width=8, options=sl.ClassifierOptions(scale="max", biases=False))
    >>> model.options.schedule
    'cosine'
    """

    scale: str = "standard"
    schedule: str = "cosine"
    temperature_on: str = "labels"
    train_output: bool = True
    biases: bool = True
    precision: str = "auto"


class TwoLayerClassifier(ClassifierMixin, BaseEstimator):
    """Two-layer neural network for hard or soft labels.

    Parameters
    ----------
    width : int, default=32
        Number of hidden neurons.
    init : {"he", "glorot", "gaussian", "symmetric", "torch"}, default="he"
        Initialization of the weights.
    activation : {"relu", "softplus", "tanh", "erf", "gelu"}, default="relu"
        Activation function.
    learning_rate : float, default=0.03
        Initial learning rate.
    batch_size : int, None or "auto", default="auto"
        Batch size; None means full batch. "auto" is full batch for up to 2,000 rows, otherwise 256.
    epochs : int or "auto", default="auto"
        Number of passes over the training data. "auto" is 300 for full batches, otherwise enough for 2,000 steps and at
        least 10.
    radius : float, optional
        Projection radius B: each neuron stays within B/√width of its initial weights. Default: no projection.
    temperature : float, default=1.0
        Temperature of soft labels. Hard labels do not have a temperature.
    smoothing : float, default=0.0
        Label smoothing: fraction of every label that is spread evenly over the classes.
    optimizer : {"adam", "gradient"}, default="adam"
        Optimizer.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialization and of the order of rows. None means 0, so that repeated calls give equal results.
    options : ClassifierOptions, optional
        Scaling of the inputs, schedule, side of the temperature, trained output weights, biases and precision.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted classes.
    model_ : StudentModel
        The trained student, for `export_student`.
    n_iter_ : int
        Number of steps.
    loss_ : float
        Mean training loss at the end: the divergence from the labels.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the input columns, if `X` was a data frame.

    See Also
    --------
    DistilledClassifier : Learns from a teacher's probabilities.

    Notes
    -----
    For up to 2,000 rows, a weight of k has the same effect as k equal rows, and the order of rows does not matter (up
    to rounding).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import softlabel as sl
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sl.TwoLayerClassifier(width=8, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        width: int = 32,
        *,
        init: str = "he",
        activation: str = "relu",
        learning_rate: float = 0.03,
        batch_size: int | str | None = "auto",
        epochs: int | str = "auto",
        radius: float | None = None,
        temperature: float = 1.0,
        smoothing: float = 0.0,
        optimizer: str = "adam",
        random_state: Any = None,
        options: ClassifierOptions | None = None,
    ) -> None:
        self.width = width
        self.init = init
        self.activation = activation
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.radius = radius
        self.temperature = temperature
        self.smoothing = smoothing
        self.optimizer = optimizer
        self.random_state = random_state
        self.options = options

    def fit(self, X: Any, y: Any, sample_weight: Any = None, soft_labels: Any = None) -> "TwoLayerClassifier":
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training inputs.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows. Rows of weight 0 are ignored.
        soft_labels : array-like of shape (n, K) or (n,), optional
            Probabilities of the sorted classes, or of the second of two classes. They replace `y` as training labels.

        Returns
        -------
        TwoLayerClassifier
            The fitted classifier.
        """
        table, y = cast(Any, validate_data(self, X, y, **_TABLE))
        check_classification_targets(y)
        rows, weights = weighted_rows(sample_weight, len(table))
        classes, codes = encode_classes(y[rows])
        soft = None if soft_labels is None else checked_soft_labels(soft_labels, classes, len(table))[rows]
        self._train(table if len(rows) == len(table) else table[rows], classes, codes, soft, weights)
        self.classes_ = classes
        return self

    def _train(
        self,
        table: np.ndarray,
        classes: np.ndarray,
        codes: np.ndarray,
        soft: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> None:
        """Train on rows (n, d) of positive weight, with class indices (n,) and optional soft labels (n, K)."""
        options = self._checked_options()
        seed = as_seed(self.random_state)
        student = self._student(seed, options, is_soft=soft is not None)
        small = len(table) <= SMALL
        batch_size = self.batch_size
        if batch_size is not None:
            batch_size = _integer("batch_size", batch_size) if batch_size != "auto" else None if small else BATCH_SIZE
        epochs = _enough_epochs(len(table), batch_size) if self.epochs == "auto" else _integer("epochs", self.epochs)
        check_count(epochs, "epochs")
        precision = options.precision
        if precision == "auto":
            precision = "float64" if small else "float32"
        scaler = Scaler.fit(table, options.scale, weights)
        with threads_for(6 * min(batch_size or len(table), len(table)) * table.shape[1] * student.width):
            run = train_students(
                scaler.apply(table, np.float64 if precision == "float64" else np.float32),
                [student],
                _labels(codes, soft),
                sample_weight=weights,
                epochs=epochs,
                batch_size=batch_size,
                seed=seed,
                optimizer=self.optimizer,
                schedule=options.schedule,
                options=TrainingOptions(precision=precision, record_every=count_steps(len(table), epochs, batch_size)),
            )
        columns = getattr(self, "feature_names_in_", None)
        self.model_ = StudentModel(
            run[0].network,
            scaler,
            tuple(str(one) for one in classes),
            None if columns is None else tuple(columns),
            Softening(student.temperature if student.temperature_on == "labels" else 1.0, student.smoothing),
        )
        self.n_iter_ = run[0].steps
        self.loss_ = run[0].records["loss"][-1]

    def _checked_options(self) -> ClassifierOptions:
        options = ClassifierOptions() if self.options is None else self.options
        require(isinstance(options, ClassifierOptions), f"options must be a ClassifierOptions or None, got {options!r}")
        settings = vars(self) | vars(options)
        for name in ("activation", "init", "optimizer", "schedule", "scale", "precision"):
            require(isinstance(settings[name], str), f"{name} must be a string, got {settings[name]!r}")
        return options

    def _student(self, seed: int, options: ClassifierOptions, is_soft: bool) -> Student:
        """The settings of the student, checked."""
        return Student(
            width=_integer("width", self.width),
            seed=seed,
            temperature=_number("temperature", self.temperature) if is_soft else 1.0,
            temperature_on=cast(Any, options.temperature_on),
            smoothing=_number("smoothing", self.smoothing),
            radius=None if self.radius is None else _number("radius", self.radius),
            learning_rate=_number("learning_rate", self.learning_rate),
            init=self.init,
            activation=self.activation,
            train_output=bool(options.train_output),
            biases=bool(options.biases),
        )

    def _table(self, X: Any) -> np.ndarray:
        """Inputs of a prediction, checked against those of `fit`."""
        check_is_fitted(self)
        return cast(Any, validate_data(self, X, reset=False, **_TABLE))

    def decision_function(self, X: Any) -> np.ndarray:
        """The network's outputs for `X` (n, d): (n,) for two classes, positive for the second; (n, K) for more."""
        table = self._table(X)
        return self.model_.logits(table)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes for `X` (n, d), as (n, K).

        They imitate the training labels: with soft labels at a `temperature` other than 1 on the labels only, or with
        `smoothing`, they are softened or sharpened and should not be used as probabilities; see
        `model_.softening.note`.
        """
        table = self._table(X)
        return self.model_.probabilities(table)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities, (n, K), finite even if the probabilities are rounded to 0."""
        z = self.decision_function(X).astype(np.float64)
        return np.stack([log_expit(-z), log_expit(z)], axis=1) if z.ndim == 1 else log_softmax(z, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row of `X`, (n,)."""
        table = self._table(X)
        return self.classes_[self.model_.predict(table)]


def _labels(codes: np.ndarray, soft: np.ndarray | None) -> Labels:
    """Training labels: class indices (n,), or soft labels (n, K)."""
    if soft is None:
        return hard_labels(codes)
    return soft_labels(soft[:, 1] if soft.shape[1] == 2 else soft)


def _enough_epochs(rows: int, batch_size: int | None) -> int:
    steps = count_steps(rows, 1, batch_size)
    return FULL_BATCH_STEPS if steps == 1 else max(MIN_EPOCHS, math.ceil(MIN_STEPS / steps))


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} must be an integer, got {value!r}")
    return int(value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number, got {value!r}")
    return float(value)
