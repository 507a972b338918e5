"""The course of a training: students with the same settings, and the shape of their loss curves.

The "path" is the sum of the learning rates so far according to the schedule, so that a cosine schedule, which flattens
every curve at its end, is not mistaken for convergence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from softlabel.networks.optimizers import SCHEDULES
from softlabel.studies.doctor.advice import Verb

NOTHING_TO_LEARN = 1e-6


@dataclass(frozen=True, eq=False)
class Course:
    """One student: loss and training error at its records, and the state of its neurons in the end.

    dead                share of neurons inactive on every recorded row; None if unknown, as all below
    displacement        largest distance of a neuron from its initialization, relative to the radius
    projected           share of neurons that the projection restrains
    evaluation_error    error on rows that were not used for training
    """

    seed: int
    steps: Sequence[float]
    loss: Sequence[float]
    error: Sequence[float] | None = None
    dead: float | None = None
    displacement: float | None = None
    projected: float | None = None
    evaluation_error: float | None = None


@dataclass(frozen=True, eq=False)
class CourseGroup:
    """Students that differ only in their seeds."""

    stage: str
    arm: str
    width: int
    learning_rate: float
    temperature: float
    smoothing: float
    radius: float | None
    students: tuple[Course, ...]
    schedule: str = "constant"
    verb: Verb = "train"

    @property
    def where(self) -> dict[str, Any]:
        """The settings of the group, for a finding."""
        settings = {
            "stage": self.stage or None,
            "arm": self.arm,
            "width": self.width,
            "learning rate": self.learning_rate,
            "radius": self.radius,
        }
        return {name: value for name, value in settings.items() if value is not None} | {"seeds": len(self.students)}

    @property
    def steps(self) -> int:
        """Steps of the training (epochs for deep students)."""
        return int(max(student.steps[-1] for student in self.students))

    @cached_property
    def error(self) -> float | None:
        """Median training error in the end."""
        return median([None if student.error is None else student.error[-1] for student in self.students])

    @cached_property
    def dead(self) -> float:
        """Median share of inactive neurons."""
        return median([student.dead for student in self.students]) or 0.0

    @cached_property
    def projected(self) -> float:
        """Median share of neurons that the projection restrains."""
        return median([student.projected for student in self.students]) or 0.0

    def distance(self, student: Course) -> float:
        """Largest distance of a neuron from its initialization, ·√m; 0 if unknown."""
        return (student.displacement or 0.0) * (self.radius or 1.0)

    @cached_property
    def each(self) -> "list[Signs]":
        """Signs of every student."""
        return [Signs.from_course(student, self.schedule) for student in self.students]

    @cached_property
    def signs(self) -> "Signs":
        """Their medians."""
        return middle(self.each)


@dataclass(frozen=True)
class Signs:
    """The shape of a loss curve, relative to the initial loss or (climbs, last half and quarter) to its total decrease.

    Halves and quarters are measured along the path, on the lowest loss so far.
    """

    initial: float
    highest: float
    end: float
    moved: float
    climbs: float
    climbs_of_initial: float
    last_half: float
    last_quarter: float

    @classmethod
    def from_course(cls, course: Course, schedule: str) -> "Signs":
        """The signs of one course."""
        loss = np.array(course.loss, dtype=np.float64)
        initial = max(float(loss[0]), NOTHING_TO_LEARN)
        done = np.array(course.steps, dtype=np.float64)
        done = (done - done[0]) / max(float(done[-1] - done[0]), 1.0)
        best = np.minimum.accumulate(loss)  # the noise of a single record is not a decrease
        halfway, late = np.interp([0.5, 0.75], _path(done, schedule), best)
        fall, climbs = float(best[0] - best[-1]), float(np.maximum(np.diff(loss), 0).sum())
        return cls(
            initial=float(loss[0]),
            highest=float(loss.max()) / initial,
            end=float(loss[-1]) / initial,
            moved=float(np.abs(loss - loss[0]).max()) / initial,
            climbs=climbs / fall if fall > 0 else (np.inf if climbs > 0 else 0.0),
            climbs_of_initial=climbs / initial,
            last_half=float(halfway - best[-1]) / fall if fall > 0 else 0.0,
            last_quarter=float(late - best[-1]) / fall if fall > 0 else 0.0,
        )


def middle(each: Sequence[Signs]) -> Signs:
    """The median of every sign."""
    return Signs(**{name: float(np.median([getattr(signs, name) for signs in each])) for name in vars(each[0])})


def _path(done: np.ndarray, schedule: str) -> np.ndarray:
    """Share of the path that is completed at shares `done` of the steps."""
    grid = np.linspace(0, 1, 1001)
    pace = np.array([SCHEDULES[schedule](share) for share in grid])
    path = np.concatenate([[0.0], np.cumsum((pace[1:] + pace[:-1]) / 2)])
    return np.interp(done, grid, path / path[-1])


def median(values: Sequence[float | None]) -> float | None:
    """The median of the known values, None if there are none."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
