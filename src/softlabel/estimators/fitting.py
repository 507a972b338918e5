"""What a classifier is fitted on: rows that count, classes by number, soft labels in the order of the classes."""

import copy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from softlabel.errors import InputError, few, require
from softlabel.networks.losses import SUM_TOLERANCE


def rows_that_count(sample_weight: Any, rows: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers of the rows with a positive weight, and these weights; all rows and None where no weights are given."""
    if sample_weight is None:
        return np.arange(rows), None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers, one a row of X") from None
    require(weights.shape == (rows,), f"sample_weight must be one a row of X: {rows} rows, got shape {weights.shape}")
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        raise InputError(f"sample_weight must be finite and not negative, got {weights[bad[0]]} at row {bad[0]}")
    counted = np.flatnonzero(weights)
    require(len(counted) > 0, "sample_weight is zero for every row: at least one weight must be positive")
    return counted, weights[counted]


def classes_of(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, sorted (K,), and each row's number among them (n,)."""
    classes, codes = np.unique(y, return_inverse=True)
    require(len(classes) >= 2, f"y has one class only ({few(classes)}); a classifier needs at least two")
    return classes, codes


def checked_soft_labels(given: Any, classes: np.ndarray, rows: int) -> np.ndarray:
    """Soft labels (n, K), or (n,) of the second of two classes, as (n, K) with rows adding up to 1."""
    try:
        p = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("soft_labels must be numbers, one column a class") from None
    if len(classes) == 2 and p.ndim == 1:
        p = np.stack([1 - p, p], axis=1)
    wanted = f"({rows}, {len(classes)})" + (f" or ({rows},)" if len(classes) == 2 else "")
    require(
        p.shape == (rows, len(classes)),
        f"soft_labels must have shape {wanted}, one column for each class of y ({few(classes)}), got {p.shape}",
    )
    bad = np.argwhere(~((p >= 0) & (p <= 1)))
    if len(bad):
        raise InputError(f"soft_labels must lie in [0, 1], got {p[bad[0][0]].tolist()} at row {bad[0][0]}")
    total = p.sum(axis=1)
    worst = int(np.abs(total - 1).argmax())
    require(
        abs(total[worst] - 1) <= SUM_TOLERANCE,
        f"soft_labels of a row must add up to 1, got {total[worst]:.6g} at row {worst}; normalise them",
    )
    return p / total[:, None]


def teacher_probabilities(teacher: Any, inputs: Any, classes: np.ndarray) -> np.ndarray:
    """A fitted teacher's probabilities (n, K), its columns in the order of `classes`.

    A teacher without `classes_` is taken to answer in this order already.
    """
    require(
        hasattr(teacher, "predict_proba"),
        f"teacher {type(teacher).__name__} has no predict_proba: choose one that gives probabilities",
    )
    p = np.asarray(teacher.predict_proba(inputs), dtype=np.float64)
    known = list(getattr(teacher, "classes_", classes))
    if set(known) != set(classes):
        raise InputError(
            f"the teacher knows the classes {few(known)}, y has {few(classes)}: fit both on the same classes"
        )
    require(
        p.ndim == 2 and p.shape[1] == len(known),
        f"the teacher's probabilities have shape {p.shape}; one column is needed for each of {len(known)} classes",
    )
    return p[:, [known.index(one) for one in classes]]


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state; None is 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        require(int(random_state) >= 0, f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def clone_with_teacher(estimator: Any) -> Any:
    """An unfitted copy whose teacher is the very same, still fitted (scikit-learn's own copy would not be)."""
    bare = copy.copy(estimator)
    bare.teacher = None
    twin: Any = BaseEstimator.__sklearn_clone__(bare)
    twin.teacher = estimator.teacher
    return twin
