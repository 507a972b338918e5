"""What a plan's results say: the curve, the planned width of each arm, what soft labels save, the rival."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.lab import Outcome, Results
from softlabel.lab.scores import unseen
from softlabel.lab.statistics import Mean, crossed_mean
from softlabel.networks.softening import Softening
from softlabel.studies.plan.cells import (
    ARMS,
    candidate,
    chosen_at,
    confirmations,
    planned_width,
    search_confidence,
)
from softlabel.studies.plan.families import softening_of
from softlabel.studies.plan.search import ATTEMPTS, Curve, fit_curve, reaching_probability, tolerance_limit
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.practice import Arm, SizeComparison, StudentCell


@dataclass(frozen=True)
class Point:
    """One arm at one width of the search."""

    arm: Arm
    width: int
    accuracy: Mean
    reached: int
    limit: float
    parameters: int

    @property
    def students(self) -> int:
        return self.accuracy.runs


@dataclass(frozen=True)
class Planned:
    """An arm's answer; `width` is None where no width up to the limit is confirmed to reach the target.

    accuracy        of fresh students of that width (where there is none: of the best width tried)
    reached, of     fresh students that reached the target, of all
    probability     to reach the target, at least, with the stated confidence
    attempts        widths that were tried to be confirmed: width, reached, of, confirmed
    calibration_error   mean over the students that `accuracy` is of
    softening       of the labels that they imitate: whether their outputs are probabilities
    size            parameters of the planned student against those of the teacher
    """

    arm: Arm
    width: int | None
    candidate: int | None
    accuracy: Mean
    accuracy_width: int
    parameters: int | None
    reached: int
    of: int
    probability: float | None
    attempts: list[tuple[int, int, int, bool]]
    chosen: StudentCell
    calibration_error: float
    softening: Softening
    size: SizeComparison


@dataclass(frozen=True)
class Rival:
    """Hard-label students in 8 bits, as large in bytes as the planned student."""

    width: int
    accuracy: Mean
    float_accuracy: float
    reached: int
    parameters: int


class Judgement:
    """The plan; `facts` hold audit, costs, theory, exported files."""

    def __init__(self, settings: PlanSettings, results: Results, facts: dict[str, Any] | None = None) -> None:
        self.settings, self.results, self.facts = settings, results, facts or {}
        self.curve = [point for arm in ARMS for point in self._points(arm)]
        self.fits = {arm: self._fit(arm) for arm in ARMS}
        self.arms = {arm: self._planned(arm) for arm in ARMS}
        self.rival = self._rival()

    def points(self, arm: Arm) -> list[Point]:
        return [point for point in self.curve if point.arm == arm]

    def _of(self, arm: Arm, stages: list[str], width: int | None = None) -> dict[int, list[Outcome]]:
        found: dict[int, list[Outcome]] = {}
        for stage in stages:
            for cell, outcome in self.results[stage]:
                if cell.arm == arm and width in (None, cell.width):
                    found.setdefault(cell.width, []).append(outcome)
        return dict(sorted(found.items()))

    def _searched(self, arm: Arm) -> dict[int, list[Outcome]]:
        """Students of the search by width."""
        return self._of(arm, ["ladder", *(f"bisect {k}" for k in range(1, self.settings.bisections + 1))])

    def _mean(self, outcomes: list[Outcome]) -> Mean:
        rows = self.settings.test_rows
        table = np.array([np.unpackbits(o.arrays["right"], count=rows) for o in outcomes], dtype=float)
        failure = 1 - self.settings.confidence
        return crossed_mean(table).at_least(unseen("accuracy", [rows], failure) / 100, failure)

    def interval(self, mean: Mean) -> tuple[float, float]:
        """Both ends of an accuracy's interval over seeds and test rows."""
        low, high = mean.interval(self.settings.confidence)
        return max(low, 0.0), min(high, 1.0)

    def _points(self, arm: Arm) -> list[Point]:
        settings = self.settings
        points = []
        for width, outcomes in self._searched(arm).items():
            values = [outcome.metrics["accuracy"] for outcome in outcomes]
            confidence = search_confidence(settings, width not in settings.widths)
            limit = tolerance_limit(values, settings.share, confidence, 1 / settings.test_rows)
            reached = sum(value >= settings.target for value in values)
            points.append(Point(arm, width, self._mean(outcomes), reached, limit, outcomes[0].metrics["parameters"]))
        return points

    def _fit(self, arm: Arm) -> Curve | None:
        points = [point for point in self.points(arm) if point.width in self.settings.widths]
        return fit_curve(
            [point.width for point in points], [point.accuracy.value for point in points], self.settings.frequent
        )

    def _planned(self, arm: Arm) -> Planned:
        settings, results = self.settings, self.results
        width, attempts = planned_width(settings, results, arm), confirmations(settings, results, arm)
        points = {point.width: point for point in self.points(arm)}
        best = max(points.values(), key=lambda point: point.accuracy.value)
        shown, reached, of, probability = best.accuracy, best.reached, best.students, None
        if width is not None and settings.confirm:
            fresh = self._of(arm, [f"confirm {k}" for k in range(1, ATTEMPTS + 1)], width)[width]
            shown, parameters = self._mean(fresh), int(fresh[0].metrics["parameters"])
            _, reached, of, _ = next(attempt for attempt in attempts if attempt[0] == width)
            probability = reaching_probability(reached, of, (1 - settings.confidence) / ATTEMPTS)
        elif width is not None:
            point = points[width]
            shown, parameters, reached, of = point.accuracy, point.parameters, point.reached, point.students
            fresh = self._searched(arm)[width]
        else:
            parameters, fresh = None, self._searched(arm)[best.width]
        chosen = chosen_at(settings, results, arm, width or best.width)
        return Planned(
            arm, width, candidate(settings, results, arm), shown, best.width if width is None else width, parameters,
            reached, of, probability, attempts, chosen,
            float(np.mean([outcome.metrics["calibration_error"] for outcome in fresh])),
            softening_of(settings, chosen),
            SizeComparison(parameters, (self.facts.get("teacher") or {}).get("parameters")),
        )  # fmt: skip

    @property
    def size_warnings(self) -> list[str]:
        """One for each arm whose planned student is not smaller than the teacher."""
        found = (planned.size.warning(f"the planned student on {arm} labels") for arm, planned in self.arms.items())
        return [warning for warning in found if warning is not None]

    @property
    def compresses(self) -> bool:
        """False where students are planned and none is known to be smaller than the teacher."""
        known = [planned.size.smaller for planned in self.arms.values() if planned.size.smaller is not None]
        return not known or any(known)

    def _rival(self) -> Rival | None:
        pairs = self.results["rival"]
        if not pairs:
            return None
        outcomes = [outcome for _, outcome in pairs]
        return Rival(
            width=pairs[0][0].width,
            accuracy=self._mean(outcomes),
            float_accuracy=float(np.mean([outcome.metrics["float_accuracy"] for outcome in outcomes])),
            reached=sum(outcome.metrics["accuracy"] >= self.settings.target for outcome in outcomes),
            parameters=int(outcomes[0].metrics["parameters"]),
        )

    def kept(self, arm: Arm) -> tuple[StudentCell, Outcome] | None:
        """The student to export: of the planned width, best on validation rows among those that were kept."""
        width = self.arms[arm].width
        stages = [f"confirm {k}" for k in range(1, ATTEMPTS + 1)] if self.settings.confirm else ["final"]
        held = [
            (cell, outcome)
            for stage in stages
            for cell, outcome in self.results[stage]
            if cell.arm == arm and cell.width == width and any(name.startswith("weights ") for name in outcome.arrays)
        ]
        return max(held, key=lambda pair: pair[1].metrics["validation"]) if held else None
