"""The result of a plan: the curve, the planned width of each arm, what soft labels save, the rival."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.lab import CellResult, Result, StageResults
from softlabel.lab.scores import unseen
from softlabel.lab.statistics import Estimate, crossed_mean
from softlabel.networks.softening import Softening
from softlabel.report.notebook import result_html
from softlabel.studies.plan.cells import (
    ARMS,
    candidate,
    chosen_at,
    confirmations,
    planned_width,
    search_confidence,
)
from softlabel.studies.plan.families import softening_of
from softlabel.studies.plan.quantize import quantized_bytes
from softlabel.studies.plan.search import ATTEMPTS, Curve, fit_curve, reaching_probability, tolerance_limit
from softlabel.studies.plan.sentences import summary
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.students.recipe import Arm, StudentCell
from softlabel.studies.students.sizes import SizeComparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Point:
    """One arm at one width of the search of a `Plan`.

    Attributes
    ----------
    arm : {"hard", "soft"}
        The labels of the students.
    width : int
        Their number of hidden neurons.
    accuracy : Estimate
        Their mean test accuracy.
    reached : int
        Number of students that reached the target.
    limit : float
        Tolerance limit: the accuracy that the required share of students exceeds.
    parameters : int
        Parameters of a student.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.PlanOptions(epochs=2, confirm=0, bisections=0, rival=False)
    >>> result = sl.plan(X, X[:, 0] > 0, teacher, accuracy=0.7, widths=[2, 4], seeds=3, options=options)
    >>> [(point.arm, point.width) for point in result.curve]
    [('hard', 2), ('hard', 4), ('soft', 2), ('soft', 4)]
    """

    arm: Arm
    width: int
    accuracy: Estimate
    reached: int
    limit: float
    parameters: int

    @property
    def students(self) -> int:
        return self.accuracy.runs


@dataclass(frozen=True)
class PlannedArm:
    """The smallest students of one arm of a `Plan` that reach the target.

    Attributes
    ----------
    arm : {"hard", "soft"}
        The labels of the students.
    width : int or None
        The planned number of hidden neurons; None if no width up to the limit is confirmed to reach the target.
    candidate : int or None
        The smallest width that reached the target in the search.
    accuracy : Estimate
        Mean test accuracy of students of the width `accuracy_width`: the planned one, otherwise the best one.
    parameters : int or None
        Parameters of a planned student.
    reached, of : int
        Number of fresh students that reached the target, and of all of them.
    probability : float or None
        Lower bound on the probability that a fresh student reaches the target, with the confidence of the plan.
    attempts : list of tuple
        Widths whose confirmation was tried: (width, reached, of, confirmed).
    chosen : StudentCell
        The settings that were chosen on validation rows.
    calibration_error : float
        Mean over the students that `accuracy` describes.
    softening : Softening
        Temperature and smoothing of their labels, which decide whether their outputs are probabilities.
    size : SizeComparison
        Parameters of a planned student compared with those of the teacher.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.PlanOptions(epochs=2, confirm=0, bisections=0, rival=False)
    >>> result = sl.plan(X, X[:, 0] > 0, teacher, accuracy=0.7, widths=[2, 4], seeds=3, options=options)
    >>> result.soft.arm, 0 <= result.soft.accuracy.mean <= 1
    ('soft', True)
    """

    arm: Arm
    width: int | None
    candidate: int | None
    accuracy: Estimate
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
    """Hard-label students of a `Plan` with 8-bit weights, as large in bytes as the planned student.

    Attributes
    ----------
    width : int
        Their number of hidden neurons.
    accuracy : Estimate
        Their mean test accuracy.
    float_accuracy : float
        Their mean test accuracy before the weights are rounded.
    reached : int
        Number of them that reach the target.
    parameters : int
        Parameters of a student.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.plan("digits", accuracy=0.9)  # doctest: +SKIP
    >>> result.rival.accuracy.mean < result.soft.accuracy.mean  # doctest: +SKIP
    True
    """

    width: int
    accuracy: Estimate
    float_accuracy: float
    reached: int
    parameters: int


class Plan(Result):
    """The smallest student that reaches a target, on hard and on soft labels.

    Attributes
    ----------
    soft, hard : PlannedArm
        The plan of each arm; `width` is None where no width reaches the target.
    curve : list of Point
        Every width of the search.
    rival : Rival or None
        Hard-label students with 8-bit weights of the same size in bytes.
    exported : list of str
        Files of the exported students.
    report : path
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.PlanOptions(epochs=2, confirm=0, bisections=0, rival=False)
    >>> result = sl.plan(X, X[:, 0] > 0, teacher, accuracy=0.7, widths=[2, 4], seeds=3, options=options)
    >>> result.soft.width in (2, 4, None)
    True
    """

    def __init__(self, settings: PlanSettings, results: StageResults, facts: Mapping[str, Any]) -> None:
        self.settings, self.results, self.facts = settings, results, facts
        self.curve = [point for arm in ARMS for point in self._points(arm)]
        self.fits = {arm: self._fit(arm) for arm in ARMS}
        self.arms = {arm: self._planned(arm) for arm in ARMS}
        self.rival = self._rival()

    @property
    def soft(self) -> PlannedArm:
        return self.arms["soft"]

    @property
    def hard(self) -> PlannedArm:
        return self.arms["hard"]

    @property
    def exported(self) -> list[str]:
        return [path for entry in self.facts.get("exported", []) for path in entry["files"]]

    @property
    def summary(self) -> list[str]:
        return summary(self)

    def points(self, arm: Arm) -> list[Point]:
        return [point for point in self.curve if point.arm == arm]

    def _by_width(self, arm: Arm, stages: list[str], width: int | None = None) -> dict[int, list[CellResult]]:
        by_width: dict[int, list[CellResult]] = {}
        for stage in stages:
            for cell, result in self.results[stage]:
                if cell.arm == arm and width in (None, cell.width):
                    by_width.setdefault(cell.width, []).append(result)
        return dict(sorted(by_width.items()))

    def _searched(self, arm: Arm) -> dict[int, list[CellResult]]:
        """Students of the search by width."""
        return self._by_width(arm, ["ladder", *(f"bisect {k}" for k in range(1, self.settings.bisections + 1))])

    def _accuracy(self, results: list[CellResult]) -> Estimate:
        rows = self.settings.test_rows
        table = np.array([np.unpackbits(o.arrays["right"], count=rows) for o in results], dtype=float)
        failure = 1 - self.settings.confidence
        return crossed_mean(table).at_least(unseen("accuracy", [rows], failure) / 100, failure)

    def interval(self, estimate: Estimate) -> tuple[float, float]:
        """Both ends of an accuracy's interval over seeds and test rows."""
        low, high = estimate.interval(self.settings.confidence)
        return max(low, 0.0), min(high, 1.0)

    def _points(self, arm: Arm) -> list[Point]:
        settings = self.settings
        points = []
        for width, results in self._searched(arm).items():
            values = [result.metrics["accuracy"] for result in results]
            confidence = search_confidence(settings, width not in settings.widths)
            limit = tolerance_limit(values, settings.share, confidence, 1 / settings.test_rows)
            reached = sum(value >= settings.target for value in values)
            points.append(Point(arm, width, self._accuracy(results), reached, limit, results[0].metrics["parameters"]))
        return points

    def _fit(self, arm: Arm) -> Curve | None:
        points = [point for point in self.points(arm) if point.width in self.settings.widths]
        return fit_curve(
            [point.width for point in points], [point.accuracy.mean for point in points], self.settings.frequent
        )

    def _planned(self, arm: Arm) -> PlannedArm:
        settings, results = self.settings, self.results
        width, attempts = planned_width(settings, results, arm), confirmations(settings, results, arm)
        points = {point.width: point for point in self.points(arm)}
        best = max(points.values(), key=lambda point: point.accuracy.mean)
        shown, reached, of, probability = best.accuracy, best.reached, best.students, None
        if width is not None and settings.confirm:
            fresh = self._by_width(arm, [f"confirm {k}" for k in range(1, ATTEMPTS + 1)], width)[width]
            shown, parameters = self._accuracy(fresh), int(fresh[0].metrics["parameters"])
            _, reached, of, _ = next(attempt for attempt in attempts if attempt[0] == width)
            probability = reaching_probability(reached, of, (1 - settings.confidence) / ATTEMPTS)
        elif width is not None:
            point = points[width]
            shown, parameters, reached, of = point.accuracy, point.parameters, point.reached, point.students
            fresh = self._searched(arm)[width]
        else:
            parameters, fresh = None, self._searched(arm)[best.width]
        chosen = chosen_at(settings, results, arm, width or best.width)
        return PlannedArm(
            arm, width, candidate(settings, results, arm), shown, best.width if width is None else width, parameters,
            reached, of, probability, attempts, chosen,
            float(np.mean([result.metrics["calibration_error"] for result in fresh])),
            softening_of(settings, chosen),
            SizeComparison(parameters, (self.facts.get("teacher") or {}).get("parameters")),
        )  # fmt: skip

    @property
    def size_warnings(self) -> list[str]:
        """One for each arm whose planned student is not smaller than the teacher."""
        warnings = (planned.size.warning(f"the planned student on {arm} labels") for arm, planned in self.arms.items())
        return [warning for warning in warnings if warning is not None]

    @property
    def compresses(self) -> bool:
        """False where students are planned and none is known to be smaller than the teacher."""
        known = [planned.size.smaller for planned in self.arms.values() if planned.size.smaller is not None]
        return not known or any(known)

    def _rival(self) -> Rival | None:
        pairs = self.results["rival"]
        if not pairs:
            return None
        results = [result for _, result in pairs]
        return Rival(
            width=pairs[0][0].width,
            accuracy=self._accuracy(results),
            float_accuracy=float(np.mean([result.metrics["float_accuracy"] for result in results])),
            reached=sum(result.metrics["accuracy"] >= self.settings.target for result in results),
            parameters=int(results[0].metrics["parameters"]),
        )

    def kept(self, arm: Arm) -> tuple[StudentCell, CellResult] | None:
        """The student to export: of the planned width, best on validation rows among those that were stored."""
        width = self.arms[arm].width
        stages = [f"confirm {k}" for k in range(1, ATTEMPTS + 1)] if self.settings.confirm else ["final"]
        stored = [
            (cell, result)
            for stage in stages
            for cell, result in self.results[stage]
            if cell.arm == arm and cell.width == width and any(name.startswith("weights ") for name in result.arrays)
        ]
        return max(stored, key=lambda pair: pair[1].metrics["validation"]) if stored else None

    @property
    def saved(self) -> dict[str, Any] | None:
        """What soft labels save against hard ones; None where one of them reaches no width."""
        hard, soft = self.hard, self.soft
        if hard.width is None or soft.width is None or hard.parameters is None or soft.parameters is None:
            return None
        return {"width": hard.width - soft.width, "parameters": hard.parameters - soft.parameters,
                "share": 1 - soft.parameters / hard.parameters}  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "target": settings.target,
            "arms": {arm: self._arm_dict(planned) for arm, planned in self.arms.items()},
            "saved": self.saved,
            "curve": [
                {"arm": point.arm, "width": point.width, **self._interval_dict(point.accuracy),
                 "reached": point.reached, "students": point.students, "tolerance_limit": point.limit,
                 "parameters": point.parameters}
                for point in self.curve
            ],
            "fit": {
                arm: None if fit is None else vars(fit) | {"missed_by": fit.missed_by} for arm, fit in self.fits.items()
            },
            "rival": self._rival_dict(),
            "theory": self.facts.get("theory", {}),
            "teacher": self.facts.get("teacher"),
            "audit": self.facts.get("audit"),
            "exported": self.exported,
            "students": self.facts.get("exported", []),
            "promise": {
                "probability": settings.share, "confidence": settings.confidence, "confirmed_by": settings.confirm,
            },
            "warnings": [*self.size_warnings, *self.facts.get("warnings", [])],
            "settings": settings.model_dump(mode="json"),
            "report": None if self.report is None else str(self.report),
        }  # fmt: skip

    def _interval_dict(self, estimate: Estimate) -> dict[str, float]:
        low, high = self.interval(estimate)
        return {"mean": estimate.mean, "low": low, "high": high}

    def _arm_dict(self, planned: PlannedArm) -> dict[str, Any]:
        attempts = [dict(zip(("width", "reached", "of", "confirmed"), row, strict=True)) for row in planned.attempts]
        return {
            "width": planned.width,
            "accuracy": self._interval_dict(planned.accuracy),
            "accuracy_width": planned.accuracy_width,
            "parameters": planned.parameters,
            "size": planned.size.to_dict(),
            "calibration_error": planned.calibration_error,
            "probabilities_are": planned.softening.meaning,
            "reached": planned.reached,
            "of": planned.of,
            "probability": planned.probability,
            "candidate": planned.candidate,
            "attempts": attempts,
            "chosen": {"learning_rate": planned.chosen.learning_rate, "temperature": planned.chosen.temperature,
                       "radius": planned.chosen.radius},
        }  # fmt: skip

    def _rival_dict(self) -> dict[str, Any] | None:
        rival, settings = self.rival, self.settings
        if rival is None:
            return None
        return {
            "width": rival.width, "bits": 8, "bytes": quantized_bytes(rival.width, settings.inputs, settings.outputs),
            **self._interval_dict(rival.accuracy), "float_accuracy": rival.float_accuracy, "reached": rival.reached,
            "of": rival.accuracy.runs,
        }  # fmt: skip

    def plot(self) -> "Figure":
        """Error against width, and the share of students that reach the target."""
        from softlabel.report.drawing import chart_figure
        from softlabel.studies.plan.page import plan_chart

        return chart_figure(plan_chart(self))

    def _repr_html_(self) -> str:
        from softlabel.studies.plan.page import plan_table

        return result_html(self.summary[:2], self.plot(), plan_table(self))
