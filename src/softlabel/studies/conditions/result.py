"""The result of a study of conditions: gaps with intervals, and endpoints that compare gaps of several conditions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from softlabel.errors import require
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
    sum_of_independent,
)
from softlabel.report.page import Page
from softlabel.studies.conditions.cells import ARMS, Arm, ConditionCell, chosen_settings, teacher_cell
from softlabel.studies.conditions.margins import CertifiedMargin, certified_margins
from softlabel.studies.conditions.settings import Condition
from softlabel.studies.pages import StudyResult
from softlabel.studies.tested_rows import right_rows

COLLAPSED = 0.6  # chance is near half of the accuracy of a teacher of two classes, and less for more

if TYPE_CHECKING:
    from softlabel.studies.conditions.study import ConditionsStudy


@dataclass(frozen=True)
class Endpoint:
    """A number that answers a question: a weighted sum, over conditions, of a quantity in points.

    name        what it is, with its unit
    weights     weights by name of the condition
    of          the quantity: the gap soft − hard, or the test accuracy of one arm
    """

    name: str
    weights: Mapping[str, float]
    of: Literal["gap", "soft", "hard"] = "gap"

    @classmethod
    def slope(
        cls, name: str, conditions: Sequence[Condition], of: Literal["gap", "soft", "hard"] = "gap"
    ) -> "Endpoint":
        """The slope along the positions of the conditions, by least squares."""
        positions = np.array([condition.position for condition in conditions], dtype=np.float64)
        require(
            len(set(positions)) >= 2 and bool(np.isfinite(positions).all()),
            f"the endpoint '{name}' needs conditions with at least two different positions",
        )
        centered = positions - positions.mean()
        weights = centered / (centered @ centered)
        return cls(name, {one.name: float(w) for one, w in zip(conditions, weights, strict=True)}, of)

    @classmethod
    def difference(
        cls,
        name: str,
        these: Sequence[Condition],
        those: Sequence[Condition],
        of: Literal["gap", "soft", "hard"] = "gap",
    ) -> "Endpoint":
        """The mean of these conditions minus the mean of those."""
        require(bool(these) and bool(those), f"the endpoint '{name}' needs conditions on both of its sides")
        weights = {one.name: 1 / len(these) for one in these} | {one.name: -1 / len(those) for one in those}
        return cls(name, weights, of)


@dataclass(frozen=True)
class ConditionRow:
    """One condition: both arms on the same seeds, their gap, and the verdict.

    gap             its interval is adjusted for the number of conditions
    p               Holm-adjusted p-value
    needed          number of runs that would decide an undecided row; None if no number would
    values          test accuracies in per cent, by arm and seed
    spread          standard deviation of the test accuracy over seeds, in points
    disagreement    share of the test rows, in per cent, on which students of two seeds differ in being right
    collapsed       runs with less than `COLLAPSED` times the teacher's accuracy; they are included in all means
    """

    condition: Condition
    teacher: Estimate
    arms: dict[Arm, Estimate]
    chosen: dict[Arm, ConditionCell]
    gap: Interval
    p: float
    verdict: Verdict
    needed: int | None
    values: dict[str, list[float]]
    spread: dict[Arm, float]
    disagreement: dict[Arm, float]
    collapsed: dict[Arm, int]

    def to_dict(self, confidence: float) -> dict[str, Any]:
        """The row as JSON values; accuracies and gaps in per cent."""
        arms = {}
        for arm, estimate in self.arms.items():
            low, high = estimate.interval(confidence)
            chosen = self.chosen[arm].model_dump(include={"label_scale", "learning_rate"})
            arms[arm] = {"mean": estimate.mean, "low": low, "high": high, "runs": estimate.runs, "chosen": chosen,
                         "spread": self.spread[arm], "disagreement": self.disagreement[arm],
                         "collapsed": self.collapsed[arm]}  # fmt: skip
        return {
            "condition": self.condition.name,
            "position": self.condition.position,
            "teacher": self.teacher.mean,
            **arms,
            "gap": self.gap.to_dict() | {"runs": self.gap.runs, "p_holm": self.p},
            "verdict": self.verdict,
            "runs_needed": self.needed,
            "per_seed": self.values,
        }


class ConditionsResult(StudyResult):
    """Gaps under all conditions, and the endpoints; `plot` shows accuracy and gap of every condition.

    Attributes
    ----------
    settings : ConditionsSettings
        The settings of the study.
    rows : list of ConditionRow
        One per condition.
    endpoints : dict of str to Interval
        The endpoints by name, the primary one first. Their intervals are adjusted for their number, except for that of
        the primary endpoint.
    margins : dict of str to list of CertifiedMargin
        Certified margins by condition, one per seed, where the settings ask for them.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("sample-size", preset="quick")  # doctest: +SKIP
    >>> result.primary  # doctest: +SKIP
    """

    def __init__(self, study: "ConditionsStudy", results: StageResults) -> None:
        self.study, self.settings = study, study.settings
        self._tested: dict[tuple[str, Arm, int], CellResult] = {
            (cell.condition.name, cell.arm, cell.seed): result for cell, result in results["test"]
        }
        self._teachers = {  # without their logits, which are large
            cell.key: CellResult(result.metrics, {"correct": result.arrays["correct"]})
            for cell, result in results["teach"]
        }
        self._chosen = chosen_settings(self.settings, results)
        self.margins: dict[str, list[CertifiedMargin]] = certified_margins(self.settings, results)
        self.rows = self._rows()
        self.endpoints = self._endpoints()

    @property
    def primary(self) -> Interval:
        """The primary endpoint."""
        return next(iter(self.endpoints.values()))

    @property
    def summary(self) -> list[str]:
        """The answer first."""
        return [self.study.answer(self), *self.study.remarks(self)]

    def row(self, name: str) -> ConditionRow:
        """The row of a condition."""
        return next(row for row in self.rows if row.condition.name == name)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "answer": self.study.answer(self),
            "endpoints": [
                {"name": name, **interval.to_dict(), "runs": interval.runs} for name, interval in self.endpoints.items()
            ],
            "rows": [row.to_dict(self.settings.confidence) for row in self.rows],
            "margins": {name: [one.to_dict() for one in margins] for name, margins in self.margins.items()},
            "settings": self.settings.model_dump(mode="json"),
        }

    def page(self) -> Page:
        from softlabel.studies.conditions.page import conditions_page

        return conditions_page(self)

    def correct(self, condition: Condition, arm: Arm) -> np.ndarray:
        """100 where the student of run r is right on test row i, else 0: (runs, rows)."""
        results = [self._tested[condition.name, arm, seed] for seed in self.settings.seeds]
        return 100.0 * np.stack([right_rows(result, self._examples(condition)) for result in results])

    def _examples(self, condition: Condition) -> int:
        return self._teachers[teacher_cell(condition, self.settings.seed).key].metrics["examples"]

    def _teacher(self, condition: Condition) -> Estimate:
        results = [self._teachers[teacher_cell(condition, seed).key] for seed in self.settings.seeds]
        return crossed_mean(100.0 * np.stack([right_rows(result, self._examples(condition)) for result in results]))

    def _rows(self) -> list[ConditionRow]:
        settings = self.settings
        confidence = settings.adjusted(len(settings.conditions))
        tables = [{arm: self.correct(condition, arm) for arm in ARMS} for condition in settings.conditions]
        gaps = [paired_gap(table["soft"], table["hard"]) for table in tables]
        adjusted = holm([gap.p_value() for gap in gaps])
        rows = []
        for condition, table, gap, p in zip(settings.conditions, tables, gaps, adjusted, strict=True):
            low, high = gap.interval(confidence)
            verdict = judge(low, high, settings.equivalence)
            teacher = self._teacher(condition)
            values = {arm: table[arm].mean(1) for arm in ARMS}
            rows.append(
                ConditionRow(
                    condition=condition,
                    teacher=teacher,
                    arms={arm: crossed_mean(table[arm]) for arm in ARMS},
                    chosen={arm: self._chosen[condition.name, arm] for arm in ARMS},
                    gap=Interval(gap.mean, low, high, gap.runs),
                    p=p,
                    verdict=verdict,
                    needed=runs_needed(gap, confidence, settings.equivalence) if verdict == "undecided" else None,
                    values={arm: values[arm].tolist() for arm in ARMS},
                    spread={arm: float(values[arm].std(ddof=1)) for arm in ARMS},
                    disagreement={arm: disagreement(table[arm]) for arm in ARMS},
                    collapsed={arm: int((values[arm] < COLLAPSED * teacher.mean).sum()) for arm in ARMS},
                )
            )
        return rows

    def _endpoints(self) -> dict[str, Interval]:
        endpoints, ratios = self.study.endpoints(self.settings), self.study.ratios(self)
        first = len(ratios) == 0  # whether the primary endpoint is the first weighted sum
        failure, others = 1 - self.settings.confidence, max(1, len(endpoints) - first)
        return ratios | {
            endpoint.name: self._interval(endpoint, failure if first and number == 0 else failure / others)
            for number, endpoint in enumerate(endpoints)
        }

    def _interval(self, endpoint: Endpoint, failure: float) -> Interval:
        """Conditions with the same test rows are paired by seed and row; other test rows are other samples."""
        sums: dict[tuple[object, ...], np.ndarray] = {}
        for name, weight in endpoint.weights.items():
            condition = self.settings.condition(name)
            table = weight * self._table(condition, endpoint.of)
            key = condition.test_rows
            sums[key] = sums[key] + table if key in sums else table
        return sum_of_independent([crossed_mean(table) for table in sums.values()], 1 - failure)

    def _table(self, condition: Condition, of: str) -> np.ndarray:
        if of == "gap":
            return self.correct(condition, "soft") - self.correct(condition, "hard")
        return self.correct(condition, "soft" if of == "soft" else "hard")


def disagreement(table: np.ndarray) -> float:
    """Share of the rows, in per cent, on which one of two runs is right and the other is not, over all pairs of runs.

    The table (runs, rows) has 100 where a run is right on a row, else 0.
    """
    runs, right = len(table), (table > 0).sum(0)
    return 100 * float((right * (runs - right)).mean()) / (runs * (runs - 1) / 2)
