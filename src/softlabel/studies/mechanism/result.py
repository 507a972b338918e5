"""The result of the study of the mechanism: how far training moves the weights, relative to hard labels."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.lab.cells import StageResults
from softlabel.lab.statistics import Interval
from softlabel.report.page import Page
from softlabel.studies.mechanism.settings import ALL, EASY, MechanismSettings
from softlabel.studies.mechanism.training import MEASURES, PATHS, checkpoints, students_of
from softlabel.studies.pages import StudyResult

RATIOS = ("displacement", "flipped", "kernel", "matched")
FEWEST = 4  # seeds of an interval where some seeds may be missing


@dataclass(frozen=True)
class MechanismRow:
    """One kind of labels on one data set, with a ball or without: means at the end, and ratios to hard labels.

    displacement, flipped, kernel   ratio to hard labels at the end, geometric mean over seeds, adjusted interval
    matched                         ratio of displacements where both have the same training error; None if too few
                                    seeds reach it
    end                             mean of every measure at the end
    test                            mean test accuracy in per cent
    """

    dataset: str
    labels: str
    radius: float | None
    displacement: Interval | None
    flipped: Interval | None
    kernel: Interval | None
    matched: Interval | None
    end: dict[str, float]
    test: float
    values: dict[str, list[float]]


class MechanismResult(StudyResult):
    """Displacements and what goes with them; `plot` shows them along the training.

    Attributes
    ----------
    settings : MechanismSettings
        The settings of the study.
    rows : list of MechanismRow
        One per data set, kind of labels and ball.
    steps : list of int
        Steps at which students were measured.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("mechanism", preset="quick")  # doctest: +SKIP
    >>> result.primary  # doctest: +SKIP
    """

    def __init__(self, settings: MechanismSettings, results: StageResults) -> None:
        self.settings = settings
        self.steps = checkpoints(settings)
        self._results = {(cell.dataset, cell.seed): result for cell, result in results["train"]}
        soft = sum(name != "hard" for dataset in (ALL, EASY) for name, _ in students_of(settings, dataset))
        self.comparisons = soft * len(RATIOS)
        self.rows = [
            self._row(dataset, name, radius)
            for dataset in (ALL, EASY)
            for name, radius in students_of(settings, dataset)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""

        def interval(value: Interval | None) -> dict[str, float] | None:
            return None if value is None else value.to_dict()

        return {
            "answer": self.summary[0],
            "primary": self.primary.to_dict() | {"runs": self.primary.runs},
            "rows": [
                {
                    "dataset": row.dataset,
                    "labels": row.labels,
                    "radius": row.radius,
                    "ratios": {name: interval(getattr(row, name)) for name in RATIOS},
                    "end": row.end,
                    "test": row.test,
                    "per_seed": row.values,
                }
                for row in self.rows
            ],
            "curves": [
                {"dataset": row.dataset, "labels": row.labels, "radius": row.radius, "steps": self.steps}
                | {name: self.curves(row, name).mean(0).tolist() for name in MEASURES}
                for row in self.rows
            ],
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def primary(self) -> Interval:
        """Displacement with soft labels divided by that with hard ones, without a ball; not adjusted."""
        soft, hard = (self._end(ALL, name, None, "displacement") for name in ("soft", "hard"))
        ratio = _ratio(soft / hard, self.settings.confidence)
        assert ratio is not None  # weights move
        return ratio

    @property
    def summary(self) -> list[str]:
        """The answer first."""
        ratio = self.primary
        word = (
            "stays nearer to" if ratio.high < 1 else "moves farther from" if ratio.low > 1 else "is not shown to stay"
        )
        ending = " nearer to" if word == "is not shown to stay" else ""
        answer = (
            f"Training with soft labels {word}{ending} its initialization: after the same number of steps it has moved "
            f"{ratio:.2f} times as far as with hard labels."
        )
        return [answer, *self._other_sentences()]

    def _other_sentences(self) -> list[str]:
        soft, hard = self.row(ALL, "soft", None), self.row(ALL, "hard", None)
        limit = self.row(ALL, "kernel limit", None)
        lines = []
        if soft.matched is not None:
            lines.append(
                f"At the same training error ({self.settings.matched_error:.0%}) it has moved {soft.matched:.2f} times "
                f"as far ({soft.matched.runs} of {self.settings.runs} seeds reach it)."
            )
        ratios = [
            f"{name} {row.displacement:.2f}"
            for name in ("overconfident", "underconfident", "corrupted")
            if (row := self.row(ALL, name, None)).displacement is not None
        ]
        if ratios:
            lines.append(f"With labels of other teachers the weights move this many times as far: {'; '.join(ratios)}.")
        lines.append(
            "The theory says that weights move along U, the direction of the kernel-limit teacher (Appendix D): the "
            f"cosine between their change and U is {limit.end['cosine']:.2f} with that teacher's labels and "
            f"{hard.end['cosine']:.2f} with hard ones, and they move {limit.end['multiple']:.0f} and "
            f"{hard.end['multiple']:.0f} times the length of U along it."
        )
        initial = np.mean([self._results[ALL, seed].metrics["initial_margin"] for seed in self.settings.seeds])
        lines.append(
            f"The margin γ_m of the features is {initial:.4f} at the initialization, and {soft.end['margin']:.4f} "
            f"(soft) and {hard.end['margin']:.4f} (hard) at the end."
        )
        return lines

    def page(self) -> Page:
        from softlabel.studies.mechanism.page import mechanism_page

        return mechanism_page(self)

    def row(self, dataset: str, labels: str, radius: float | None) -> MechanismRow:
        """One row."""
        wanted = (dataset, labels, radius)
        return next(row for row in self.rows if (row.dataset, row.labels, row.radius) == wanted)

    def curves(self, row: MechanismRow, measure: str) -> np.ndarray:
        """A measure along the training: (seeds, checkpoints)."""
        return self._curves(row.dataset, row.labels, row.radius, measure)

    def _curves(self, dataset: str, labels: str, radius: float | None, measure: str) -> np.ndarray:
        k = students_of(self.settings, dataset).index((labels, radius))
        return np.stack([self._results[dataset, seed].arrays[measure][:, k] for seed in self.settings.seeds])

    def _end(self, dataset: str, labels: str, radius: float | None, measure: str) -> np.ndarray:
        return self._curves(dataset, labels, radius, measure)[:, -1]

    def _row(self, dataset: str, labels: str, radius: float | None) -> MechanismRow:
        confidence = self.settings.adjusted(self.comparisons)
        ratios: dict[str, Interval | None] = dict.fromkeys(RATIOS)
        if labels != "hard":
            for name in RATIOS[:3]:
                mine, hard = (self._end(dataset, one, radius, name) for one in (labels, "hard"))
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratios[name] = _ratio(mine / hard, confidence)
            ratios["matched"] = self._matched(dataset, labels, radius, confidence)
        k = students_of(self.settings, dataset).index((labels, radius))
        tests = [float(self._results[dataset, seed].arrays["test"][k]) for seed in self.settings.seeds]
        end = {name: self._end(dataset, labels, radius, name) for name in MEASURES}
        return MechanismRow(
            dataset=dataset,
            labels=labels,
            radius=radius,
            **ratios,
            end={name: float(values.mean()) for name, values in end.items()},
            test=float(np.mean(tests)),
            values={name: values.tolist() for name, values in end.items()} | {"test": tests},
        )

    def _matched(self, dataset: str, labels: str, radius: float | None, confidence: float) -> Interval | None:
        """The ratio of displacements where each student's training error first falls to the matched one."""
        mine, hard = (
            [
                displacement_at(error, moved, self.settings.matched_error)
                for error, moved in zip(
                    *(self._curves(dataset, name, radius, f"path: {measure}") for measure in PATHS), strict=True
                )
            ]
            for name in (labels, "hard")
        )
        ratios = [a / b for a, b in zip(mine, hard, strict=True) if a is not None and b is not None]
        return _ratio(np.array(ratios), confidence) if len(ratios) >= FEWEST else None


def displacement_at(error: np.ndarray, moved: np.ndarray, target: float) -> float | None:
    """The displacement where the error first falls to the target, interpolated between two points of the paths.

    None if it never does, or before the second point: the error of the initialization, whose outputs are 0, says
    nothing about the steps after it.
    """
    below = np.flatnonzero(error <= target)
    if len(below) == 0 or below[0] <= 1:
        return None
    k = int(below[0])
    share = (error[k - 1] - target) / (error[k - 1] - error[k])
    return float(moved[k - 1] + share * (moved[k] - moved[k - 1]))


def _ratio(values: np.ndarray, confidence: float) -> Interval | None:
    """Geometric mean of ratios, with Student's interval of their logarithms; None where a ratio is 0 or undefined."""
    if not (np.isfinite(values) & (values > 0)).all():
        return None
    logs = Interval.from_runs(np.log(values), confidence)
    return Interval(math.exp(logs.mean), math.exp(logs.low), math.exp(logs.high), logs.runs)
