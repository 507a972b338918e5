"""Checks before the first training, and the cost of a student on this machine."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError, require
from softlabel.teachers.predictions import call_milliseconds

MIN_TEST_ROWS = 20
MAX_PARAMETERS = 10_000_000


def check_test_rows(problem: Problem) -> None:
    """Refuse a test part that is too small to decide anything."""
    rows = len(problem.test)
    require(
        rows >= MIN_TEST_ROWS or not problem.test_file_rows,
        f"the test file has {rows} usable rows; at least {MIN_TEST_ROWS} are needed",
    )
    if rows < MIN_TEST_ROWS:
        raise InputError(
            f"'{problem.name}' leaves {rows} rows for the test, and at least {MIN_TEST_ROWS} are needed: "
            f"provide at least {math.ceil(MIN_TEST_ROWS * len(problem) / rows)} rows"
        )


def check_width(width: int, problem: Problem) -> None:
    """Refuse students that are too large to train several at once."""
    numbers = width * (problem.X.shape[1] + len(problem.classes))
    require(
        numbers <= MAX_PARAMETERS,
        f"a student of {width:,} neurons has {numbers:,} weights, more than the maximum of {MAX_PARAMETERS:,}; "
        "choose a smaller `width`",
    )


def latency(predict: Callable[[np.ndarray], Any], inputs: np.ndarray) -> dict[str, float]:
    """Median milliseconds for one row, and for a thousand (extrapolated where there are fewer)."""
    many = inputs[:1000]
    return {
        "milliseconds": call_milliseconds(lambda: predict(inputs[:1])),
        "milliseconds_thousand": call_milliseconds(lambda: predict(many)) * 1000 / len(many),
    }
