"""The result of Figure 1: the slope of the gap between soft and hard labels on the noise level.

All seeds have the same test images, so intervals are over seeds and test images (the lab's two-way model). Slopes are
adjusted for the number of families, gaps for the number of families and levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softlabel.lab.cells import StageResults
from softlabel.lab.statistics import Interval, crossed_mean, share_interval
from softlabel.report.page import Page
from softlabel.studies.figure1.settings import FAMILIES, Figure1Settings, TeacherTraining
from softlabel.studies.figure1.training import chosen_teachers
from softlabel.studies.pages import StudyResult

ARMS = ("teacher", "hard", "soft")
STUDENTS = ("hard", "soft")
NAMES = {"vgg": "VGG 8+3 → 2+3", "resnet": "ResNet-20 → ResNet-8"}
SENTENCES = {
    "holds": "the gap grows with the noise",
    "does not hold": "the gap shrinks with the noise",
    "open": "it is not decided whether the gap changes with the noise",
}
FEWEST = 2  # runs of an interval
ClaimVerdict = Literal["holds", "does not hold", "open"]


@dataclass(frozen=True)
class NoiseLevel:
    """One family at one noise level: accuracies in per cent, gaps in percentage points.

    ahead       by how much the teacher is more accurate than the student with hard labels
    failed      share of the runs that never left chance, by arm
    started     the gap among the seeds with which both students started to learn; None if there are fewer than two
    values      test accuracies in per cent by arm and seed
    """

    noise: float
    arms: dict[str, Interval]
    gap: Interval
    ahead: Interval
    failed: dict[str, Interval]
    started: Interval | None
    values: dict[str, list[float]]

    def to_dict(self) -> dict[str, Any]:
        """The level as JSON values."""
        return {
            "noise": self.noise,
            "arms": {arm: value.to_dict() for arm, value in self.arms.items()},
            "gap": self.gap.to_dict() | {"runs": self.gap.runs},
            "teacher_ahead": self.ahead.to_dict(),
            "failed": {arm: value.to_dict() for arm, value in self.failed.items()},
            "started": None if self.started is None else self.started.to_dict() | {"runs": self.started.runs},
            "per_seed": self.values,
        }


@dataclass(frozen=True)
class NetworkFamily:
    """One family of networks: its levels, and slopes of the gap in points per 0.1 of noise.

    slope       of all seeds
    started     of the seeds with which both students started to learn at every level; None if there are fewer than two
    teacher     how its teachers were trained
    parameters  of teacher and students
    """

    name: str
    levels: list[NoiseLevel]
    slope: Interval
    started: Interval | None
    teacher: TeacherTraining
    parameters: dict[str, int]

    @property
    def verdict(self) -> ClaimVerdict:
        """Whether the gap grows with the noise."""
        return "holds" if self.slope.low > 0 else "does not hold" if self.slope.high < 0 else "open"


class Figure1Result(StudyResult):
    """Accuracies, gaps and slopes of all families; `plot` shows accuracy and gap against the noise level.

    Attributes
    ----------
    settings : Figure1Settings
        The settings of the study.
    families : list of NetworkFamily
        One per family of networks, with its noise levels, the slope of the gap and the verdict.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("figure1", preset="quick")  # doctest: +SKIP
    >>> [(family.name, family.slope.mean, family.verdict) for family in result.families]  # doctest: +SKIP
    """

    def __init__(self, settings: Figure1Settings, results: StageResults) -> None:
        self.settings = settings
        self._results = {(cell.family, cell.level, cell.seed): result for cell, result in results["train"]}
        self._choice = results["choose"]
        self._teachers = chosen_teachers(settings, results)
        self.families = [self._family(name) for name in settings.families]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "families": [
                {
                    "family": family.name,
                    "teacher": FAMILIES[family.name][0],
                    "student": FAMILIES[family.name][1],
                    "levels": [level.to_dict() for level in family.levels],
                    "slope": family.slope.to_dict() | {"runs": family.slope.runs},
                    "slope_started": None if family.started is None else family.started.to_dict(),
                    "teacher_training": family.teacher.model_dump(),
                    "verdict": family.verdict,
                }
                for family in self.families
            ],
            "choice": self.choice(),
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def summary(self) -> list[str]:
        """One sentence per family, then why there are gaps."""
        lines = [
            f"{NAMES[family.name]}: {SENTENCES[family.verdict]}; soft − hard changes by {family.slope:+.2f} points "
            f"per 0.1 of noise (mean gap {sum(level.gap.mean for level in family.levels) / len(family.levels):+.2f})."
            for family in self.families
        ]
        return lines + [_reasons(family) for family in self.families] + [_teacher(family) for family in self.families]

    @property
    def warnings(self) -> list[str]:
        """Teachers that are not shown to be better than their students."""
        return [
            f"{NAMES[family.name]}, noise {level.noise:g}: the teacher is not shown to be more accurate than the "
            f"student with hard labels ({level.ahead:+.2f} points), so little can be expected from its soft labels."
            for family in self.families
            for level in family.levels
            if level.ahead.low <= 0
        ]

    @property
    def answer(self) -> str:
        """One sentence per family."""
        return " ".join(self.summary[: len(self.families)])

    def _page(self) -> Page:
        from softlabel.studies.figure1.page import figure1_page

        return figure1_page(self)

    def choice(self) -> list[dict[str, Any]]:
        """Validation accuracies in per cent of every way to train a teacher, and of a student on hard labels."""
        return [
            {
                "family": cell.family,
                "training": cell.teacher.model_dump(),
                "noise": cell.level,
                "seed": cell.seed,
                **{arm: 100 * result.metrics[f"{arm}: validation"] for arm in ("teacher", "hard")},
            }
            for cell, result in self._choice
        ]

    def mean_of(self, family: str, arm: str, metric: str, level: float) -> float:
        """Mean of a metric over seeds."""
        return float(
            np.mean([self.metric(family, arm, metric, level, seed) for seed in self.settings.seeds_of(family)])
        )

    def metric(self, family: str, arm: str, metric: str, level: float, seed: int) -> float:
        """A metric of one network."""
        return self._results[family, level, seed].metrics[f"{arm}: {metric}"]

    def _correct(self, family: str, arm: str, level: float, seeds: Sequence[int]) -> np.ndarray:
        """100 where a network is right on a test image, else 0: (seeds, images)."""
        return 100.0 * np.stack([self._results[family, level, seed].arrays[f"correct: {arm}"] for seed in seeds])

    def _gap(self, family: str, level: float, seeds: Sequence[int]) -> np.ndarray:
        return self._correct(family, "soft", level, seeds) - self._correct(family, "hard", level, seeds)

    def _started(self, family: str, level: float) -> list[int]:
        """Seeds with which both students started to learn."""
        seeds = self.settings.seeds_of(family)
        return [seed for seed in seeds if not any(self._failed(family, arm, level, seed) for arm in STUDENTS)]

    def _failed(self, family: str, arm: str, level: float, seed: int) -> bool:
        return 100 * self.metric(family, arm, "validation", level, seed) < self.settings.started

    def _interval(self, table: np.ndarray, comparisons: int = 1) -> Interval:
        low, high = (estimate := crossed_mean(table)).interval(1 - (1 - self.settings.confidence) / comparisons)
        return Interval(estimate.mean, low, high, estimate.runs)

    def _level(self, family: str, level: float) -> NoiseLevel:
        seeds, comparisons = self.settings.seeds_of(family), len(self.settings.families) * len(self.settings.levels)
        tables = {arm: self._correct(family, arm, level, seeds) for arm in ARMS}
        failed = {arm: sum(self._failed(family, arm, level, seed) for seed in seeds) for arm in STUDENTS}
        both = self._started(family, level)
        return NoiseLevel(
            noise=level,
            arms={arm: self._interval(table) for arm, table in tables.items()},
            gap=self._interval(tables["soft"] - tables["hard"], comparisons),
            ahead=self._interval(tables["teacher"] - tables["hard"], comparisons),
            failed={arm: share_interval(count, len(seeds), self.settings.confidence) for arm, count in failed.items()},
            started=self._interval(self._gap(family, level, both), comparisons) if len(both) >= FEWEST else None,
            values={arm: table.mean(1).tolist() for arm, table in tables.items()},
        )

    def _slope(self, family: str, seeds: Sequence[int]) -> Interval:
        noise = np.array(self.settings.levels)
        centered = noise - noise.mean()
        weights = 0.1 * centered / (centered @ centered)
        gaps = (self._gap(family, level, seeds) for level in self.settings.levels)
        table = sum(weight * gap for weight, gap in zip(weights, gaps, strict=True))
        return self._interval(np.asarray(table), len(self.settings.families))

    def _family(self, name: str) -> NetworkFamily:
        settings = self.settings
        learning = [set(self._started(name, level)) for level in settings.levels]
        both = sorted(set(settings.seeds_of(name)).intersection(*learning))
        first = self._results[name, settings.levels[0], settings.seed].metrics
        return NetworkFamily(
            name=name,
            levels=[self._level(name, level) for level in settings.levels],
            slope=self._slope(name, settings.seeds_of(name)),
            started=self._slope(name, both) if len(both) >= FEWEST else None,
            teacher=self._teachers[name],
            parameters={arm: int(first[f"{arm}: parameters"]) for arm in ARMS},
        )


def _reasons(family: NetworkFamily) -> str:
    """Students that fail to start, and the slope among the others."""
    noisy = family.levels[-1]
    counts = ", ".join(f"{100 * noisy.failed[arm].mean:.0f}% with {arm} labels" for arm in STUDENTS)
    line = f"{NAMES[family.name]}, why: at noise {noisy.noise:g}, {counts} never left chance"
    if family.started is None:
        return f"{line}; too few seeds are left to compare the others."
    return (
        f"{line}; with the {family.started.runs} seeds of which all students learned, the slope is "
        f"{family.started:+.2f}."
    )


def _teacher(family: NetworkFamily) -> str:
    """By how much the teacher is ahead of a student with hard labels."""
    parts = ", ".join(f"{level.ahead:+.2f} points at noise {level.noise:g}" for level in family.levels)
    return f"{NAMES[family.name]}, teacher: ahead of the student with hard labels by {parts}."
