"""What can be decided at all, and what a student costs on this machine."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError, require
from softlabel.studies.practice.sizes import SizeComparison
from softlabel.teachers.answers import call_milliseconds

FEWEST_TEST_ROWS = 20
MOST_NUMBERS = 10_000_000


def check_test_rows(problem: Problem) -> None:
    """Refuse a test part that decides nothing."""
    rows = len(problem.parts["test"])
    require(
        rows >= FEWEST_TEST_ROWS or not problem.test_file_rows,
        f"the test file has {rows} rows of use; fewer than {FEWEST_TEST_ROWS} decide nothing: bring more",
    )
    if rows < FEWEST_TEST_ROWS:
        raise InputError(
            f"'{problem.name}' leaves {rows} rows for the test; fewer than {FEWEST_TEST_ROWS} decide nothing: "
            f"bring at least {math.ceil(FEWEST_TEST_ROWS * len(problem) / rows)} rows"
        )


def check_width(width: int, problem: Problem) -> None:
    """Refuse students that no memory would hold."""
    numbers = width * (problem.inputs.shape[1] + len(problem.classes))
    require(
        numbers <= MOST_NUMBERS,
        f"a student of {width:,} neurons holds {numbers:,} numbers, and several are trained at once: up to "
        f"{MOST_NUMBERS:,} can be handled; take fewer neurons",
    )


def student_size(width: int, problem: Problem, teacher: int | None) -> SizeComparison:
    """A two-layer student of this width with biases, against a teacher of so many parameters."""
    outputs = 1 if len(problem.classes) == 2 else len(problem.classes)
    return SizeComparison(width * (problem.inputs.shape[1] + 1 + outputs) + outputs, teacher)


def latency(answer: Callable[[np.ndarray], Any], inputs: np.ndarray) -> dict[str, float]:
    """Median milliseconds for one row, and for a thousand (as many as there are, in proportion)."""
    many = inputs[:1000]
    return {
        "milliseconds": call_milliseconds(lambda: answer(inputs[:1])),
        "milliseconds_thousand": call_milliseconds(lambda: answer(many)) * 1000 / len(many),
    }
