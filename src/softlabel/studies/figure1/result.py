"""The result of Figure 1: the slope of the gap between soft and hard labels on the noise level.

Primary endpoint, fixed before any run: within each seed the gap (soft − hard, in points of test accuracy) is regressed
on the noise level by least squares; the slopes of all seeds give a mean and its Student interval. Every seed has a
different split, so the spread of the slopes includes the variance due to the choice of test images.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from softlabel.lab.cells import StageResults
from softlabel.lab.statistics import Interval
from softlabel.report.page import Page
from softlabel.studies.figure1.settings import FAMILIES, Figure1Settings
from softlabel.studies.pages import StudyResult

ARMS = ("teacher", "hard", "soft")
NAMES = {"vgg": "VGG 8+3 → 2+3", "resnet": "ResNet-20 → ResNet-8"}
SENTENCES = {
    "holds": "the gap grows with the noise",
    "does not hold": "the gap shrinks with the noise",
    "open": "it is not decided whether the gap changes with the noise",
}
ClaimVerdict = Literal["holds", "does not hold", "open"]


@dataclass(frozen=True)
class NoiseLevel:
    """One family at one noise level: accuracies in per cent, the gap in percentage points."""

    noise: float
    arms: dict[str, Interval]
    gap: Interval


@dataclass(frozen=True)
class NetworkFamily:
    """One family of networks: its noise levels, and the slope of the gap in points per 0.1 of noise."""

    name: str
    levels: list[NoiseLevel]
    slope: Interval
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
        self.families = [self._family(name) for name in settings.families]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "families": [
                {
                    "family": family.name,
                    "teacher": FAMILIES[family.name][0],
                    "student": FAMILIES[family.name][1],
                    "levels": [asdict(level) for level in family.levels],
                    "slope": asdict(family.slope),
                    "verdict": family.verdict,
                }
                for family in self.families
            ],
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def summary(self) -> list[str]:
        """One sentence per family."""
        return [
            f"{NAMES[family.name]}: {SENTENCES[family.verdict]}; soft − hard changes by {family.slope:+.2f} points "
            f"per 0.1 of noise (mean gap {sum(level.gap.mean for level in family.levels) / len(family.levels):+.2f})."
            for family in self.families
        ]

    def _page(self) -> Page:
        from softlabel.studies.figure1.page import figure1_page

        return figure1_page(self)

    def accuracy(self, family: str, arm: str) -> np.ndarray:
        """(runs, levels) test accuracies in per cent."""
        return np.array(
            [
                [100 * self._results[family, level, seed].metrics[f"{arm}: accuracy"] for level in self.settings.levels]
                for seed in self.settings.seeds
            ]
        )

    def mean_of(self, family: str, arm: str, metric: str, level: float) -> float:
        """Mean of another metric over seeds."""
        values = [self._results[family, level, seed].metrics[f"{arm}: {metric}"] for seed in self.settings.seeds]
        return float(np.mean(values))

    def _interval(self, values: np.ndarray) -> Interval:
        return Interval.from_runs(values, self.settings.confidence)

    def _family(self, name: str) -> NetworkFamily:
        tables = {arm: self.accuracy(name, arm) for arm in ARMS}
        gaps = tables["soft"] - tables["hard"]
        noise = np.array(self.settings.levels)
        centered = noise - noise.mean()
        slopes = gaps @ centered / (centered @ centered) * 0.1
        levels = [
            NoiseLevel(level, {arm: self._interval(tables[arm][:, k]) for arm in ARMS}, self._interval(gaps[:, k]))
            for k, level in enumerate(self.settings.levels)
        ]
        first = self._results[name, self.settings.levels[0], self.settings.seed].metrics
        parameters = {arm: int(first[f"{arm}: parameters"]) for arm in ARMS}
        return NetworkFamily(name, levels, self._interval(slopes), parameters)
