"""The result of the study of widths: widths that suffice, and exponents of their growth with 1/γ."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softlabel.lab.cells import CellResult, StageResults
from softlabel.lab.statistics import Interval
from softlabel.report.page import Page
from softlabel.studies.pages import StudyResult
from softlabel.studies.width_scaling.bound_slopes import PRINTED, crossover_words, slope_of_bound, width_of_bound
from softlabel.studies.width_scaling.comparison import WidthRatio, bounded, widened, width_ratio
from softlabel.studies.width_scaling.settings import ARMS, Level, Source, WidthScalingSettings
from softlabel.theory import bounds

Quantity = Literal["train", "test"]
QUANTITIES: tuple[Quantity, ...] = ("train", "test")
CENSORED = 0.2  # a level with a larger share of seeds beyond the widths that were tried is left out of a fit
FEWEST_LEVELS = 3
TIGHT = 1.25  # upper/lower end of a certified margin; a level with most seeds above it is left out of a fit
SOFT = {"soft, theorem": "as in Theorem 2", "soft, tempered": "with a temperature (κ = 2/γ)"}
VARIANTS = {"hard, free": "without projection", "hard, scaled": "with logits multiplied by α = {:g}"}
SOURCES: tuple[Source, ...] = ("pairs", "xor", "images")


@dataclass(frozen=True)
class NeededWidth:
    """The width that one arm needs at one level: median over seeds.

    suffices    smallest width from which on all that were tried reach ε; infinite where the largest does not
    fails       largest width that does not reach ε; 0 where all do
    tried       largest width that was tried
    values      `suffices` by seed
    """

    level: Level
    gamma: float
    arm: str
    quantity: Quantity
    epsilon: float
    suffices: float
    fails: float
    tried: float
    values: list[float]


@dataclass(frozen=True)
class Exponent:
    """p in m ∝ γ^−p of one arm, from the slopes of single seeds, and the range of γ that it was measured in.

    interval        adjusted for the number of fits, and widened for the steps between widths; None if too few levels
                    remain
    levels          number of levels of the fit
    """

    source: Source
    arm: str
    quantity: Quantity
    interval: Interval | None
    low_gamma: float
    high_gamma: float
    levels: int


class WidthScalingResult(StudyResult):
    """Widths that suffice and their exponents; `plot` shows widths against the margin.

    Attributes
    ----------
    settings : WidthScalingSettings
        The settings of the study.
    needed : list of NeededWidth
        By level, arm, quantity and ε.
    exponents : list of Exponent
        By source, arm and quantity, at the ε of the primary endpoint.
    ratios : dict
        By level, arm of soft labels and ε: neurons with soft labels over neurons with hard labels, for the training
        error.
    variants : dict
        By arm: neurons of hard labels without projection, and with an output scale, over those of hard labels, over all
        synthetic pairs.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("width-scaling", preset="quick")  # doctest: +SKIP
    >>> [(one.arm, one.interval) for one in result.exponents]  # doctest: +SKIP
    """

    def __init__(self, settings: WidthScalingSettings, results: StageResults) -> None:
        self.settings = settings
        self._results: dict[tuple[Level, int], CellResult] = {
            (cell.level, cell.seed): result for cell, result in results["train"]
        }
        self.needed = [
            self._needed(level, arm, quantity, epsilon)
            for level in settings.levels
            for arm in ARMS
            for quantity in QUANTITIES
            for epsilon in settings.epsilons
        ]
        self.exponents = [
            self._exponent(source, arm, quantity)
            for source in SOURCES
            for arm in ARMS
            for quantity in QUANTITIES
            if any(level.source == source for level in settings.levels)
        ]
        compared = [(level, arm, epsilon) for level in settings.levels for arm in SOFT for epsilon in settings.epsilons]
        self.ratios = {
            (level, arm, epsilon): self._ratio([level], arm, epsilon, len(compared)) for level, arm, epsilon in compared
        }
        self.variants = {
            arm: self._ratio(self._levels("pairs"), arm, settings.epsilon, len(VARIANTS)) for arm in VARIANTS
        }

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "answer": self.summary[0],
            "exponents": [
                {
                    "source": one.source,
                    "arm": one.arm,
                    "quantity": one.quantity,
                    "exponent": None if one.interval is None else one.interval.to_dict() | {"runs": one.interval.runs},
                    "gamma": [one.low_gamma, one.high_gamma] if one.levels else None,
                    "levels": one.levels,
                    "bound": self.bound_exponent(one),
                }
                for one in self.exponents
            ],
            "needed": [
                {
                    "source": one.level.source,
                    "dial": one.level.dial,
                    "gamma": one.gamma,
                    "arm": one.arm,
                    "quantity": one.quantity,
                    "epsilon": one.epsilon,
                    "suffices": _finite(one.suffices),
                    "fails": one.fails,
                    "per_seed": [_finite(value) for value in one.values],
                }
                for one in self.needed
            ],
            "ratios": [
                {"source": level.source, "dial": level.dial, "arm": arm, "epsilon": epsilon} | _ratio_dict(ratio)
                for (level, arm, epsilon), ratio in self.ratios.items()
            ],
            "variants": [{"arm": arm} | _ratio_dict(ratio) for arm, ratio in self.variants.items()],
            "crossovers": [
                {"epsilon": epsilon, "gamma": one.gamma, "note": one.note} for epsilon, one in self.crossovers().items()
            ],
            "margins": [
                {"source": level.source, "dial": level.dial, "seed": seed}
                | {name: self._results[level, seed].metrics[name] for name in ("lower", "upper", "iterations")}
                for level in self.settings.levels
                for seed in self.settings.seeds
            ],
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def summary(self) -> list[str]:
        """The answer first."""
        compared = [self._compared(arm, "pairs") for arm in SOFT]
        compared[0] += f" {self._expected()}"
        return [self._answer(), self._smallest(), *compared, *(self._variant(arm) for arm in VARIANTS), *self._others()]

    def _answer(self) -> str:
        """Both primary exponents, and whether they are smaller than those of the bounds."""
        soft, hard = (self.exponent("pairs", arm, "train") for arm in ("soft, theorem", "hard"))
        about = f"for a training error of {self.settings.epsilon:g}, averaged over iterations"
        if soft.interval is None or hard.interval is None:
            return f"Not decided: widths that suffice {about} were measured at too few margins."
        smaller = soft.interval.high < PRINTED[soft.arm] and hard.interval.high < PRINTED[hard.arm]
        line = (
            f"the number of neurons that students need {about}, depends on the margin γ as γ⁻ᵖ; for soft labels p = "
            f"{soft.interval:.2f}, {_against_bound(soft)}, for hard labels p = {hard.interval:.2f}, "
            f"{_against_bound(hard)}."
        )
        return f"The exponents of the bounds are not seen: {line}" if smaller else line[0].upper() + line[1:]

    def _smallest(self) -> str:
        """Widths that suffice at the smallest margin, beside those of the bounds."""
        level = min(self._levels("pairs"), key=lambda level: self.gammas(level).mean())
        soft, hard = (self.needed_at(level, arm, "train", self.settings.epsilon) for arm in ("soft, theorem", "hard"))
        asked = [width_of_bound(self.settings, arm, soft.gamma) for arm in ("soft, theorem", "hard")]
        widths = " and ".join(
            f"{one.suffices:,.0f}" if math.isfinite(one.suffices) else f"more than {one.tried:,.0f}"
            for one in (soft, hard)
        )
        return (
            f"At the smallest margin, γ = {soft.gamma:.2g}, {widths} neurons suffice with soft and hard labels (median "
            f"over seeds); the refined bounds ask for {asked[0]:.1e} and {asked[1]:.1e}."
        )

    def exponent(self, source: Source, arm: str, quantity: Quantity) -> Exponent:
        """The exponent of one arm."""
        wanted = (source, arm, quantity)
        return next(one for one in self.exponents if (one.source, one.arm, one.quantity) == wanted)

    def bound_exponent(self, one: Exponent) -> float | None:
        """The exponent of the refined bound over the margins of a fit; None where there is no fit or no such bound."""
        return None if one.interval is None else slope_of_bound(self.settings, one.arm, (one.low_gamma, one.high_gamma))

    def _levels(self, source: Source) -> list[Level]:
        return [level for level in self.settings.levels if level.source == source]

    def crossovers(self) -> dict[float, bounds.Crossover]:
        """By ε, the margin below which soft labels need fewer neurons by the refined bounds."""
        n = self.settings.rows
        return {epsilon: bounds.crossover("refined", epsilon=epsilon, n=n) for epsilon in self.settings.epsilons}

    def _compared(self, arm: str, source: Source) -> str:
        """At how many margins one kind of soft labels needs fewer or more neurons than hard ones, by ε."""
        levels, parts = self._levels(source), []
        for epsilon in self.settings.epsilons:
            words = Counter(self.ratios[level, arm, epsilon].word for level in levels)
            shown = [f"{word} at {words[word]}" for word in ("fewer", "more") if words[word]]
            parts.append(f"{' and '.join(shown) or 'no difference is shown'} for ε = {epsilon:g}")
        return (
            f"Neurons with soft labels {SOFT[arm]}, compared with hard labels at {len(levels)} margins: "
            f"{'; '.join(parts)}."
        )

    def _expected(self) -> str:
        """Where soft labels would need fewer neurons by the bounds."""
        parts = [f"{crossover_words(one)} for ε = {epsilon:g}" for epsilon, one in self.crossovers().items()]
        return f"By the refined bounds soft labels would need fewer {', '.join(parts)}."

    def _ratio(self, levels: Sequence[Level], arm: str, epsilon: float, comparisons: int) -> WidthRatio:
        """Neurons of an arm over those of hard labels, for the training error."""
        widths, tried = [], []
        for one in (arm, "hard"):
            widths.append(np.array([self.needed_at(level, one, "train", epsilon).values for level in levels]))
            tried.append(
                np.array([[self._tried(level, seed, one) for seed in self.settings.seeds] for level in levels])
            )
        confidence = self.settings.adjusted(comparisons)
        return width_ratio((widths[0], widths[1]), (tried[0], tried[1]), self.settings.width_step, confidence)

    def arm_name(self, arm: str) -> str:
        """An arm in words."""
        kind, _, variant = arm.partition(", ")
        names = {"theorem": " (Theorem 2)", "tempered": ", tempered", "free": ", no projection"}
        return f"{kind} labels{names.get(variant, f', α = {self.settings.output_scale:g}' if variant else '')}"

    def mean_width(self, level: Level, arm: str, quantity: Quantity) -> float | None:
        """Geometric mean over seeds of the width that suffices for the primary ε; None where one was not found."""
        values = self.needed_at(level, arm, quantity, self.settings.epsilon).values
        return float(np.exp(np.mean(np.log(values)))) if np.isfinite(values).all() else None

    def _variant(self, arm: str) -> str:
        """Whether hard labels need fewer neurons without projection, or with an output scale."""
        ratio, name = self.variants[arm], VARIANTS[arm].format(self.settings.output_scale)
        measured = "" if ratio.interval is None else f", {ratio.interval:.2f} times as many"
        sentences = {
            "fewer": f"Hard labels {name} need fewer neurons{measured}",
            "more": f"Hard labels {name} need more neurons{measured}",
            "not told apart": f"Hard labels {name} are not shown to need fewer or more neurons{measured}",
        }
        return f"{sentences[ratio.word]} (mean over {len(self._levels('pairs'))} margins)."

    def _others(self) -> list[str]:
        """The other data sets."""
        names: dict[Source, str] = {
            "xor": "On 2-XOR in more and more dimensions",
            "images": "On images with a dialed difficulty",
        }
        lines = []
        for source, name in names.items():
            if self._levels(source):
                parts = [f"{self.arm_name(arm)} {_words(self.exponent(source, arm, 'train'))}" for arm in ARMS[:3]]
                lines.append(f"{name}: {'; '.join(parts)}. {self._compared('soft, theorem', source)}")
        return lines

    def page(self) -> Page:
        from softlabel.studies.width_scaling.page import width_scaling_page

        return width_scaling_page(self)

    def needed_at(self, level: Level, arm: str, quantity: Quantity, epsilon: float) -> NeededWidth:
        """The width that an arm needs at a level."""
        wanted = (level, arm, quantity, epsilon)
        return next(one for one in self.needed if (one.level, one.arm, one.quantity, one.epsilon) == wanted)

    def gammas(self, level: Level) -> np.ndarray:
        """The margin of every seed: the geometric mean of the ends of its certified interval, or its upper end at 0."""
        metrics = [self._results[level, seed].metrics for seed in self.settings.seeds]
        return np.array([math.sqrt((one["lower"] or one["upper"]) * one["upper"]) for one in metrics])

    def _needed(self, level: Level, arm: str, quantity: Quantity, epsilon: float) -> NeededWidth:
        pairs = [self._widths(level, seed, arm, quantity, epsilon) for seed in self.settings.seeds]
        suffices, fails = ([pair[k] for pair in pairs] for k in range(2))
        gamma = float(np.exp(np.mean(np.log(self.gammas(level)))))
        tried = _median([self._tried(level, seed, arm) for seed in self.settings.seeds])
        return NeededWidth(level, gamma, arm, quantity, epsilon, _median(suffices), _median(fails), tried, suffices)

    def _tried(self, level: Level, seed: int, arm: str) -> float:
        """The largest width of an arm."""
        arrays = self._results[level, seed].arrays
        return float(arrays["width"][arrays["arm"] == ARMS.index(arm)].max())

    def _widths(self, level: Level, seed: int, arm: str, quantity: Quantity, epsilon: float) -> tuple[float, float]:
        """The smallest width from which on all suffice, and the largest that fails."""
        arrays = self._results[level, seed].arrays
        own = arrays["arm"] == ARMS.index(arm)
        widths, good = arrays["width"][own], arrays[quantity][own] <= epsilon
        failing = np.flatnonzero(~good)
        if len(failing) == 0:
            return float(widths[0]), 0.0
        last = int(failing[-1])
        return (float(widths[last + 1]) if last + 1 < len(widths) else math.inf), float(widths[last])

    def _exponent(self, source: Source, arm: str, quantity: Quantity) -> Exponent:
        """Least-squares slope of ln m on ln γ for every seed, over the levels at which most seeds were measured."""
        usable = [
            level for level in self.settings.levels if level.source == source and self._usable(level, arm, quantity)
        ]
        gammas = [self.needed_at(level, arm, quantity, self.settings.epsilon).gamma for level in usable]
        if len(usable) < FEWEST_LEVELS:
            return Exponent(
                source, arm, quantity, None, min(gammas, default=0.0), max(gammas, default=0.0), len(usable)
            )
        x = np.log(np.stack([self.gammas(level) for level in usable]))  # (levels, seeds)
        y = np.log(np.stack([self._bounded(level, arm, quantity) for level in usable]))
        centered = x - x.mean(0)
        spread = (centered**2).sum(0)
        slopes = (centered * y).sum(0) / spread
        fits = len(ARMS) * len(QUANTITIES) * len({level.source for level in self.settings.levels})
        confidence = self.settings.adjusted(fits)
        steps = math.log(self.settings.width_step) / math.sqrt(12 * float(spread.mean()))
        interval = widened(Interval.from_runs(-slopes, confidence), steps, confidence)
        return Exponent(source, arm, quantity, interval, min(gammas), max(gammas), len(usable))

    def _usable(self, level: Level, arm: str, quantity: Quantity) -> bool:
        """Whether most seeds were measured: a certified margin, and a width within those that were tried."""
        metrics = [self._results[level, seed].metrics for seed in self.settings.seeds]
        if np.mean([one["upper"] > TIGHT * one["lower"] for one in metrics]) > CENSORED:
            return False
        values = np.array(self.needed_at(level, arm, quantity, self.settings.epsilon).values)
        outside = ~np.isfinite(values) | (values <= self.settings.widths[0])
        return float(outside.mean()) <= CENSORED

    def _bounded(self, level: Level, arm: str, quantity: Quantity) -> np.ndarray:
        """The width of every seed; one beyond the widths that were tried counts as twice the largest of them."""
        values = np.array(self.needed_at(level, arm, quantity, self.settings.epsilon).values)
        return bounded(values, np.array([self._tried(level, seed, arm) for seed in self.settings.seeds]))


def _against_bound(one: Exponent) -> str:
    """How the measured exponent compares with that of the bound, and where it was measured."""
    assert one.interval is not None
    bound = PRINTED[one.arm]
    word = "not told apart from"
    if one.interval.high < bound:
        word = "less than"
    elif one.interval.low > bound:
        word = "more than"
    return f"{word} the bound's {bound} (γ from {one.low_gamma:.2g} to {one.high_gamma:.2g})"


def _median(values: Sequence[float]) -> float:
    """The upper median, which may be infinite."""
    return sorted(values)[len(values) // 2]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _words(one: Exponent) -> str:
    if one.interval is None:
        return "were measured at too few margins"
    return f"have p = {one.interval:.2f} for γ from {one.low_gamma:.2g} to {one.high_gamma:.2g}"


def _ratio_dict(ratio: WidthRatio) -> dict[str, Any]:
    return {"ratio": None if ratio.interval is None else ratio.interval.to_dict(), "neurons": ratio.word}
