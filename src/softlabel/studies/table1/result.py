"""The result of Table 1: means with intervals, gaps with verdicts, and the comparison with the paper."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.lab.cells import CellResult, StageResults
from softlabel.lab.statistics import (
    Estimate,
    Interval,
    Verdict,
    crossed_mean,
    holm,
    judge,
    paired_gap,
    runs_needed,
    sum_of_dependent,
)
from softlabel.report.page import Page
from softlabel.studies.pages import StudyResult
from softlabel.studies.table1.cells import ARMS, Arm, Choices, Table1Cell, set_name
from softlabel.studies.table1.settings import PRIMARY, Protocol, Table1Settings
from softlabel.studies.tested_rows import right_rows

PAPER = {  # Mandal, Table 1: teacher, hard, soft
    ((1, 7, 4, 9), 8): (98.75, 97.19, 97.67),
    ((1, 7, 4, 9), 6): (98.75, 96.84, 97.26),
    ((1, 7, 4, 9), 4): (98.75, 93.04, 95.83),
    ((), 8): (98.34, 95.77, 96.58),
    ((), 6): (98.34, 95.33, 96.00),
    ((), 4): (98.34, 88.84, 95.62),
}
CHANCE = 60.0  # per cent; a student below it has learned nothing


@dataclass(frozen=True)
class Table1Row:
    """One data set and width under one protocol: both arms on the same seeds, their gap, and the verdict.

    low, high       interval of the gap, adjusted for the number of rows judged together
    p               Holm-adjusted p-value
    needed          number of runs that would decide an undecided row; None if no number would
    paper           teacher, hard, soft as printed; None for other data
    on_the_ball     share of the neurons that the projection restrains
    collapsed       runs no better than chance on the validation images; they are included in all means
    values          test accuracies in per cent, by arm and seed
    """

    protocol: str
    leave_out: tuple[int, ...]
    width: int
    teacher: Estimate
    arms: dict[Arm, Estimate]
    chosen: dict[Arm, Table1Cell]
    gap: Estimate
    low: float
    high: float
    p: float
    verdict: Verdict
    needed: int | None
    paper: tuple[float, float, float] | None
    on_the_ball: dict[Arm, float]
    collapsed: dict[Arm, int]
    values: dict[Arm, list[float]]

    @property
    def dataset(self) -> str:
        """The name of the data set, as the paper names it."""
        return set_name(self.leave_out)

    def to_dict(self, confidence: float) -> dict[str, Any]:
        """The row as JSON values; accuracies and gaps in per cent."""
        arms = {}
        for arm, estimate in self.arms.items():
            low, high = estimate.interval(confidence)
            chosen = self.chosen[arm].model_dump(include={"init", "radius", "temperature", "learning_rate"})
            chosen["on_the_ball"] = self.on_the_ball[arm]
            arms[arm] = {"mean": estimate.mean, "low": low, "high": high, "runs": estimate.runs, "chosen": chosen}
        return {
            "dataset": self.dataset,
            "width": self.width,
            "teacher": self.teacher.mean,
            **arms,
            "gap": {
                "mean": self.gap.mean,
                "low": self.low,
                "high": self.high,
                "runs": self.gap.runs,
                "p_holm": self.p,
                "effect": self.gap.effect,
            },
            "paper": None if self.paper is None else dict(zip(("teacher", "hard", "soft"), self.paper, strict=True)),
            "verdict": self.verdict,
            "runs_needed": self.needed,
            "collapsed": self.collapsed,
            "per_seed": self.values,
        }


@dataclass(frozen=True)
class Drop:
    """Accuracy that each arm loses from the reduced data set to all digits at one width, and the difference.

    Its interval is adjusted for the number of widths.
    """

    width: int
    hard: float
    soft: float
    difference: float
    low: float
    high: float


class Table1Result(StudyResult):
    """All tables of the study; `plot` shows the test accuracy of both arms beside the paper's numbers.

    Attributes
    ----------
    settings : Table1Settings
        The settings of the study.
    primary : list of Table1Row
        The paper's table: each arm with the settings that it chose on validation data.
    common : list of Table1Row
        Both arms with the same radius, for every radius.
    others : list of list of Table1Row
        The same table for every other protocol.
    mean_gaps : dict of float or None to Interval
        The gap with one radius for both arms (None: no projection), mean over data sets and widths; the intervals are
        adjusted for the number of radii.
    drops : list of Drop
        What each arm loses from the easier data set to the harder one.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("table1", preset="quick")  # doctest: +SKIP
    >>> [(row.width, row.gap.mean, row.verdict) for row in result.primary]  # doctest: +SKIP
    """

    def __init__(self, settings: Table1Settings, results: StageResults) -> None:
        self.settings = settings
        self.choices = Choices(settings, results)
        self._tested = {cell.key: result for cell, result in results["test"]}
        self._teachers = results["teach"]
        primary = settings.protocol(PRIMARY)
        self.primary = self._rows(primary)
        self.common = self._rows(primary, primary.all_radii)
        self.others = [self._rows(protocol) for protocol in settings.protocols if protocol is not primary]
        self.mean_gaps = {radius: self._mean_gap(radius) for radius in primary.all_radii}
        self.drops = self._drops()

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        confidence, settings = self.settings.confidence, self.settings
        return {
            "rows": [row.to_dict(confidence) for row in self.primary],
            "common_radius": [row.to_dict(confidence) for row in self.common],
            "protocols": {rows[0].protocol: [row.to_dict(confidence) for row in rows] for rows in self.others},
            "mean_gaps": [
                {"radius": radius, "verdict": self.verdict_on(radius), **gap.to_dict(), "runs": gap.runs}
                for radius, gap in self.mean_gaps.items()
            ],
            "drops": [vars(drop) for drop in self.drops],
            "map": [
                {"dataset": set_name(leave_out), "width": width, "labels": name, "radius": radius, "validation": mean}
                for leave_out, width in settings.cases
                for name, means in self.map(leave_out, width).items()
                for radius, mean in means.items()
            ],
            "settings": settings.model_dump(mode="json"),
        }

    @property
    def summary(self) -> list[str]:
        """What the tables say, in plain sentences."""
        from softlabel.studies.table1.summary import summary

        return summary(self)

    def page(self) -> Page:
        from softlabel.studies.table1.page import table1_page

        return table1_page(self)

    def _rows(self, protocol: Protocol, radii: Sequence[float | str | None] = ("any",)) -> list[Table1Row]:
        """Rows judged together: intervals and p-values are adjusted for their number.

        radii       one row for each, with this radius for both arms; "any": each arm chooses its own
        """
        chosen: list[dict[Arm, Table1Cell]] = [
            {arm: self.choices.best(protocol, leave_out, width, arm, radius) for arm in ARMS}
            for leave_out, width in self.settings.cases
            for radius in radii
        ]
        confidence = self.settings.adjusted(len(chosen))
        tables = [{arm: self._correct(cell) for arm, cell in pair.items()} for pair in chosen]
        gaps = [paired_gap(table["soft"], table["hard"]) for table in tables]
        rows = []
        for pair, table, gap, p in zip(chosen, tables, gaps, holm([gap.p_value() for gap in gaps]), strict=True):
            cell = pair["hard"]
            low, high = gap.interval(confidence)
            verdict = judge(low, high, self.settings.equivalence)
            rows.append(
                Table1Row(
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
                    on_the_ball={arm: float(np.mean(self._metric(pair[arm], "on_the_ball"))) for arm in ARMS},
                    collapsed={
                        arm: sum(value < CHANCE for value in self._metric(pair[arm], "validation")) for arm in ARMS
                    },
                    values={arm: table[arm].mean(1).tolist() for arm in ARMS},
                )
            )
        return rows

    def _mean_gap(self, radius: float | None) -> Interval:
        """The gap with one radius for both arms, mean over widths and data sets, which may share test images."""
        protocol, widths, sets = self.settings.protocol(PRIMARY), self.settings.widths, self.settings.leave_out
        confidence = self.settings.adjusted(len(protocol.all_radii))

        def gap(leave_out: tuple[int, ...], width: int) -> np.ndarray:
            soft, hard = (self._correct(self.choices.best(protocol, leave_out, width, arm, radius))
                          for arm in ("soft", "hard"))  # fmt: skip
            return (soft - hard) / (len(widths) * len(sets))

        tables = [np.sum([gap(leave_out, width) for width in widths], axis=0) for leave_out in sets]
        return sum_of_dependent([crossed_mean(table) for table in tables], confidence)

    def verdict_on(self, radius: float | None) -> Verdict:
        """What the mean gap with this radius says."""
        gap = self.mean_gaps[radius]
        return judge(gap.low, gap.high, self.settings.equivalence)

    def _results(self, cell: Table1Cell) -> list[CellResult]:
        copies = (cell.model_copy(update={"stage": "test", "seed": seed}) for seed in self.settings.seeds)
        return [self._tested[copy.key] for copy in copies]

    def _correct(self, cell: Table1Cell) -> np.ndarray:
        """100 where run r is right on test image i, else 0."""
        return 100.0 * np.stack([right_rows(result, self._examples(cell.leave_out)) for result in self._results(cell)])

    def _metric(self, cell: Table1Cell, name: str) -> list[float]:
        return [result.metrics[name] for result in self._results(cell)]

    def _examples(self, leave_out: tuple[int, ...]) -> int:
        result = next(result for cell, result in self._teachers if cell.leave_out == leave_out)
        return result.metrics["examples"]

    def _teacher(self, leave_out: tuple[int, ...]) -> Estimate:
        runs = [
            right_rows(result, result.metrics["examples"])
            for cell, result in self._teachers
            if cell.leave_out == leave_out and cell.seed in self.settings.seeds
        ]
        return crossed_mean(100.0 * np.stack(runs))

    def _drops(self) -> list[Drop]:
        """The paper's second observation: soft labels lose less when the data set becomes harder."""
        harder, easier = (), next((leave_out for leave_out in self.settings.leave_out if leave_out), None)
        if easier is None or () not in self.settings.leave_out:
            return []
        rows = {(row.leave_out, row.width): row for row in self.primary}
        drops = []
        for width in self.settings.widths:
            full, reduced = rows[(harder, width)], rows[(easier, width)]
            lost = {arm: reduced.arms[arm].mean - full.arms[arm].mean for arm in ARMS}
            difference = full.gap.mean - reduced.gap.mean
            failure = (1 - self.settings.confidence) / len(self.settings.widths)
            half = full.gap.half_width(failure) + reduced.gap.half_width(failure)  # test images are shared
            drops.append(Drop(width, lost["hard"], lost["soft"], difference, difference - half, difference + half))
        return drops

    def map(self, leave_out: tuple[int, ...], width: int) -> dict[str, dict[float | None, float]]:
        """Mean validation accuracy by radius, of hard labels and of soft labels at every temperature.

        Each is that of the best learning rate.
        """
        protocol = self.settings.protocol(PRIMARY)
        best: dict[str, dict[float | None, float]] = {}
        for arm in ARMS:
            for cell, mean in self.choices.validation(protocol, leave_out, width, arm).items():
                name = "hard" if cell.temperature is None else f"soft, T = {cell.temperature:g}"
                by_radius = best.setdefault(name, {})
                by_radius[cell.radius] = max(mean, by_radius.get(cell.radius, -math.inf))
        names = ["hard", *(f"soft, T = {temperature:g}" for temperature in protocol.temperatures)]
        return {name: {radius: best[name][radius] for radius in protocol.all_radii} for name in names}
