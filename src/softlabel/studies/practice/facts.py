"""What a teacher and a student cost on this machine."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.teachers.answers import TeacherAnswers

TIMED = 30


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
