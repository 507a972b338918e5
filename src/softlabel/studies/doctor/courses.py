"""The course of a training as `doctor` sees it: students of the same settings, and what their losses look like.

"Path" is the sum of the step sizes that the schedule allowed so far, so that a cosine which flattens every curve at its
end is not taken for rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from softlabel.networks.optimisers import SCHEDULES

NOTHING_TO_LEARN = 1e-6


@dataclass(frozen=True, eq=False)
class Course:
    """One student: loss and training error at its watches, and the state of its neurons in the end.

    dead            share of neurons silent on every watched row; None where unknown, as all below
    displacement    largest distance of a neuron from its start over what its radius allows
    held            share of the neurons that the projection holds
    held_out        error on rows that it did not learn from
    """

    seed: int
    steps: Sequence[float]
    loss: Sequence[float]
    error: Sequence[float] | None = None
    dead: float | None = None
    displacement: float | None = None
    held: float | None = None
    held_out: float | None = None


@dataclass(frozen=True, eq=False)
class Group:
    """Students that differ in their seeds alone."""

    stage: str
    arm: str
    width: int
    step: float
    temperature: float
    smoothing: float
    radius: float | None
    students: tuple[Course, ...]
    schedule: str = "constant"

    @property
    def where(self) -> dict[str, Any]:
        held = {"stage": self.stage or None, "arm": self.arm, "width": self.width, "step": self.step}
        if self.radius is not None:
            held["radius"] = self.radius
        return {name: value for name, value in held.items() if value is not None} | {"seeds": len(self.students)}

    @property
    def steps(self) -> int:
        """Steps of the training (of deep students: epochs)."""
        return int(max(student.steps[-1] for student in self.students))

    @cached_property
    def error(self) -> float | None:
        """Median training error in the end."""
        return median([None if student.error is None else student.error[-1] for student in self.students])

    @cached_property
    def dead(self) -> float:
        return median([student.dead for student in self.students]) or 0.0

    @cached_property
    def held(self) -> float:
        return median([student.held for student in self.students]) or 0.0

    def way(self, student: Course) -> float:
        """How far the neuron that went farthest is from its start, ·√m; 0 where unknown."""
        return (student.displacement or 0.0) * (self.radius or 1.0)

    @cached_property
    def each(self) -> "list[Signs]":
        """Signs of every student."""
        return [Signs.of(student, self.schedule) for student in self.students]

    @cached_property
    def signs(self) -> "Signs":
        """Their medians."""
        return middle(self.each)


@dataclass(frozen=True)
class Signs:
    """What a course looks like, in units of its start or (climbs, last half and quarter) of its whole fall.

    Halves and quarters are of the path, and of the lowest loss so far.
    """

    start: float
    highest: float
    end: float
    moved: float
    climbs: float
    climbs_of_start: float
    last_half: float
    last_quarter: float

    @classmethod
    def of(cls, course: Course, schedule: str) -> "Signs":
        loss = np.array(course.loss, dtype=np.float64)
        start = max(float(loss[0]), NOTHING_TO_LEARN)
        over = np.array(course.steps, dtype=np.float64)
        over = (over - over[0]) / max(float(over[-1] - over[0]), 1.0)
        best = np.minimum.accumulate(loss)  # the noise of a single watch is no fall
        halfway, late = np.interp([0.5, 0.75], _path(over, schedule), best)
        fall, climbs = float(best[0] - best[-1]), float(np.maximum(np.diff(loss), 0).sum())
        return cls(
            start=float(loss[0]),
            highest=float(loss.max()) / start,
            end=float(loss[-1]) / start,
            moved=float(np.abs(loss - loss[0]).max()) / start,
            climbs=climbs / fall if fall > 0 else (np.inf if climbs > 0 else 0.0),
            climbs_of_start=climbs / start,
            last_half=float(halfway - best[-1]) / fall if fall > 0 else 0.0,
            last_quarter=float(late - best[-1]) / fall if fall > 0 else 0.0,
        )


def middle(each: Sequence[Signs]) -> Signs:
    """The median of every sign."""
    return Signs(**{name: float(np.median([getattr(signs, name) for signs in each])) for name in vars(each[0])})


def _path(over: np.ndarray, schedule: str) -> np.ndarray:
    """Share of the whole path that is behind, at shares `over` of the steps."""
    grid = np.linspace(0, 1, 1001)
    pace = np.array([SCHEDULES[schedule](share) for share in grid])
    behind = np.concatenate([[0.0], np.cumsum((pace[1:] + pace[:-1]) / 2)])
    return np.interp(over, grid, behind / behind[-1])


def median(values: Sequence[float | None]) -> float | None:
    """The median of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
