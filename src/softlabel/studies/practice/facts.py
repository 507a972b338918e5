"""What can be decided at all, and what a teacher and a student cost on this machine."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.answers import TeacherAnswers

TIMED = 30
FEWEST_TEST_ROWS = 20


def check_test_rows(problem: Problem) -> None:
    """Refuse a test part that decides nothing."""
    rows = len(problem.parts["test"])
    if rows < FEWEST_TEST_ROWS:
        raise InputError(
            f"'{problem.name}' leaves {rows} rows for the test; fewer than {FEWEST_TEST_ROWS} decide nothing: "
            f"bring at least {math.ceil(FEWEST_TEST_ROWS * len(problem) / rows)} rows"
        )


def teacher_facts(answers: TeacherAnswers, seconds: float) -> dict[str, Any]:
    """A teacher's cost, for the answer."""
    return {
        "description": answers.description,
        "seconds": seconds,
        "milliseconds": answers.milliseconds,
        "parameters": answers.parameters,
        "out_of_fold": answers.out_of_fold,
        "notes": list(answers.notes),
    }


def latency(answer: Callable[[np.ndarray], Any], inputs: np.ndarray) -> dict[str, float]:
    """Median milliseconds for one row, and for a thousand (as many as there are, in proportion)."""
    many = inputs[:1000]
    return {
        "milliseconds": _median(lambda: answer(inputs[:1])),
        "milliseconds_thousand": _median(lambda: answer(many)) * 1000 / len(many),
    }


def _median(run: Callable[[], Any]) -> float:
    times = []
    for _ in range(TIMED):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return float(np.median(times)) * 1000
