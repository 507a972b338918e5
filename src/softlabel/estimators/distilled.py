"""Distillation as a scikit-learn classifier: a teacher is fitted and labels the rows, and a student learns its labels.

A teacher is overconfident on rows that it was fitted on. Therefore the soft label of each row comes from a copy of the
teacher that was fitted without this row: rows are split into stratified folds, and each fold is labeled by a copy that
was fitted on the other folds.
"""

import re
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from softlabel.errors import require
from softlabel.estimators.fitting import (
    as_seed,
    clone_with_teacher,
    encode_classes,
    teacher_probabilities,
    weighted_rows,
)
from softlabel.estimators.two_layer import TwoLayerClassifier

_RANDOM = re.compile(r"(^|__)random_state$")


class DistilledClassifier(ClassifierMixin, BaseEstimator):
    """A student that learns a teacher's probabilities.

    Parameters
    ----------
    teacher : classifier with predict_proba, optional
        It is copied and fitted, unless `prefit` is True. Default: `ExtraTreesClassifier()`.
    student : classifier whose fit takes `soft_labels`, optional
        It is copied and fitted. Default: `TwoLayerClassifier()`.
    cv : int, splitter or iterable, default=5
        Number of folds for the teacher's out-of-fold labels (fewer if a class has fewer rows), or a scikit-learn
        splitter or list of (training rows, held-out rows) that holds out every row.
    prefit : bool, default=False
        Whether the teacher is already fitted, on other rows than these. It then labels all rows itself, and copies of
        this classifier share it. A teacher in a `FrozenEstimator` is always prefit.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of teacher and student if their own is None. None means 0.

    Attributes
    ----------
    teacher_ : classifier
        The teacher, fitted on all rows.
    student_ : classifier
        The fitted student.
    folds_ : int
        Number of folds; 0 if `teacher_` labeled the rows, because it is prefit or because a class has only one row.
    classes_ : ndarray of shape (n_classes,)
        Sorted classes.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the input columns, if `X` was a data frame.

    See Also
    --------
    TwoLayerClassifier : The default student.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import softlabel as sl
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sl.DistilledClassifier(RandomForestClassifier(20), sl.TwoLayerClassifier(width=8)).fit(X, y)
    >>> model.folds_, bool(model.score(X, y) > 0.9)
    (5, True)
    """

    def __init__(
        self, teacher: Any = None, student: Any = None, *, cv: Any = 5, prefit: bool = False, random_state: Any = None
    ) -> None:
        self.teacher = teacher
        self.student = student
        self.cv = cv
        self.prefit = prefit
        self.random_state = random_state

    def __sklearn_clone__(self) -> Any:
        return clone_with_teacher(self) if self.prefit else super().__sklearn_clone__()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DistilledClassifier":
        """Fit teacher and student.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training inputs.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows for the student, and for the teacher if its fit takes weights. Rows of weight 0 are
            ignored.

        Returns
        -------
        DistilledClassifier
            The fitted classifier.
        """
        table, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        student = TwoLayerClassifier() if self.student is None else self.student
        require(
            has_fit_parameter(student, "soft_labels"),
            f"student {type(student).__name__} cannot learn from a teacher: use one whose fit takes `soft_labels`, "
            "such as TwoLayerClassifier",
        )
        prefit = self.prefit or isinstance(self.teacher, FrozenEstimator)
        require(
            not prefit or self.teacher is not None, "`prefit` is True and `teacher` is None: pass the fitted teacher"
        )
        teacher = ExtraTreesClassifier() if self.teacher is None else self.teacher
        inputs = X if hasattr(X, "columns") else table
        data = _TrainingData.from_arrays(inputs, y, sample_weight, as_seed(self.random_state))
        splits = [] if prefit else self._splits(data)
        self.teacher_: Any = teacher if prefit else data.fit(teacher, data.rows)
        soft = data.out_of_fold(teacher, splits) if splits else data.probabilities(self.teacher_, data.rows)
        self.student_ = data.fit(student, data.rows, soft_labels=soft)
        self.folds_ = len(splits)
        self.classes_ = data.classes
        return self

    def _splits(self, data: "_TrainingData") -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows to fit on and rows to label, for each fold; empty if a class has only one row."""
        if not isinstance(self.cv, Integral):
            splitter: Any = check_cv(self.cv, data.y, classifier=True)
            splits = splitter.split(data.inputs, data.y)
            return [(np.asarray(train), np.asarray(rest)) for train, rest in splits]
        require(int(self.cv) >= 2, f"cv must be at least 2 folds, got {self.cv}")
        y = data.y[data.rows]
        folds = min(int(self.cv), int(np.unique(y, return_counts=True)[1].min()))
        if folds < 2:
            return []
        splits = StratifiedKFold(folds, shuffle=True, random_state=data.seed).split(y, y)
        return [(data.rows[train], data.rows[rest]) for train, rest in splits]

    def decision_function(self, X: Any) -> np.ndarray:
        """The student's outputs for `X`: (n,) for two classes, positive for the second; (n, K) for more."""
        check_is_fitted(self)
        return self.student_.decision_function(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The student's probabilities of the classes, (n, K), which are softened if the student's labels were."""
        check_is_fitted(self)
        return self.student_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the student's probabilities, (n, K)."""
        check_is_fitted(self)
        return self.student_.predict_log_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """The student's predicted class of each row, (n,)."""
        check_is_fitted(self)
        return self.student_.predict(X)


@dataclass(frozen=True, eq=False)
class _TrainingData:
    """Inputs (n, d) as array or frame, labels and weights (n,), the indices of rows of positive weight, and a seed."""

    inputs: Any
    y: np.ndarray
    classes: np.ndarray
    rows: np.ndarray
    weights: np.ndarray | None
    seed: int

    @classmethod
    def from_arrays(cls, inputs: Any, y: np.ndarray, sample_weight: Any, seed: int) -> "_TrainingData":
        rows, positive = weighted_rows(sample_weight, len(y))
        classes, _ = encode_classes(y[rows])
        weights = None
        if positive is not None:
            weights = np.zeros(len(y))
            weights[rows] = positive
        return cls(inputs, y, classes, rows, weights, seed)

    def fit(self, estimator: Any, rows: np.ndarray, **options: Any) -> Any:
        """A copy of the estimator, fitted on these rows; random states that are None get the seed."""
        if self.weights is not None and has_fit_parameter(estimator, "sample_weight"):
            options["sample_weight"] = self.weights[rows]
        copy: Any = clone(estimator)
        unset = [name for name, value in copy.get_params().items() if value is None and _RANDOM.search(name)]
        copy.set_params(**dict.fromkeys(unset, self.seed))
        return copy.fit(self._inputs(rows), self.y[rows], **options)

    def probabilities(self, teacher: Any, rows: np.ndarray) -> np.ndarray:
        """A fitted teacher's probabilities for these rows, (rows, K)."""
        return teacher_probabilities(teacher, self._inputs(rows), self.classes)

    def out_of_fold(self, teacher: Any, splits: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Probabilities of all rows of positive weight, each by a copy of the teacher fitted without the row."""
        soft = np.full((len(self.y), len(self.classes)), np.nan)
        for train, rest in splits:
            copy = self.fit(teacher, train[np.isin(train, self.rows)])
            soft[rest] = self.probabilities(copy, rest)
        missed = int(np.isnan(soft[self.rows]).any(axis=1).sum())
        require(missed == 0, f"cv must hold out every row once; {missed} of {len(self.rows)} were never held out")
        return soft[self.rows]

    def _inputs(self, rows: np.ndarray) -> Any:
        return self.inputs if len(rows) == len(self.y) else _safe_indexing(self.inputs, rows)
