"""Do harder data gain more from soft labels? The slope of the paired gap on the noise, seed by seed.

Primary endpoint, fixed before any run: within each seed the gap (soft − hard, in points of test accuracy) is regressed
on the noise level by least squares; the slopes of all seeds give a mean and its Student interval. A seed has a split of
its own, so what the choice of test images adds is in the spread of the slopes.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student_t

from softlabel.lab import Results
from softlabel.studies.noise.settings import Noise

ARMS = ("teacher", "hard", "soft")
Verdict = Literal["holds", "does not hold", "open"]


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and the ends of its Student interval."""

    mean: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Level:
    """One family at one noise level: accuracies in per cent, the gap in points."""

    noise: float
    arms: dict[str, Interval]
    gap: Interval


@dataclass(frozen=True)
class Family:
    """One family of networks: its levels, and the slope of the gap in points per 0.1 of noise."""

    name: str
    levels: list[Level]
    slope: Interval
    parameters: dict[str, int]

    @property
    def verdict(self) -> Verdict:
        """Whether the gap grows with the noise."""
        return "holds" if self.slope.low > 0 else "does not hold" if self.slope.high < 0 else "open"


class Judgement:
    """Both families, from the study's results."""

    def __init__(self, settings: Noise, results: Results) -> None:
        self.settings = settings
        self.outcomes = {(cell.family, cell.level, cell.seed): outcome for cell, outcome in results["train"]}
        self.families = [self._family(name) for name in settings.families]

    def accuracy(self, family: str, arm: str) -> np.ndarray:
        """(runs, levels) test accuracies in per cent."""
        return np.array(
            [
                [100 * self.outcomes[family, level, seed].metrics[f"{arm}: accuracy"] for level in self.settings.levels]
                for seed in self.settings.seeds
            ]
        )

    def mean_of(self, family: str, arm: str, metric: str, level: float) -> float:
        """Mean of another metric over seeds."""
        held = [self.outcomes[family, level, seed].metrics[f"{arm}: {metric}"] for seed in self.settings.seeds]
        return float(np.mean(held))

    def interval(self, values: np.ndarray) -> Interval:
        mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
        half = float(student_t.isf((1 - self.settings.confidence) / 2, len(values) - 1)) * error
        return Interval(mean, mean - half, mean + half, len(values))

    def _family(self, name: str) -> Family:
        tables = {arm: self.accuracy(name, arm) for arm in ARMS}
        gaps = tables["soft"] - tables["hard"]
        noise = np.array(self.settings.levels)
        away = noise - noise.mean()
        slopes = gaps @ away / (away @ away) * 0.1
        levels = [
            Level(level, {arm: self.interval(tables[arm][:, place]) for arm in ARMS}, self.interval(gaps[:, place]))
            for place, level in enumerate(self.settings.levels)
        ]
        first = self.outcomes[name, self.settings.levels[0], self.settings.seed].metrics
        return Family(name, levels, self.interval(slopes), {arm: int(first[f"{arm}: parameters"]) for arm in ARMS})
