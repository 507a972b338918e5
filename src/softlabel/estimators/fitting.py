"""Checks of the training data of a classifier: sample weights, classes, soft labels, teachers, random states."""

import copy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from softlabel.data.class_names import class_name
from softlabel.errors import InputError, few, require
from softlabel.networks.losses import SUM_TOLERANCE
from softlabel.networks.targets import checked_weights
from softlabel.teachers.reading import decide_reading


def weighted_rows(sample_weight: Any, rows: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Indices of the rows with a positive weight, and their weights; all rows and None without weights."""
    if sample_weight is None:
        return np.arange(rows), None
    weights = checked_weights(sample_weight, rows)
    positive = np.flatnonzero(weights)
    return positive, weights[positive]


def encode_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes (K,), and the class index of each row (n,)."""
    classes, codes = np.unique(y, return_inverse=True)
    require(len(classes) >= 2, f"y has one class only ({few(classes)}); a classifier needs at least two")
    return classes, codes


def checked_soft_labels(soft_labels: Any, classes: np.ndarray, rows: int) -> np.ndarray:
    """Soft labels (n, K), or (n,) of the second of two classes, as (n, K) with rows that sum to 1."""
    try:
        p = np.asarray(soft_labels, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("soft_labels must be numeric, with one column per class") from None
    if len(classes) == 2 and p.ndim == 1:
        p = np.stack([1 - p, p], axis=1)
    expected = f"({rows}, {len(classes)})" + (f" or ({rows},)" if len(classes) == 2 else "")
    require(
        p.shape == (rows, len(classes)),
        f"soft_labels must have shape {expected}, one column for each class of y ({few(classes)}), got {p.shape}",
    )
    bad = np.argwhere(~((p >= 0) & (p <= 1)))
    if len(bad):
        raise InputError(f"soft_labels must lie in [0, 1], got {p[bad[0][0]].tolist()} at row {bad[0][0]}")
    total = p.sum(axis=1)
    worst = int(np.abs(total - 1).argmax())
    require(
        abs(total[worst] - 1) <= SUM_TOLERANCE,
        f"soft_labels of a row must sum to 1, got {total[worst]:.6g} at row {worst}; normalize them",
    )
    return p / total[:, None]


def teacher_probabilities(teacher: Any, inputs: Any, classes: np.ndarray) -> np.ndarray:
    """A fitted teacher's probabilities (n, K), with columns in the order of `classes`.

    The columns of a teacher without `classes_` are assumed to be in this order.
    """
    require(
        hasattr(teacher, "predict_proba"),
        f"teacher {type(teacher).__name__} has no predict_proba: use a classifier that predicts probabilities",
    )
    p = np.asarray(teacher.predict_proba(inputs), dtype=np.float64)
    reading = decide_reading(
        p, classes=[class_name(one) for one in classes.tolist()], column_names=getattr(teacher, "classes_", None),
        kind="probabilities",
    )  # fmt: skip
    return p[:, list(reading.columns)]


def as_seed(random_state: Any) -> int:
    """A seed from a random state of scikit-learn; None means 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        require(int(random_state) >= 0, f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def clone_with_teacher(estimator: Any) -> Any:
    """An unfitted copy with the same fitted teacher (scikit-learn's default would copy the teacher unfitted)."""
    bare = copy.copy(estimator)
    bare.teacher = None
    twin: Any = BaseEstimator.__sklearn_clone__(bare)
    twin.teacher = estimator.teacher
    return twin
