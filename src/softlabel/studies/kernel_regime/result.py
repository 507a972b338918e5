"""The result of Figures 1 to 6: which of their claims hold, by paired comparisons with intervals.

Differences are paired by seed. Intervals of test losses are over seeds and test images (the lab's two-way model), those
of training losses and overlaps over seeds, since the training images are the same for all; all of them are adjusted
for the number of comparisons of all figures.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softlabel.lab.cells import StageResults
from softlabel.lab.statistics import crossed_mean, student_interval
from softlabel.report.page import Page
from softlabel.studies.kernel_regime.settings import KernelRegimeSettings
from softlabel.studies.pages import StudyResult

COMPARISONS = 19  # of all figures together
OUTCOMES = (True, False, None)
FigureVerdict = Literal["holds", "holds partly", "does not hold", "open"]
IN_WORDS: dict[FigureVerdict, tuple[str, str]] = {  # of one figure, of several
    "holds": ("holds", "hold"),
    "holds partly": ("holds partly", "hold partly"),
    "does not hold": ("does not hold", "do not hold"),
    "open": ("is open", "are open"),
}


@dataclass(frozen=True)
class PairedComparison:
    """One statement "this is smaller than that": both means, and the interval of that − this, paired by seed.

    values      of this and of that, by seed
    """

    says: str
    this: float
    that: float
    low: float
    high: float
    values: tuple[list[float], list[float]]

    @property
    def holds(self) -> bool | None:
        """True or False where the interval excludes 0, else None."""
        return True if self.low > 0 else False if self.high < 0 else None


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: its claim restated, what was compared, and the verdict."""

    name: str
    claim: str
    comparisons: tuple[PairedComparison, ...]

    @property
    def verdict(self) -> FigureVerdict:
        """Whether every comparison confirms the claim, some refute it, or some are not decided and none refutes it."""
        outcomes = {comparison.holds for comparison in self.comparisons}
        if outcomes == {True}:
            return "holds"
        if False in outcomes:
            return "holds partly" if True in outcomes else "does not hold"
        return "open"

    @property
    def confirmed(self) -> str:
        """How many comparisons confirm the claim, refute it, and are undecided."""
        confirm, refute, undecided = (sum(one.holds is wanted for one in self.comparisons) for wanted in OUTCOMES)
        others = [f"{count} {word}" for count, word in ((refute, "against it"), (undecided, "undecided")) if count]
        return ", ".join([f"{confirm} of {len(self.comparisons)} comparisons confirm it", *others])


class KernelRegimeResult(StudyResult):
    """The claims of all figures; `plot` shows the losses of Figure 1, with and without a teacher.

    Attributes
    ----------
    settings : KernelRegimeSettings
        The settings of the study.
    figures : list of PaperFigure
        One per figure of the paper, with its claim, its comparisons and its verdict.
    steps : ndarray of shape (records,)
        Iterations at which the losses were recorded.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("kernel-regime", preset="quick")  # doctest: +SKIP
    >>> [(figure.name, figure.verdict) for figure in result.figures]  # doctest: +SKIP
    """

    def __init__(self, settings: KernelRegimeSettings, results: StageResults) -> None:
        self.settings = settings
        self._results = [result for _, result in results["train"]]
        self.steps = self._results[0].arrays["steps"]
        self.figures = self._figures()
        assert sum(len(figure.comparisons) for figure in self.figures) == COMPARISONS

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "figures": [
                {
                    "figure": figure.name,
                    "claim": figure.claim,
                    "verdict": figure.verdict,
                    "comparisons": [_comparison_values(comparison) for comparison in figure.comparisons],
                }
                for figure in self.figures
            ],
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def summary(self) -> list[str]:
        """The answer, then one line per figure."""
        lines = [f"{one.name} {IN_WORDS[one.verdict][0]} ({one.confirmed}): {one.claim}" for one in self.figures]
        return [self.answer, *lines]

    @property
    def answer(self) -> str:
        """Which figures have claims that hold."""
        parts = []
        for verdict, (singular, plural) in IN_WORDS.items():
            numbers = [one.name.removeprefix("Figure ") for one in self.figures if one.verdict == verdict]
            if len(numbers) == 1:
                parts.append(f"Figure {numbers[0]} {singular}")
            elif numbers:
                parts.append(f"Figures {', '.join(numbers[:-1])} and {numbers[-1]} {plural}")
        return f"What the paper's figures claim: {'; '.join(parts)}."

    def page(self) -> Page:
        from softlabel.studies.kernel_regime.page import kernel_regime_page

        return kernel_regime_page(self)

    def _figures(self) -> list[PaperFigure]:
        return [
            PaperFigure(
                "Figure 1",
                f"With λ = {self.settings.strength:g} a student with access to a teacher ends better than one without, "
                "and learns faster.",
                (*self._ends("student", "no teacher"), self._area("student", "no teacher")),
            ),
            PaperFigure(
                "Figure 2",
                f"λ = {self.settings.strength:g} is better than λ = 0 and λ = ∞, in training and in test.",
                (*self._ends("student", "λ = 0"), *self._ends("student", "λ = ∞")),
            ),
            PaperFigure(
                "Figure 3",
                "A fully trained teacher is better than an early one, and than its knowledge without its weights.",
                (*self._ends("student", "imperfect"), *self._ends("student", "no start")),
            ),
            PaperFigure(
                "Figure 4",
                "Kernel embeddings help teacher and student.",
                (*self._ends("teacher, kernel", "teacher"), *self._ends("student, kernel", "student")),
            ),
            PaperFigure(
                "Figure 5",
                "Full training gives larger overlaps with the top of H^∞, and students inherit them.",
                (self._overlap("imperfect teacher", "teacher"), self._overlap("imperfect", "student")),
            ),
            PaperFigure(
                "Figure 6",
                "Kernel embeddings give larger overlaps, and students inherit them.",
                (self._overlap("teacher", "teacher, kernel"), self._overlap("student", "student, kernel")),
            ),
        ]

    def curves(self, name: str, part: str) -> np.ndarray:
        """Mean squared errors (runs, records); `part` is "train" or "test"."""
        return np.stack([result.arrays[f"{part}: {name}"] for result in self._results])

    def shares(self, name: str) -> np.ndarray:
        """Share of the outputs of every unit of all runs in the span of the top eigenvectors."""
        return np.concatenate([result.arrays[f"share: {name}"] for result in self._results])

    @property
    def _confidence(self) -> float:
        return self.settings.adjusted(COMPARISONS)

    def _compare(self, says: str, this: np.ndarray, that: np.ndarray) -> PairedComparison:
        """Values (seeds,) of both; the interval is over seeds."""
        _, low, high = student_interval(that - this, self._confidence)
        return PairedComparison(
            says, float(this.mean()), float(that.mean()), float(low), float(high), (this.tolist(), that.tolist())
        )

    def _ends(self, this: str, that: str) -> list[PairedComparison]:
        """Losses after the last iteration: in training over seeds, in test over seeds and images."""
        train = self._compare(
            f"train loss: {this} < {that}", self.curves(this, "train")[:, -1], self.curves(that, "train")[:, -1]
        )
        tables = [np.stack([r.arrays[f"errors: {name}"] for r in self._results]) for name in (this, that)]
        low, high = crossed_mean(tables[1].astype(np.float64) - tables[0]).interval(self._confidence)
        mine, other = (table.mean(1) for table in tables)
        test = PairedComparison(
            f"test loss: {this} < {that}", float(mine.mean()), float(other.mean()), low, high,
            (mine.tolist(), other.tolist()),
        )  # fmt: skip
        return [train, test]

    def _area(self, this: str, that: str) -> PairedComparison:
        """Mean training loss along the run: smaller where learning is faster."""
        return self._compare(
            f"training loss, mean over the run: {this} < {that}",
            self.curves(this, "train").mean(1),
            self.curves(that, "train").mean(1),
        )

    def _overlap(self, this: str, that: str) -> PairedComparison:
        """Mean share of the units' outputs in the span of the top eigenvectors, whatever their signs."""
        values = [np.array([r.metrics[f"share: {name}"] for r in self._results]) for name in (this, that)]
        return self._compare(f"mean share in the top of H^∞: {this} < {that}", *values)


def _comparison_values(comparison: PairedComparison) -> dict[str, Any]:
    this, that = comparison.values
    values = {key: value for key, value in vars(comparison).items() if key != "values"}
    return values | {"holds": comparison.holds, "per_seed": {"this": this, "that": that}}
