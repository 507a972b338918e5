"""The parts of a problem: by time, by groups, or at random and stratified by class."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.splits import split, split_by_groups, split_by_time
from softlabel.errors import require
from softlabel.ranges import check_count

if TYPE_CHECKING:
    from softlabel.data.problem import Problem

PARTS = ("train", "validation", "test")


def divided(problem: "Problem", rows: np.ndarray, shares: Sequence[float], seed: int) -> tuple[np.ndarray, ...]:
    """These rows of a problem in parts of these shares."""
    if problem.times is not None:
        parts = split_by_time(problem.times[rows], shares)
    elif problem.groups is not None:
        parts = split_by_groups(problem.groups[rows], shares, seed, problem.y[rows])
    else:
        parts = split(len(rows), shares, seed, problem.y[rows])
    return tuple(rows[part] for part in parts)


def fold_parts(problem: "Problem", count: int, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Parts in which each row is a test row once; the others are split 3/4 and 1/4."""
    check_count(count, "cross_test", least=2, most=len(problem) // 2)
    require(
        not problem.official_test and problem.times is None,
        f"'{problem.name}' has test rows of its own (the latest ones, or those that came with the data): leave out "
        "`cross_test`, which tests every row",
    )
    everything = np.arange(len(problem))
    for test in divided(problem, everything, (1 / count,) * count, seed):
        rest = np.setdiff1d(everything, test)
        rows = (*divided(problem, rest, (0.75, 0.25), seed), test)
        yield dict(zip(PARTS, rows, strict=True))
