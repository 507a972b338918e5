"""One family of networks of Figure 1: its noise levels, slopes and verdict."""

from dataclasses import dataclass
from typing import Any, Literal

from softlabel.lab.statistics import Interval
from softlabel.studies.figure1.settings import TeacherTraining

ARMS = ("teacher", "hard", "soft")
STUDENTS = ("hard", "soft")
NAMES = {"vgg": "VGG 8+3 → 2+3", "resnet": "ResNet-20 → ResNet-8"}
ClaimVerdict = Literal["holds", "does not hold", "open"]


@dataclass(frozen=True)
class NoiseLevel:
    """One family at one noise level: accuracies in per cent, gaps in percentage points.

    ahead       teacher − student with hard labels, among the seeds with which that student started to learn; None if
                there are fewer than two
    failed      share of the runs that never left chance, by arm
    started     the gap among the seeds with which both students started to learn; None if there are fewer than two
    per_seed    by metric, arm and seed: test and validation accuracies in per cent, epochs of training
    """

    noise: float
    arms: dict[str, Interval]
    gap: Interval
    ahead: Interval | None
    failed: dict[str, Interval]
    started: Interval | None
    per_seed: dict[str, dict[str, list[float]]]

    def to_dict(self) -> dict[str, Any]:
        """The level as JSON values."""
        return {
            "noise": self.noise,
            "arms": {arm: value.to_dict() for arm, value in self.arms.items()},
            "gap": with_runs(self.gap),
            "teacher_ahead": with_runs(self.ahead),
            "failed": {arm: with_runs(value) for arm, value in self.failed.items()},
            "started": with_runs(self.started),
            "per_seed": self.per_seed,
        }


@dataclass(frozen=True)
class NetworkFamily:
    """One family of networks: its levels, and slopes of the gap in points per 0.1 of noise.

    slope       of all seeds
    learned     number of seeds with which both students started to learn at every level
    started     slope of those seeds; None if there are fewer than two
    parts       what those seeds ("learned") and the others ("at chance") contribute to the slope of all seeds
    teacher     how its teachers were trained
    parameters  of teacher and students
    """

    name: str
    levels: list[NoiseLevel]
    slope: Interval
    learned: int
    started: Interval | None
    parts: dict[str, Interval]
    teacher: TeacherTraining
    parameters: dict[str, int]

    @property
    def verdict(self) -> ClaimVerdict:
        """Whether soft − hard rises with the noise."""
        return "holds" if self.slope.low > 0 else "does not hold" if self.slope.high < 0 else "open"


def with_runs(value: Interval | None) -> dict[str, float] | None:
    """An interval and its number of seeds as JSON values."""
    return None if value is None else value.to_dict() | {"runs": value.runs}
