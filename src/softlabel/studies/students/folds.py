"""Whether every row is tested once (cross-testing), and in how many folds."""

import logging
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import require
from softlabel.lab.cross_test import DEFAULT_FOLDS
from softlabel.ranges import check_count
from softlabel.teachers.sources import is_automatic

FEW_ROWS = 5_000  # below this number one test part decides too little
LEAST_ROWS = 100  # for folds by default
ROWS_OF_A_CLASS = 3  # per fold, so that every part of every fold is likely to have the class
NETWORKS = ("vgg", "resnet")
SEEN = (
    "every row is tested, also those that this teacher may have learned from: where it did, soft labels look better "
    "than they are; with `cross_test` 0 and the teacher's own test rows (`test`) they do not"
)
log = logging.getLogger("softlabel")


def fold_count(problem: Problem, cross_test: int | None, teacher: Any) -> int:
    """Number of folds, 0 for one test part.

    cross_test  what the user asked for; None: `DEFAULT_FOLDS` folds for small data without test rows of their own,
                where the teacher is trained here: another one may have learned from rows that a fold tests
    """
    if cross_test is not None:
        check_folds(cross_test)
        if cross_test:
            check_count(cross_test, "cross_test", least=2, most=max(2, len(problem) // 2))
            if not _is_trained_here(teacher):
                log.warning("%s", SEEN)
        return cross_test
    rarest = int(np.bincount(problem.y).min())
    groups = len(problem) if problem.groups is None else len(np.unique(problem.groups))
    possible = (
        LEAST_ROWS <= len(problem) < FEW_ROWS
        and not problem.official_test
        and problem.times is None
        and rarest >= ROWS_OF_A_CLASS * DEFAULT_FOLDS
        and groups >= ROWS_OF_A_CLASS * DEFAULT_FOLDS
        and _is_trained_here(teacher)
    )
    if possible:
        log.info(
            "note: every row is tested once, in %d folds, because %s rows are few (one test part: `cross_test` 0)",
            DEFAULT_FOLDS, f"{len(problem):,}",
        )  # fmt: skip
    return DEFAULT_FOLDS if possible else 0


def check_folds(cross_test: int | None) -> None:
    """Refuse a number of folds that is impossible whatever the data."""
    require(
        cross_test is None or cross_test == 0 or cross_test >= 2,
        f"`cross_test` must be 0 (one test part) or at least 2 folds, got {cross_test}",
    )


def _is_trained_here(teacher: Any) -> bool:
    """Whether the teacher is trained anew on the training rows of every fold."""
    return is_automatic(teacher) or (isinstance(teacher, str) and teacher.startswith(NETWORKS))
