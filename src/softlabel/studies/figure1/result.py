"""The result of Figure 1: the slope of the gap between soft and hard labels on the noise level.

Primary endpoint, fixed before any run: within each seed the gap (soft − hard, in points of test accuracy) is regressed
on the noise level by least squares; the slopes of all seeds give a mean and its Student interval. Every seed has a
different split, so the spread of the slopes includes the variance due to the choice of test images.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.stats import t as student_t

from softlabel.lab.cells import StageResults
from softlabel.lab.study import Result
from softlabel.studies.figure1.settings import FAMILIES, Figure1Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ARMS = ("teacher", "hard", "soft")
NAMES = {"vgg": "VGG 8+3 → 2+3", "resnet": "ResNet-20 → ResNet-8"}
SENTENCES = {
    "holds": "the gap grows with the noise",
    "does not hold": "the gap shrinks with the noise",
    "open": "it is not decided whether the gap changes with the noise",
}
ClaimVerdict = Literal["holds", "does not hold", "open"]


@dataclass(frozen=True)
class SeedInterval:
    """A mean over seeds and the ends of its Student interval."""

    mean: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.low:+.2f} … {self.high:+.2f})"


@dataclass(frozen=True)
class NoiseLevel:
    """One family at one noise level: accuracies in per cent, the gap in percentage points."""

    noise: float
    arms: dict[str, SeedInterval]
    gap: SeedInterval


@dataclass(frozen=True)
class NetworkFamily:
    """One family of networks: its noise levels, and the slope of the gap in points per 0.1 of noise."""

    name: str
    levels: list[NoiseLevel]
    slope: SeedInterval
    parameters: dict[str, int]

    @property
    def verdict(self) -> ClaimVerdict:
        """Whether the gap grows with the noise."""
        return "holds" if self.slope.low > 0 else "does not hold" if self.slope.high < 0 else "open"


class Figure1Result(Result):
    """Accuracies, gaps and slopes of all families.

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
            f"{NAMES[family.name]}: {SENTENCES[family.verdict]}; soft − hard changes by {family.slope} points per 0.1 "
            f"of noise (mean gap {sum(level.gap.mean for level in family.levels) / len(family.levels):+.2f})."
            for family in self.families
        ]

    def plot(self) -> "Figure":
        """Accuracy and gap against the noise level, as a Matplotlib figure."""
        from softlabel.report.drawing import chart_figure
        from softlabel.studies.figure1.page import noise_chart

        return chart_figure(noise_chart(self))

    def _repr_html_(self) -> str:
        from softlabel.report.notebook import result_html
        from softlabel.studies.figure1.page import noise_table

        return result_html(self.summary, self.plot(), noise_table(self))

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

    def _interval(self, values: np.ndarray) -> SeedInterval:
        mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
        half = float(student_t.isf((1 - self.settings.confidence) / 2, len(values) - 1)) * error
        return SeedInterval(mean, mean - half, mean + half, len(values))

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
