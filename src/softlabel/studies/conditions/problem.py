"""The rows of a condition: inputs in the unit ball, classes, and a split into training, validation and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data import Problem, load, split
from softlabel.errors import require
from softlabel.networks import Labels, hard_labels
from softlabel.studies.tested_rows import known_and_test

if TYPE_CHECKING:
    from softlabel.studies.conditions.settings import Condition

VALIDATION_SHARE = 1 / 6
FEWEST = 6  # rows of a class
NOISE_STREAM, ROWS_SALT = 1, 1_000_003


def _breast_cancer() -> Any:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def _wine() -> Any:
    from sklearn.datasets import load_wine

    return load_wine(return_X_y=True)


TABLES: dict[str, Callable[[], Any]] = {"breast-cancer": _breast_cancer, "wine": _wine}


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs (n, d) of norm at most 1, and class indices (n,)."""

    X: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class ConditionRows:
    """The rows of a condition and a seed; labels of the training and validation rows may be noisy."""

    train: Rows
    validation: Rows
    test: Rows
    classes: int

    @property
    def hard(self) -> Labels:
        """The labels of the training rows."""
        return hard_labels(self.train.y)


@lru_cache(maxsize=3)  # saves each worker from loading the data once per bundle
def _all_rows(data: str, task: str | None, leave_out: tuple[str, ...]) -> tuple[Rows, Rows, int]:
    """All rows for training and validation, all test rows, and the number of classes."""
    problem: Problem
    source, scale = (TABLES[data](), "standard") if data in TABLES else (data, "max")
    problem = load(source, task=task, leave_out=list(leave_out) or None, scale=scale)
    known, test = known_and_test(problem)
    return Rows(known.in_unit_ball, known.y), Rows(test.in_unit_ball, test.y), len(problem.classes)


def condition_rows(condition: Condition, seed: int) -> ConditionRows:
    """The rows that students and teachers of this seed see.

    The test rows are the same for all seeds. The training rows are drawn by the seed where the condition takes only
    some of them; the split into training and validation rows, and label noise, are drawn by the seed as well.
    """
    known, test, classes = _all_rows(condition.data, condition.task, condition.leave_out)
    x, y = known.X, known.y
    if condition.rows is not None and condition.rows < len(y):
        share = condition.rows / len(y)
        chosen, _ = split(len(y), (share, 1 - share), seed=seed, stratify=y, salt=ROWS_SALT)
        x, y = x[chosen], y[chosen]
    if condition.label_noise:
        y = noisy_labels(y, classes, condition.label_noise, seed)
    train, validation = split(len(y), (1 - VALIDATION_SHARE, VALIDATION_SHARE), seed=seed, stratify=y, salt=0)
    return ConditionRows(Rows(x[train], y[train]), Rows(x[validation], y[validation]), test, classes)


def noisy_labels(y: np.ndarray, classes: int, share: float, seed: int) -> np.ndarray:
    """Labels of which a share, drawn at random, is replaced by another class."""
    rng = np.random.default_rng([seed, NOISE_STREAM])
    changed = rng.permutation(len(y))[: round(share * len(y))]
    noisy = y.copy()
    noisy[changed] = (y[changed] + rng.integers(1, classes, len(changed))) % classes
    return noisy


def check_condition_data(condition: Condition) -> None:
    """Raise unless the data are available and there are as many rows as the condition takes."""
    known, _, classes = _all_rows(condition.data, condition.task, condition.leave_out)
    rows = condition.rows or len(known.y)
    require(
        rows <= len(known.y),
        f"condition '{condition.name}': `rows` {rows:,} is more than the {len(known.y):,} training rows of "
        f"'{condition.data}'",
    )
    fewest = int(np.bincount(known.y, minlength=classes).min() * rows / len(known.y))
    require(
        fewest >= FEWEST,
        f"condition '{condition.name}': about {fewest} rows of the rarest class are too few; take more `rows`",
    )
    require(
        condition.label_noise < 1 - 1 / classes,
        f"condition '{condition.name}': `label_noise` {condition.label_noise:g} leaves nothing to learn with {classes} "
        "classes",
    )
