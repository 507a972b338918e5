"""Which of the figures' claims hold: paired comparisons over seeds, each with its interval."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student_t

from softlabel.lab import Results
from softlabel.studies.kernel_regime.settings import KernelRegime

Verdict = Literal["holds", "holds partly", "does not hold", "open"]


@dataclass(frozen=True)
class Comparison:
    """One statement "this is smaller than that": their means, and the interval of that − this, paired by seed."""

    says: str
    this: float
    that: float
    low: float
    high: float

    @property
    def holds(self) -> bool | None:
        """True or False where the interval excludes 0, else None."""
        return True if self.low > 0 else False if self.high < 0 else None


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its claim restated, what was compared, and the verdict."""

    name: str
    claim: str
    comparisons: tuple[Comparison, ...]

    @property
    def verdict(self) -> Verdict:
        found = [comparison.holds for comparison in self.comparisons]
        if all(held is True for held in found):
            return "holds"
        if all(held is False for held in found):
            return "does not hold"
        return "holds partly" if any(held is True for held in found) else "open"


class Judgement:
    """All figures, from the study's results."""

    def __init__(self, settings: KernelRegime, results: Results) -> None:
        self.settings = settings
        self.outcomes = [outcome for _, outcome in results["train"]]
        self.steps = self.outcomes[0].arrays["steps"]
        self.figures = [
            Figure(
                "Figure 1",
                "With λ = 0.01 a student with access to a teacher ends better than one without, and learns faster.",
                (*self._ends("student", "no teacher"), self._area("student", "no teacher")),
            ),
            Figure(
                "Figure 2",
                "λ = 0.01 is better than λ = 0 and λ = ∞, in training and in test.",
                (*self._ends("student", "λ = 0"), *self._ends("student", "λ = ∞")),
            ),
            Figure(
                "Figure 3",
                "A fully trained teacher is better than an early one, and than its knowledge without its weights.",
                (*self._ends("student", "imperfect"), *self._ends("student", "no start")),
            ),
            Figure(
                "Figure 4",
                "Kernel embeddings help teacher and student.",
                (*self._ends("teacher, kernel", "teacher"), *self._ends("student, kernel", "student")),
            ),
            Figure(
                "Figure 5",
                "Full training gives larger overlaps with the top of H^∞, and students inherit them.",
                (self._overlap("imperfect teacher", "teacher"), self._overlap("imperfect", "student")),
            ),
            Figure(
                "Figure 6",
                "Kernel embeddings give larger overlaps, and students inherit them.",
                (self._overlap("teacher", "teacher, kernel"), self._overlap("student", "student, kernel")),
            ),
        ]

    def curves(self, name: str, part: str) -> np.ndarray:
        """(runs, records) mean squared errors, `part` "train" or "test"."""
        return np.stack([outcome.arrays[f"{part}: {name}"] for outcome in self.outcomes])

    def interval(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean over runs and the ends of its Student interval, for values (runs, …)."""
        mean, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))
        half = float(student_t.isf((1 - self.settings.confidence) / 2, len(values) - 1)) * error
        return mean, mean - half, mean + half

    def _compare(self, says: str, this: np.ndarray, that: np.ndarray) -> Comparison:
        _, low, high = self.interval(that - this)
        return Comparison(says, float(this.mean()), float(that.mean()), float(low), float(high))

    def _ends(self, this: str, that: str) -> list[Comparison]:
        return [
            self._compare(
                f"{part} loss: {this} < {that}", self.curves(this, part)[:, -1], self.curves(that, part)[:, -1]
            )
            for part in ("train", "test")
        ]

    def _area(self, this: str, that: str) -> Comparison:
        """Mean training loss along the run: smaller where learning is faster."""
        return self._compare(
            f"training loss, mean over the run: {this} < {that}",
            self.curves(this, "train").mean(1),
            self.curves(that, "train").mean(1),
        )

    def _overlap(self, this: str, that: str) -> Comparison:
        values = [np.array([o.metrics[f"overlap: {name}"] for o in self.outcomes]) for name in (this, that)]
        return self._compare(f"mean overlap: {this} < {that}", *values)
