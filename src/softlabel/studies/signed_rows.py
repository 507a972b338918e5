"""Inputs of norm at most 1 with labels −1 and +1, as theory takes them."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import counted, require, unknown
from softlabel.ranges import check_count, check_seed
from softlabel.studies.arguments import problem_from

PARTS = {"full": "full_train", "train": "train"}
ROUNDING = 1e-5  # by which a norm may exceed 1
log = logging.getLogger("softlabel")


@dataclass(frozen=True, eq=False)
class SignedRows:
    """Inputs X (n, d) of norm at most 1 and labels y (n,), −1 and +1; `name` is that of the data set.

    `test` are the inputs (t, d) and labels (t,) of other rows, if they were asked for.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    test: tuple[np.ndarray, np.ndarray] | None = None

    def in_double_precision(self) -> "SignedRows":
        """The same rows as float64 arrays."""
        test = None if self.test is None else (self.test[0].astype(np.float64), self.test[1].astype(np.float64))
        return SignedRows(self.name, self.X.astype(np.float64), self.y.astype(np.float64), test)


def signed_rows(
    X: Any,
    y: Any = None,
    *,
    label: str | int | None = None,
    rows: int | None = None,
    part: str = "full",
    seed: int = 0,
    test_rows: int = 0,
) -> SignedRows:
    """The rows of a data set that a computation is about.

    X, y, label   as `problem_from` takes them; arrays that `are_signed` are used unchanged
    rows          number of rows to use, drawn by the seed
    part          "full" (all rows but official test rows) or "train" (the rows that students are trained on)
    test_rows     number of other rows of the same part, drawn by the seed as well
    """
    check_seed(seed)
    check_count(test_rows, "test_rows", least=0)
    if part == "full" and label is None and are_signed(X, y):
        table, signs = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        chosen = draw_rows(len(table), rows, seed)
        others = draw_others(len(table), chosen, test_rows, seed)
        return SignedRows("data", table[chosen], signs[chosen], (table[others], signs[others]) if test_rows else None)
    problem = two_classes(problem_from(X, y, label=label, seed=seed))
    table, chosen = inputs_in_ball(problem, part, rows, seed)
    rows_of_part = problem.part(PARTS[part])
    others = draw_others(len(rows_of_part), chosen, test_rows, seed)
    test = (rows_of_part.in_unit_ball[others], rows_of_part.signs[others]) if test_rows else None
    return SignedRows(problem.name, table, rows_of_part.signs[chosen], test)


def two_classes(problem: Problem) -> Problem:
    """The problem with two classes; a default choice of classes is logged."""
    binary = problem.binary()
    if binary is not problem:
        log.info("classes: %s (−1) and %s (+1)", *binary.classes)
    return binary


def are_signed(X: Any, y: Any) -> bool:
    """Whether X is an array (n, d) with norms of at most 1 and y has the values −1 and +1."""
    if y is None or isinstance(X, str | Path | tuple | Problem) or isinstance(y, str | int) or hasattr(X, "columns"):
        return False
    signs = np.asarray(y)
    if signs.dtype.kind not in "if" or not np.isin(signs, (-1, 1)).all():
        return False
    table = np.asarray(X)
    if table.dtype.kind not in "biuf" or table.ndim != 2 or not table.size or not np.isfinite(table).all():
        return False
    largest = float(np.linalg.norm(table.astype(np.float64), axis=1).max())
    if largest > 1 + ROUNDING:
        log.info("inputs have norms up to %.4g: their columns are standardized, and norms scaled to at most 1", largest)
    return largest <= 1 + ROUNDING


def inputs_in_ball(problem: Problem, part: str, rows: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, d) of norm at most 1 in a part of the problem, and the numbers of their rows in that part."""
    if part not in PARTS:
        raise unknown("part", part, PARTS)
    chosen_part = problem.part(PARTS[part])
    chosen = draw_rows(len(chosen_part), rows, seed)
    if problem.scaler.how in ("none", "standard") and problem.full_train.largest_norm(scaled=True) > 1 + ROUNDING:
        log.info("note: inputs are divided by their largest norm, so that every norm is at most 1")
    return chosen_part.in_unit_ball[chosen], chosen


def draw_rows(count: int, rows: int | None, seed: int) -> np.ndarray:
    """Numbers of `rows` of `count` rows, drawn by the seed; all in order where there are no more."""
    if rows is not None:
        check_count(rows, "rows", least=2)
    if rows is None or rows >= count:
        return np.arange(count)
    log.info("using %s of %s rows, drawn by seed %d", f"{rows:,}", f"{count:,}", seed)
    return np.random.default_rng(seed).permutation(count)[:rows]


def draw_others(count: int, chosen: np.ndarray, others: int, seed: int) -> np.ndarray:
    """Numbers of `others` of `count` rows that are not among the chosen ones, drawn by the seed."""
    rest = np.setdiff1d(np.arange(count), chosen)
    require(
        others <= len(rest),
        f"test_rows must be at most the {counted(len(rest), 'row')} that are not trained on, got {others:,}",
    )
    return np.random.default_rng((seed, 1)).permutation(rest)[:others]
