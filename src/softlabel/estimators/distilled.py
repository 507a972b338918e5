"""Distillation as one scikit-learn classifier: a teacher is fitted, labels the rows, and a student learns from it.

A teacher is too sure of rows that it was fitted on. So each row's soft label comes from a copy of the teacher that has
not seen it: rows are dealt into folds, class by class, and each fold is labelled by a copy fitted on the others.
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
from softlabel.estimators.fitting import classes_of, clone_with_teacher, rows_that_count, seed_of, teacher_probabilities
from softlabel.estimators.two_layer import TwoLayerClassifier

_RANDOM = re.compile(r"(^|__)random_state$")


class DistilledClassifier(ClassifierMixin, BaseEstimator):
    """A student that learns a teacher's probabilities.

    teacher         a classifier with predict_proba; it is copied and fitted unless it is `prefit`. None is
                    ExtraTreesClassifier(), for which a weight of k is k equal rows
    student         a classifier whose fit takes soft_labels, copied and fitted; None is TwoLayerClassifier()
    cv              folds for the teacher's labels of its own training rows (fewer where a class has fewer rows), or
                    a splitter of scikit-learn or a list of (training rows, held-out rows) that hold out every row
    prefit          True where the teacher is fitted already, on other rows than these: it then labels all rows as
                    it is, and copies of this classifier share it. A teacher in a FrozenEstimator is always prefit
    random_state    a whole number: seed of the folds, and of teacher and student where they have none; None is 0

    After `fit`: teacher_, student_, classes_, n_features_in_, feature_names_in_ (from frames), folds_ (how many
    labelled the rows; 0 where teacher_ itself did, being prefit or because a class has one row only).
    """

    def __init__(self, teacher=None, student=None, *, cv=5, prefit=False, random_state=None):
        self.teacher = teacher
        self.student = student
        self.cv = cv
        self.prefit = prefit
        self.random_state = random_state

    def __sklearn_clone__(self) -> Any:
        return clone_with_teacher(self) if self.prefit else super().__sklearn_clone__()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DistilledClassifier":
        """Fit teacher and student on X (n, d) and classes y (n,).

        sample_weight   (n,) what each row counts, for the student, and for the teacher if its fit takes weights; rows
                        of weight 0 are left out
        """
        table, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        student = TwoLayerClassifier() if self.student is None else self.student
        require(
            has_fit_parameter(student, "soft_labels"),
            f"student {type(student).__name__} cannot learn from a teacher: choose one whose fit takes soft_labels, as "
            "TwoLayerClassifier",
        )
        prefit = self.prefit or isinstance(self.teacher, FrozenEstimator)
        require(not prefit or self.teacher is not None, "prefit is True and teacher is None: give the fitted teacher")
        teacher = ExtraTreesClassifier() if self.teacher is None else self.teacher
        held = _Rows.of(X if hasattr(X, "columns") else table, y, sample_weight, seed_of(self.random_state))
        splits = [] if prefit else self._splits(held)
        self.teacher_ = teacher if prefit else held.fitted(teacher, held.counted)
        soft = held.labelled(teacher, splits) if splits else held.ask(self.teacher_, held.counted)
        self.student_ = held.fitted(student, held.counted, soft_labels=soft)
        self.folds_ = len(splits)
        self.classes_ = held.classes
        return self

    def _splits(self, held: "_Rows") -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows to fit on and rows to label, fold by fold; none where a class has one row only."""
        if not isinstance(self.cv, Integral):
            splitter: Any = check_cv(self.cv, held.y, classifier=True)
            splits = splitter.split(held.inputs, held.y)
            return [(np.asarray(train), np.asarray(rest)) for train, rest in splits]
        require(self.cv >= 2, f"cv must be at least 2 folds, got {self.cv}")
        y = held.y[held.counted]
        folds = min(int(self.cv), int(np.unique(y, return_counts=True)[1].min()))
        if folds < 2:
            return []
        splits = StratifiedKFold(folds, shuffle=True, random_state=held.seed).split(y, y)
        return [(held.counted[train], held.counted[rest]) for train, rest in splits]

    def decision_function(self, X: Any) -> np.ndarray:
        """The student's outputs: (n,) for two classes, positive for the second; (n, K) for more."""
        check_is_fitted(self)
        return self.student_.decision_function(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The student's probabilities of the classes, (n, K); softened where the student's labels were, see there."""
        check_is_fitted(self)
        return self.student_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Their logarithms, (n, K)."""
        check_is_fitted(self)
        return self.student_.predict_log_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row by the student, (n,)."""
        check_is_fitted(self)
        return self.student_.predict(X)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Inputs (n, d) as array or frame, classes and weights (n,), the numbers of the rows that count, and a seed."""

    inputs: Any
    y: np.ndarray
    classes: np.ndarray
    counted: np.ndarray
    weights: np.ndarray | None
    seed: int

    @classmethod
    def of(cls, inputs: Any, y: np.ndarray, sample_weight: Any, seed: int) -> "_Rows":
        counted, positive = rows_that_count(sample_weight, len(y))
        classes, _ = classes_of(y[counted])
        weights = None
        if positive is not None:
            weights = np.zeros(len(y))
            weights[counted] = positive
        return cls(inputs, y, classes, counted, weights, seed)

    def fitted(self, estimator: Any, rows: np.ndarray, **options: Any) -> Any:
        """A copy of the estimator, fitted on these rows; what has no random state yet in it gets the seed."""
        if self.weights is not None and has_fit_parameter(estimator, "sample_weight"):
            options["sample_weight"] = self.weights[rows]
        copy: Any = clone(estimator)
        unset = [name for name, value in copy.get_params().items() if value is None and _RANDOM.search(name)]
        copy.set_params(**dict.fromkeys(unset, self.seed))
        return copy.fit(self._inputs(rows), self.y[rows], **options)

    def ask(self, teacher: Any, rows: np.ndarray) -> np.ndarray:
        """A fitted teacher's probabilities for these rows, (rows, K)."""
        return teacher_probabilities(teacher, self._inputs(rows), self.classes)

    def labelled(self, teacher: Any, splits: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Probabilities for all rows that count, each by a copy of the teacher that has not seen it."""
        soft = np.full((len(self.y), len(self.classes)), np.nan)
        for train, rest in splits:
            copy = self.fitted(teacher, train[np.isin(train, self.counted)])
            soft[rest] = self.ask(copy, rest)
        missed = int(np.isnan(soft[self.counted]).any(axis=1).sum())
        require(missed == 0, f"cv must hold out every row once; {missed} of {len(self.counted)} were never held out")
        return soft[self.counted]

    def _inputs(self, rows: np.ndarray) -> Any:
        return self.inputs if len(rows) == len(self.y) else _safe_indexing(self.inputs, rows)
