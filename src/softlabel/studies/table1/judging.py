"""What the outcomes of Table 1 say: means with intervals, gaps with verdicts, and how they compare with the paper."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softlabel.lab import Results
from softlabel.lab.statistics import Mean, Verdict, crossed_mean, holm, judge, paired_gap, runs_needed
from softlabel.studies.table1.cells import ARMS, Arm, Choices, StudentCell, run_seeds, set_name
from softlabel.studies.table1.settings import PRIMARY, Protocol, Table1

PAPER = {  # Mandal, Table 1: teacher, hard, soft
    ((1, 7, 4, 9), 8): (98.75, 97.19, 97.67),
    ((1, 7, 4, 9), 6): (98.75, 96.84, 97.26),
    ((1, 7, 4, 9), 4): (98.75, 93.04, 95.83),
    ((), 8): (98.34, 95.77, 96.58),
    ((), 6): (98.34, 95.33, 96.00),
    ((), 4): (98.34, 88.84, 95.62),
}


COIN = 60.0  # per cent; a student below it has learned nothing


@dataclass(frozen=True)
class Row:
    """One set and width under one protocol: both arms on the same seeds, their gap, and the verdict.

    low, high       interval of the gap, adjusted for the number of rows judged together
    p               Holm's p-value among them
    needed          runs that would decide an undecided row; None if no number would
    paper           teacher, hard, soft as printed; None for other data
    collapsed       runs that ended no better than a coin on the validation images; they count like all others
    """

    protocol: str
    leave_out: tuple[int, ...]
    width: int
    teacher: Mean
    arms: dict[Arm, Mean]
    chosen: dict[Arm, StudentCell]
    gap: Mean
    low: float
    high: float
    p: float
    verdict: Verdict
    needed: int | None
    paper: tuple[float, float, float] | None
    on_the_ball: dict[Arm, float]
    collapsed: dict[Arm, int]

    @property
    def dataset(self) -> str:
        return set_name(self.leave_out)


@dataclass(frozen=True)
class Drop:
    """How much more the hard arm loses than the soft one from the reduced set to all digits, at one width."""

    width: int
    hard: float
    soft: float
    difference: float
    low: float
    high: float


class Judgement:
    """All tables of the study, from its results."""

    def __init__(self, settings: Table1, results: Results) -> None:
        self.settings = settings
        self.choices = Choices(settings, results)
        self._tested = {cell.key: outcome for cell, outcome in results["test"]}
        self._teachers = results["teach"]
        self.primary = self.free_choice(settings.protocol(PRIMARY))
        self.common = self._common_radius(settings.protocol(PRIMARY))
        self.further = [self.free_choice(protocol) for protocol in settings.protocols if protocol.name != PRIMARY]
        self.drops = self._drops()

    def free_choice(self, protocol: Protocol) -> list[Row]:
        """Each arm with the settings it chose on validation data."""
        places = [(leave_out, width) for leave_out in self.settings.leave_out for width in self.settings.widths]
        return self._rows([self._pair(protocol, *place) for place in places])

    def _common_radius(self, protocol: Protocol) -> list[Row]:
        """Both arms with the same radius, for every radius; steps and temperatures chosen on validation data."""
        chosen = [
            self._pair(protocol, leave_out, width, radius)
            for leave_out in self.settings.leave_out
            for width in self.settings.widths
            for radius in protocol.all_radii
        ]
        return self._rows(chosen)

    def _pair(
        self, protocol: Protocol, leave_out: tuple[int, ...], width: int, radius: float | str | None = "any"
    ) -> dict[Arm, StudentCell]:
        return {arm: self.choices.best(protocol, leave_out, width, arm, radius) for arm in ARMS}

    def _rows(self, chosen: Sequence[dict[Arm, StudentCell]]) -> list[Row]:
        """Rows judged together: intervals and p-values are adjusted for their number."""
        confidence = 1 - (1 - self.settings.confidence) / len(chosen)
        tables = [{arm: self._correct(cell) for arm, cell in pair.items()} for pair in chosen]
        gaps = [paired_gap(table["soft"], table["hard"]) for table in tables]
        rows = []
        for pair, table, gap, p in zip(chosen, tables, gaps, holm([gap.p_value() for gap in gaps]), strict=True):
            cell = pair["hard"]
            low, high = gap.interval(confidence)
            verdict = judge(low, high, self.settings.equivalence)
            rows.append(
                Row(
                    protocol=cell.protocol,
                    leave_out=cell.leave_out,
                    width=cell.width,
                    teacher=self._teacher(cell.leave_out),
                    arms={arm: crossed_mean(table[arm]) for arm in ARMS},
                    chosen=pair,
                    gap=gap,
                    low=low,
                    high=high,
                    p=p,
                    verdict=verdict,
                    needed=runs_needed(gap, confidence, self.settings.equivalence) if verdict == "undecided" else None,
                    paper=PAPER.get((cell.leave_out, cell.width)) if self.settings.data == "mnist" else None,
                    on_the_ball={arm: self._on_the_ball(pair[arm]) for arm in ARMS},
                    collapsed={arm: self._collapsed(pair[arm]) for arm in ARMS},
                )
            )
        return rows

    def _outcomes(self, cell: StudentCell) -> list:
        copies = (cell.model_copy(update={"stage": "test", "seed": seed}) for seed in run_seeds(self.settings))
        return [self._tested[copy.key] for copy in copies]

    def _correct(self, cell: StudentCell) -> np.ndarray:
        """100 where run r is right on test image i, else 0."""
        return 100.0 * np.stack(
            [_unpacked(outcome, self._examples(cell.leave_out)) for outcome in self._outcomes(cell)]
        )

    def _on_the_ball(self, cell: StudentCell) -> float:
        return float(np.mean([outcome.metrics["on_the_ball"] for outcome in self._outcomes(cell)]))

    def _collapsed(self, cell: StudentCell) -> int:
        return sum(outcome.metrics["validation"] < COIN for outcome in self._outcomes(cell))

    def _examples(self, leave_out: tuple[int, ...]) -> int:
        outcome = next(outcome for cell, outcome in self._teachers if cell.leave_out == leave_out)
        return outcome.metrics["examples"]

    def _teacher(self, leave_out: tuple[int, ...]) -> Mean:
        runs = [
            _unpacked(outcome, outcome.metrics["examples"])
            for cell, outcome in self._teachers
            if cell.leave_out == leave_out and cell.seed in run_seeds(self.settings)
        ]
        return crossed_mean(100.0 * np.stack(runs))

    def _drops(self) -> list[Drop]:
        """The paper's second observation: soft labels lose less when the set becomes harder."""
        harder, easier = (), next((leave_out for leave_out in self.settings.leave_out if leave_out), None)
        if easier is None or () not in self.settings.leave_out:
            return []
        rows = {(row.leave_out, row.width): row for row in self.primary}
        drops = []
        for width in self.settings.widths:
            full, reduced = rows[(harder, width)], rows[(easier, width)]
            difference = full.gap.value - reduced.gap.value
            low, high = _difference(full.gap, reduced.gap, self.settings.confidence)
            drops.append(
                Drop(
                    width,
                    reduced.arms["hard"].value - full.arms["hard"].value,
                    reduced.arms["soft"].value - full.arms["soft"].value,
                    difference,
                    low,
                    high,
                )
            )
        return drops

    def map(self, leave_out: tuple[int, ...], width: int) -> dict[str, dict[float | None, float]]:
        """Mean validation accuracy by radius, of the hard arm and of the soft arm at every temperature (best step)."""
        protocol = self.settings.protocol(PRIMARY)
        found: dict[str, dict[float | None, float]] = {}
        for arm in ARMS:
            for (_, radius, temperature, _), value in self.choices.validation(protocol, leave_out, width, arm).items():
                name = "hard" if temperature is None else f"soft, T = {temperature:g}"
                place = found.setdefault(name, {})
                place[radius] = max(value, place.get(radius, -math.inf))
        names = ["hard", *(f"soft, T = {temperature:g}" for temperature in protocol.temperatures)]
        return {name: {radius: found[name][radius] for radius in protocol.all_radii} for name in names}


def _unpacked(outcome, examples: int) -> np.ndarray:
    return np.unpackbits(outcome.arrays["correct"], count=examples).astype(bool)


def _difference(first: Mean, second: Mean, confidence: float) -> tuple[float, float]:
    """Interval for the difference of two independent means: half-widths joined in quadrature."""
    value = first.value - second.value
    half = math.hypot(first.half_width(1 - confidence), second.half_width(1 - confidence))
    return value - half, value + half
