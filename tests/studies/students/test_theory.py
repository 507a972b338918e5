"""Theory's facts about a user's problem: the same on every repetition, whatever the clock does."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from softlabel.studies.students.theory import theory_facts
from tests.theory.margin.problems import digits


class Rows(SimpleNamespace):
    """A part of a problem."""

    def __init__(self, scaled, y) -> None:
        super().__init__(scaled=scaled, y=y)

    def __len__(self) -> int:
        return len(self.y)


def problem(classes: int) -> SimpleNamespace:
    x, y = digits(150)
    truth = (y > 0).astype(int) if classes == 2 else np.arange(len(x)) % classes
    return SimpleNamespace(classes=tuple("abcdefghij"[:classes]), train=Rows(x.astype(np.float32), truth))


@pytest.mark.parametrize("classes", [2, 3])
def test_facts_do_not_depend_on_the_clock(classes, monkeypatch):
    facts = []
    for pace in (0.0, 1e3):  # a clock that stands still, and one that leaps
        ticks = itertools.count()
        monkeypatch.setattr("time.perf_counter", lambda pace=pace, ticks=ticks: pace * next(ticks))
        facts.append(theory_facts(problem(classes), 0.1, seed=2))  # pyright: ignore[reportArgumentType]
    assert facts[0] == facts[1]
    assert 0 < facts[0]["gamma_lower"] <= facts[0]["gamma_upper"] < 0.5
    assert facts[0]["classes"] == (1 if classes == 2 else 3)
    assert (
        f"the width that theory proves sufficient is at least {facts[0]['widths']['soft']:,} neurons"
        in facts[0]["says"]
    )
