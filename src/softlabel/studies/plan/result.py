"""The result of a plan: the curve, the planned width of each arm, what soft labels save, the rival."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.lab import CellResult, StageResults
from softlabel.lab.scores import unseen
from softlabel.lab.statistics import Estimate, Interval, crossed_mean
from softlabel.networks.softening import PROBABILITIES
from softlabel.report.page import Page
from softlabel.studies.pages import StudyResult
from softlabel.studies.plan.cells import (
    ARMS,
    candidate,
    chosen_at,
    confirmations,
    planned_width,
    search_confidence,
    search_stages,
)
from softlabel.studies.plan.quantize import quantized_bytes
from softlabel.studies.plan.search import ATTEMPTS, Curve, fit_curve, reaching_probability, tolerance_limit
from softlabel.studies.plan.sentences import summary
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.students.epochs import length_warning, training_length
from softlabel.studies.students.recipe import CHOSEN, Arm, StudentCell
from softlabel.studies.students.sizes import SizeComparison


@dataclass(frozen=True)
class Point:
    """One arm at one width of the search of a `Plan`.

    Attributes
    ----------
    arm : {"hard", "soft"}
        The labels of the students.
    width : int
        Their size, in the unit of their family (hidden neurons of two-layer students).
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
    >>> import softlabel as sl
    >>> accuracy = sl.Estimate(mean=0.9, runs=10, examples=500, run_part=1e-5, example_part=1e-4, effect=None)
    >>> point = sl.Point("soft", width=8, accuracy=accuracy, reached=7, limit=0.88, parameters=33)
    >>> point.reached / point.students
    0.7
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

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """The point as JSON values; `confidence` is that of the interval of its accuracy."""
        return {
            "arm": self.arm,
            "width": self.width,
            **Interval.from_share(self.accuracy, confidence).to_dict(),
            "reached": self.reached,
            "students": self.students,
            "tolerance_limit": self.limit,
            "parameters": self.parameters,
        }


@dataclass(frozen=True)
class PlannedArm:
    """The smallest students of one arm of a `Plan` that reach the target.

    Attributes
    ----------
    arm : {"hard", "soft"}
        The labels of the students.
    width : int or None
        The planned size, in the unit of the family (hidden neurons of two-layer students); None if no width up to the
        limit is confirmed to reach the target.
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
    size : SizeComparison
        Parameters of a planned student compared with those of the teacher.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.plan("digits", accuracy=0.9)  # doctest: +SKIP
    >>> result.soft.width, result.soft.to_dict()["accuracy"]  # doctest: +SKIP
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
    size: SizeComparison

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """The arm as JSON values; `confidence` is that of the interval of its accuracy."""
        attempts = [dict(zip(("width", "reached", "of", "confirmed"), row, strict=True)) for row in self.attempts]
        return {
            "width": self.width,
            "accuracy": Interval.from_share(self.accuracy, confidence).to_dict(),
            "accuracy_width": self.accuracy_width,
            "parameters": self.parameters,
            "size": self.size.to_dict(),
            "calibration_error": self.calibration_error,
            "probabilities_are": PROBABILITIES,
            "reached": self.reached,
            "of": self.of,
            "probability": self.probability,
            "candidate": self.candidate,
            "attempts": attempts,
            "chosen": self.chosen.model_dump(include={name for name in CHOSEN if name != "smoothing"}),
        }


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


class Plan(StudyResult):
    """The smallest student that reaches a target, on hard and on soft labels.

    `plot` shows the error against the width, and the share of students that reach the target.

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

    headlines = 2

    def __init__(self, settings: PlanSettings, results: StageResults, facts: Mapping[str, Any]) -> None:
        self.settings, self.results, self.facts = settings, results, facts
        self.curve = [point for arm in ARMS for point in self._points(arm)]
        self.fits = {arm: self._fit(arm) for arm in ARMS}
        self.arms = {arm: self._planned(arm) for arm in ARMS}
        self.rival = self._rival()
        self.length = training_length(settings.recipe, results)

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
        return self._by_width(arm, search_stages(self.settings))

    def _accuracy(self, results: list[CellResult]) -> Estimate:
        rows = self.settings.test_rows
        table = np.array([np.unpackbits(o.arrays["right"], count=rows) for o in results], dtype=float)
        failure = 1 - self.settings.confidence
        return crossed_mean(table).at_least(unseen("accuracy", [rows], failure) / 100, failure)

    def interval(self, estimate: Estimate) -> Interval:
        """An accuracy with its interval over seeds and test rows."""
        return Interval.from_share(estimate, self.settings.confidence)

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
            SizeComparison(parameters, (self.facts.get("teacher") or {}).get("parameters")),
        )  # fmt: skip

    @property
    def own_warnings(self) -> list[str]:
        """One for each arm whose planned student is not smaller than the teacher, and one for a training too short."""
        sizes = (planned.size.warning(f"the planned student on {arm} labels") for arm, planned in self.arms.items())
        return [warning for warning in (*sizes, length_warning([self.length])) if warning is not None]

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
            "arms": {arm: planned.to_dict(settings.confidence) for arm, planned in self.arms.items()},
            "saved": self.saved,
            "unit": settings.family.unit,
            "curve": [point.to_dict(settings.confidence) for point in self.curve],
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
            "epochs": self.length.to_dict(),
            "columns": self.facts.get("columns", []),
            "warnings": [*self.own_warnings, *self.facts.get("warnings", [])],
            "settings": settings.model_dump(mode="json"),
            "report": None if self.report is None else str(self.report),
        }  # fmt: skip

    def _rival_dict(self) -> dict[str, Any] | None:
        rival, settings = self.rival, self.settings
        if rival is None:
            return None
        return {
            "width": rival.width, "bits": 8, "bytes": quantized_bytes(rival.width, settings.inputs, settings.outputs),
            **self.interval(rival.accuracy).to_dict(), "float_accuracy": rival.float_accuracy, "reached": rival.reached,
            "of": rival.accuracy.runs,
        }  # fmt: skip

    def page(self) -> Page:
        from softlabel.studies.plan.page import plan_page

        return plan_page(self)
