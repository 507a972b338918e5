"""A two-layer student as a scikit-learn classifier, on hard labels, soft labels or a teacher's."""

import math
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from softlabel.data.scaling import Scaler
from softlabel.errors import InputError, require
from softlabel.estimators.fitting import (
    checked_soft_labels,
    classes_of,
    clone_with_teacher,
    rows_that_count,
    seed_of,
    teacher_probabilities,
)
from softlabel.networks.losses import Labels, hard_labels, soft_labels
from softlabel.networks.pgd import count_steps, train_students
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.networks.students import Student
from softlabel.numerics import threads_for

SMALL = 2000  # rows up to which a step takes all of them, in float64
BATCH = 256
FULL_STEPS = 300
LEAST_STEPS, LEAST_EPOCHS = 2000, 10  # of mini-batches
_TABLE: Any = {"dtype": [np.float64, np.float32], "order": "C", "force_writeable": True}


class TwoLayerClassifier(ClassifierMixin, BaseEstimator):
    """One hidden layer of `width` neurons, trained by this package's engine.

    width           neurons
    radius          B: each neuron stays within B/√width of its start; None lets it go
    temperature     of soft labels (hard ones have none), on the labels alone or on both sides (`temperature_on`)
    smoothing       share of every label that is spread evenly over the classes
    teacher         a fitted classifier with predict_proba, asked for soft labels in `fit` where none are given; a
                    copy (as grid searches and pipelines make them) keeps it as it is, fitted
    step            length of a step
    epochs          passes over the rows; "auto" is 300 for full batches, else enough for 2,000 steps, and at least 10
    batch_size      rows a step, None for all; "auto" is all up to 2,000 rows, else 256
    activation      relu, softplus, tanh, erf or gelu
    start           he, glorot, gaussian or symmetric
    train_output    whether the output layer learns
    biases          whether neurons and outputs have biases
    optimiser       "adam" or "gradient"
    schedule        "cosine", "linear" or "constant"
    scale           what is done to the columns first: "standard", "max", "unit" or "none"
    precision       "float32", "float64" or "bfloat16"; "auto" is float64 up to 2,000 rows, else float32
    random_state    a whole number is the seed of the start and of the order of rows; None is 0, so that equal calls
                    give equal classifiers

    Up to 2,000 rows, a weight of k counts as k equal rows do, and rows may come in any order (up to rounding).

    After `fit`: classes_, n_features_in_, feature_names_in_ (from frames), model_ (the `StudentModel`), n_iter_ (steps
    taken), loss_ (mean training loss at the end, the divergence from the labels).
    """

    def __init__(
        self,
        width=32,
        *,
        radius=None,
        temperature=1.0,
        temperature_on="labels",
        smoothing=0.0,
        teacher=None,
        step=0.03,
        epochs="auto",
        batch_size="auto",
        activation="relu",
        start="he",
        train_output=True,
        biases=True,
        optimiser="adam",
        schedule="cosine",
        scale="standard",
        precision="auto",
        random_state=None,
    ):
        self.width = width
        self.radius = radius
        self.temperature = temperature
        self.temperature_on = temperature_on
        self.smoothing = smoothing
        self.teacher = teacher
        self.step = step
        self.epochs = epochs
        self.batch_size = batch_size
        self.activation = activation
        self.start = start
        self.train_output = train_output
        self.biases = biases
        self.optimiser = optimiser
        self.schedule = schedule
        self.scale = scale
        self.precision = precision
        self.random_state = random_state

    def __sklearn_clone__(self) -> Any:
        return clone_with_teacher(self)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, soft_labels: Any = None) -> "TwoLayerClassifier":
        """Learn from X (n, d) and classes y (n,).

        sample_weight   (n,) what each row counts; rows of weight 0 are left out
        soft_labels     (n, K) probabilities of the sorted classes, or (n,) of the second of two; they replace y as what
                        is learned
        """
        table, y = cast(Any, validate_data(self, X, y, **_TABLE))
        check_classification_targets(y)
        rows, weights = rows_that_count(sample_weight, len(table))
        classes, codes = classes_of(y[rows])
        if soft_labels is not None:
            soft = checked_soft_labels(soft_labels, classes, len(table))[rows]
        elif self.teacher is not None:
            soft = teacher_probabilities(self.teacher, X if hasattr(X, "columns") else table, classes)
            soft = checked_soft_labels(soft, classes, len(table))[rows]
        else:
            soft = None
        self._learn(table if len(rows) == len(table) else table[rows], classes, codes, soft, weights)
        self.classes_ = classes
        return self

    def _learn(
        self,
        table: np.ndarray,
        classes: np.ndarray,
        codes: np.ndarray,
        soft: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> None:
        """Train on rows (n, d) that all count, with class numbers (n,) and perhaps soft labels (n, K)."""
        seed = seed_of(self.random_state)
        student = self._student(seed, warm=soft is not None)
        small = len(table) <= SMALL
        batch = self.batch_size
        if batch is not None:
            batch = _whole("batch_size", batch) if batch != "auto" else None if small else BATCH
        epochs = _enough_epochs(len(table), batch) if self.epochs == "auto" else _whole("epochs", self.epochs)
        precision = self.precision
        if precision == "auto":
            precision = "float64" if small else "float32"
        scaler = Scaler.fit(table, self.scale, weights)
        with threads_for(6 * min(batch or len(table), len(table)) * table.shape[1] * student.width):
            run = train_students(
                scaler.apply(table, np.float64 if precision == "float64" else np.float32),
                [student],
                _labels(codes, soft),
                weights=weights,
                epochs=epochs,
                batch_size=batch,
                order_seed=seed,
                optimiser=self.optimiser,
                schedule=self.schedule,
                precision=precision,
                record_every=count_steps(len(table), epochs, batch),
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

    def _student(self, seed: int, warm: bool) -> Student:
        """The settings as the engine wants them, checked."""
        for name in ("activation", "start", "optimiser", "schedule", "scale", "precision"):
            value = getattr(self, name)
            require(isinstance(value, str), f"{name} must be a word, got {value!r}")
        return Student(
            width=_whole("width", self.width),
            seed=seed,
            temperature=_number("temperature", self.temperature) if warm else 1.0,
            temperature_on=cast(Any, self.temperature_on),
            smoothing=_number("smoothing", self.smoothing),
            radius=None if self.radius is None else _number("radius", self.radius),
            step=_number("step", self.step),
            start=self.start,
            activation=self.activation,
            train_output=bool(self.train_output),
            biases=bool(self.biases),
        )

    def _table(self, X: Any) -> np.ndarray:
        """Inputs to predict for, checked against those of `fit`."""
        check_is_fitted(self)
        return cast(Any, validate_data(self, X, reset=False, **_TABLE))

    def decision_function(self, X: Any) -> np.ndarray:
        """The network's outputs: (n,) for two classes, positive for the second; (n, K) for more."""
        table = self._table(X)
        return self.model_.logits(table)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (n, K).

        They imitate the labels: with `temperature` other than 1 on the labels alone, or with `smoothing`, they are
        softened and not probabilities to rely on; `model_.softening.note` then says so.
        """
        table = self._table(X)
        return self.model_.probabilities(table)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities, (n, K); finite where the probabilities are rounded to 0."""
        z = self.decision_function(X).astype(np.float64)
        return np.stack([log_expit(-z), log_expit(z)], axis=1) if z.ndim == 1 else log_softmax(z, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row, (n,)."""
        table = self._table(X)
        return self.classes_[self.model_.predict(table)]


def _labels(codes: np.ndarray, soft: np.ndarray | None) -> Labels:
    """What the student learns: class numbers (n,), or soft labels (n, K)."""
    if soft is None:
        return hard_labels(codes)
    return soft_labels(soft[:, 1] if soft.shape[1] == 2 else soft)


def _enough_epochs(rows: int, batch: int | None) -> int:
    steps = count_steps(rows, 1, batch)
    return FULL_STEPS if steps == 1 else max(LEAST_EPOCHS, math.ceil(LEAST_STEPS / steps))


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} must be a whole number, got {value!r}")
    return int(value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number, got {value!r}")
    return float(value)
