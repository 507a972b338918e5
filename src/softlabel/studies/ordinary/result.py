"""The result of Table 1 with ordinary training: the printed numbers among many runs, and dead neurons."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from softlabel.lab.cells import CellResult, StageResults
from softlabel.lab.statistics import Interval, crossed_mean, share_interval, stratified_difference
from softlabel.report.page import Page
from softlabel.studies.ordinary.settings import OrdinarySettings, Way
from softlabel.studies.ordinary.training import OrdinaryCell
from softlabel.studies.pages import StudyResult
from softlabel.studies.table1.cells import ARMS, set_name
from softlabel.studies.table1.result import PAPER
from softlabel.studies.tested_rows import right_rows

BEST_OF = (3, 5, 10)
CENTRAL = (0.025, 0.975)
FEWEST = 2  # runs of an interval
EXPLAINED = 0.5  # points: a gap within is none


@dataclass(frozen=True)
class PrintedNumber:
    """A cell of the paper's table among single runs: accuracies in per cent.

    below       share of the runs below the printed number
    best_of     share of the best of k runs below it, by k
    best_epoch  share of the runs below it, each at the epoch that is best on the test images
    values      accuracy by seed
    live        number of live neurons by seed
    """

    dataset: str
    width: int
    arm: str
    printed: float | None
    mean: float
    spread: float
    quantiles: dict[float, float]
    below: Interval | None
    best_of: dict[int, float]
    best_epoch: float | None
    values: list[float]
    live: list[int]

    @property
    def inside(self) -> bool | None:
        """Whether the printed number lies within the central 95% of the runs."""
        if self.printed is None:
            return None
        return self.quantiles[CENTRAL[0]] <= self.printed <= self.quantiles[CENTRAL[1]]


@dataclass(frozen=True)
class LiveNeurons:
    """Runs by the number of live neurons: how many of each arm, and the mean accuracy of them all."""

    live: int
    runs: dict[str, int]
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class Mediation:
    """One data set and width: the gap of all seeds, and of those with which all neurons of both students live.

    dead        mean share of dead neurons by arm, with its interval over seeds
    matched     gap between runs with equally many live neurons, with an interval over seeds; not paired
    """

    dataset: str
    width: int
    gap: Interval
    alive: Interval | None
    dead: dict[str, Interval]
    matched: Interval | None
    modes: list[LiveNeurons]


@dataclass(frozen=True)
class WayRow:
    """One way of training at one width, mean over the data sets: accuracy and share of dead neurons, in per cent.

    per_seed    both by seed
    """

    way: Way
    width: int
    accuracy: Interval
    dead: Interval
    per_seed: dict[str, list[float]]


class OrdinaryResult(StudyResult):
    """Printed numbers among single runs, and the gap with and without dead neurons; `plot` shows the distributions.

    Attributes
    ----------
    settings : OrdinarySettings
        The settings of the study.
    printed : list of PrintedNumber
        One per cell of the paper's table.
    mediation : list of Mediation
        One per data set and width.
    ways : list of WayRow
        All ways of training, by width.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("ordinary", preset="quick")  # doctest: +SKIP
    >>> [(one.dataset, one.width, one.arm, one.inside) for one in result.printed]  # doctest: +SKIP
    """

    def __init__(self, settings: OrdinarySettings, results: StageResults) -> None:
        self.settings = settings
        self._results: dict[OrdinaryCell, CellResult] = dict(results["train"])
        self.printed = [
            self._printed(leave_out, width, arm)
            for leave_out in settings.leave_out
            for width in settings.widths
            for arm in ARMS
        ]
        self.mediation = [self._mediation(a, width) for a in settings.leave_out for width in settings.widths]
        self.ways = self._ways()

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "answer": self.summary[0],
            "printed": [asdict(one) | {"inside": one.inside} for one in self.printed],
            "mediation": [asdict(one) for one in self.mediation],
            "ways": [{**asdict(one), "way": one.way.model_dump()} for one in self.ways],
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def summary(self) -> list[str]:
        """The answer first."""
        known = [one for one in self.printed if one.inside is not None]
        narrow = [one for one in self.mediation if one.width == min(self.settings.widths)]
        answer = self._explained(narrow)
        if known:
            inside = sum(bool(one.inside) for one in known)
            answer = (
                f"{inside} of the paper's {len(known)} numbers lie within what single runs of ordinary training give "
                f"(central 95%). {answer}"
            )
        return [answer, *self._verdict(), *(self._dead(one) for one in narrow), *self._outside(known)]

    def _explained(self, narrow: Sequence[Mediation]) -> str:
        """The gap of the narrowest students, with dead neurons and without."""
        parts = []
        for one in narrow:
            alive = (
                "too few seeds without a dead neuron"
                if one.alive is None
                else f"{one.alive:+.2f} where no neuron is dead"
            )
            parts.append(f"{one.gap:+.2f} points on {one.dataset} ({alive})")
        return f"With {min(self.settings.widths)} neurons soft − hard is {' and '.join(parts)}."

    def _verdict(self) -> list[str]:
        """Whether dead neurons explain gaps, by the rule fixed before the run; and gaps at equal numbers of them."""
        lines = []
        apart = [one for one in self.mediation if one.gap.low > 0 or one.gap.high < 0]
        if apart:
            explained = [one for one in apart if one.alive is not None and _none(one.alive)]
            names = f" ({', '.join(f'{one.dataset}, {one.width} neurons' for one in explained)})" if explained else ""
            lines.append(
                f"By the rule fixed before the run (where all neurons live, the gap lies within ±{EXPLAINED:g} points) "
                f"dead neurons explain {len(explained)} of the {len(apart)} gaps that exclude 0{names}."
            )
        matched = [one.matched for one in self.mediation if one.matched is not None]
        if matched:
            least, most = min(one.mean for one in matched), max(one.mean for one in matched)
            lines.append(
                f"Between runs with equally many live neurons the gaps are {least:+.2f} to {most:+.2f} points; "
                f"{sum(_none(one) for one in matched)} of {len(matched)} lie within ±{EXPLAINED:g} points, and "
                f"{sum(one.low > 0 or one.high < 0 for one in matched)} exclude 0 (added after the run)."
            )
        return lines

    def _dead(self, one: Mediation) -> str:
        modes = ", ".join(f"{mode.live} live: {mode.accuracy:.1f}" for mode in one.modes)
        dead = " and ".join(f"{one.dead[arm]:.0%} with {arm} labels" for arm in ARMS)
        return f"{one.dataset}, {one.width} neurons: dead neurons are {dead}; accuracy by live neurons: {modes}."

    def _outside(self, known: Sequence[PrintedNumber]) -> list[str]:
        outside = [one for one in known if not one.inside]
        if not outside:
            return []
        parts = [f"{one.dataset}, {one.width}, {one.arm} ({one.printed:.2f}; runs {one.mean:.2f})" for one in outside]
        return [f"Outside: {'; '.join(parts)}."]

    def page(self) -> Page:
        from softlabel.studies.ordinary.page import ordinary_page

        return ordinary_page(self)

    def results_of(self, leave_out: tuple[int, ...], width: int, way: Way) -> list[CellResult]:
        """The results of all seeds that were trained in this way."""
        cells = (OrdinaryCell(leave_out=leave_out, width=width, way=way, seed=seed) for seed in self.settings.seeds)
        return [self._results[cell] for cell in cells if cell in self._results]

    def _printed(self, leave_out: tuple[int, ...], width: int, arm: str) -> PrintedNumber:
        runs = self.results_of(leave_out, width, self.settings.primary[arm])
        values = np.array([run.metrics["test"] for run in runs])
        best = np.array([run.metrics["best_epoch"] for run in runs])
        row = PAPER.get((leave_out, width)) if self.settings.data == "mnist" else None
        printed = None if row is None else row[1 if arm == "hard" else 2]
        below = (
            None
            if printed is None
            else share_interval(int((values < printed).sum()), len(values), self.settings.confidence)
        )
        return PrintedNumber(
            dataset=set_name(leave_out),
            width=width,
            arm=arm,
            printed=printed,
            mean=float(values.mean()),
            spread=float(values.std(ddof=1)),
            quantiles={q: float(np.quantile(values, q)) for q in (CENTRAL[0], 0.5, CENTRAL[1])},
            below=below,
            best_of={} if below is None else {k: below.mean**k for k in BEST_OF},
            best_epoch=None if printed is None else float((best < printed).mean()),
            values=values.tolist(),
            live=[int(run.metrics["live"]) for run in runs],
        )

    def _mediation(self, leave_out: tuple[int, ...], width: int) -> Mediation:
        settings = self.settings
        runs = {arm: self.results_of(leave_out, width, way) for arm, way in settings.primary.items()}
        live = {arm: np.array([run.metrics["live"] for run in runs[arm]]) for arm in ARMS}
        gaps = self._right(runs["soft"]) - self._right(runs["hard"])
        comparisons = len(settings.leave_out) * len(settings.widths)
        alive = (live["hard"] == width) & (live["soft"] == width)
        return Mediation(
            dataset=set_name(leave_out),
            width=width,
            gap=self._interval(gaps, comparisons),
            alive=self._interval(gaps[alive], comparisons) if alive.sum() >= FEWEST else None,
            dead={arm: Interval.from_runs(1 - live[arm] / width, settings.confidence) for arm in ARMS},
            matched=stratified_difference(
                *([run.metrics["test"] for run in runs[arm]] for arm in ("soft", "hard")),
                strata=(live["soft"].tolist(), live["hard"].tolist()),
                confidence=settings.adjusted(comparisons),
            ),
            modes=self._modes(runs, live),
        )

    def _modes(self, runs: dict[str, list[CellResult]], live: dict[str, np.ndarray]) -> list[LiveNeurons]:
        modes = []
        for count in sorted({int(value) for values in live.values() for value in values}):
            counts = {arm: int((live[arm] == count).sum()) for arm in ARMS}
            by_seed = [
                [run.metrics["test"] for run in both if run.metrics["live"] == count]
                for both in zip(*(runs[arm] for arm in ARMS), strict=True)
            ]
            values = np.array([np.mean(of_seed) for of_seed in by_seed if of_seed])  # both arms of a seed are related
            mean = low = high = float(values.mean())
            if len(values) >= FEWEST:
                one = Interval.from_runs(values, self.settings.confidence)
                low, high = one.low, one.high
            modes.append(LiveNeurons(count, counts, mean, low, high))
        return modes

    def _ways(self) -> list[WayRow]:
        settings = self.settings
        ways = [*settings.ways("standardized"), *settings.ways("unit")]
        rows = []
        for way in ways:
            for width in settings.widths:
                runs = [self.results_of(leave_out, width, way) for leave_out in settings.leave_out]
                accuracy, dead = (
                    np.mean([[measure(run) for run in of_set] for of_set in runs], axis=0)
                    for measure in (
                        lambda run: run.metrics["test"],
                        lambda run, width=width: 100 * (1 - run.metrics["live"] / width),
                    )
                )
                row = WayRow(
                    way=way,
                    width=width,
                    accuracy=Interval.from_runs(accuracy, settings.confidence),
                    dead=Interval.from_runs(dead, settings.confidence),
                    per_seed={"accuracy": accuracy.tolist(), "dead": dead.tolist()},
                )
                rows.append(row)
        return rows

    def _right(self, runs: Sequence[CellResult]) -> np.ndarray:
        """100 where a run is right on a test image, else 0."""
        examples = runs[0].metrics["examples"]
        return 100.0 * np.stack([right_rows(run, examples) for run in runs])

    def _interval(self, table: np.ndarray, comparisons: int) -> Interval:
        return Interval.from_estimate(crossed_mean(table), self.settings.adjusted(comparisons))


def _none(gap: Interval) -> bool:
    """Whether a gap is too small to matter."""
    return gap.low >= -EXPLAINED and gap.high <= EXPLAINED
