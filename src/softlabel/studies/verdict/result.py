"""The result of a verdict: the gap at the last look, the metrics of every arm, and further comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softlabel.lab import StageResults
from softlabel.lab.cross_test import cross_tested_mean
from softlabel.lab.sequential import METHOD, InterimAnalysis
from softlabel.lab.statistics import Estimate, Interval, crossed_mean, judge
from softlabel.networks.softening import PROBABILITIES
from softlabel.report.page import Page
from softlabel.studies.pages import StudyResult
from softlabel.studies.students.epochs import TrainingLength, length_warning, training_length
from softlabel.studies.students.recipe import CHOSEN, Arm, StudentCell
from softlabel.studies.students.sizes import SizeComparison
from softlabel.studies.verdict.cells import analyses, arm_scores, chosen_settings, look_name
from softlabel.studies.verdict.sentences import summary
from softlabel.studies.verdict.settings import VerdictSettings

MEANS = ("accuracy", "log_loss", "brier_score", "calibration_error", "agreement", "kl", "validation")
PAIRS: tuple[tuple[Arm, Arm], ...] = (
    ("soft", "smooth"),
    ("smooth", "hard"),
    ("transfer", "soft"),
    ("transfer", "hard"),
    ("augmented", "soft"),
    ("augmented", "hard"),
)


@dataclass(frozen=True)
class ArmResult:
    """One arm: its metric with an interval over seeds and test rows, means of other numbers, and its settings.

    Attributes
    ----------
    mean, low, high : float
        The metric, larger is better except for the log loss.
    numbers : dict
        Means over seeds of accuracy, log loss, Brier score, calibration error, and agreement with the teacher.
    chosen : StudentCell
        The settings that were chosen on validation rows.
    parameters : int
        Parameters of a student.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.verdict("digits", width=4)  # doctest: +SKIP
    >>> soft = result.arms["soft"]  # doctest: +SKIP
    >>> soft.low <= soft.mean <= soft.high  # doctest: +SKIP
    True
    """

    mean: float
    low: float
    high: float
    numbers: Mapping[str, float]
    chosen: StudentCell
    parameters: int

    def to_dict(self) -> dict[str, Any]:
        """The arm as JSON values."""
        return {
            "mean": self.mean, "low": self.low, "high": self.high, **self.numbers,
            "parameters": self.parameters,
            "probabilities_are": PROBABILITIES,
            "chosen": self.chosen.model_dump(include=set(CHOSEN)),
        }  # fmt: skip


@dataclass(frozen=True)
class ArmComparison:
    """One arm of a `Verdict` against another, at the level of the last look divided among the comparisons.

    Attributes
    ----------
    first, second : str
        The arms.
    mean, low, high : float
        First − second in points of the metric, with its interval.
    verdict : str
        The answer in words.

    Examples
    --------
    >>> import softlabel as sl
    >>> comparison = sl.ArmComparison("soft", "smooth", mean=0.4, low=-0.2, high=1.0, verdict="undecided")
    >>> comparison.high - comparison.low
    1.2
    """

    first: Arm
    second: Arm
    mean: float
    low: float
    high: float
    verdict: str


@dataclass(eq=False, repr=False)
class Verdict(StudyResult):
    """Whether to distill; `plot` shows the gap as seeds were added, and the metric of every student.

    Attributes
    ----------
    verdict : {"soft wins", "no difference", "hard wins", "undecided"}
        "no difference" means that the interval lies within the equivalence range.
    gap : Interval
        Soft − hard in points of the metric.
    arms : dict of str to ArmResult
        "hard", "soft", "smooth" and, with unlabeled rows, "transfer" or, with synthetic ones, "augmented".
    runs : int
        Number of paired seeds.
    runs_needed : int or None
        Seeds that would decide if gap and spread stay as they are; None where it is decided, or where no number would.
    report : path
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.VerdictOptions(epochs=2)
    >>> result = sl.verdict(X, X[:, 0] > 0, teacher, width=2, seeds=4, options=options)
    >>> result.verdict in ("soft wins", "no difference", "hard wins", "undecided")
    True
    >>> result.gap.low <= result.gap.mean <= result.gap.high
    True
    """

    headlines = 1

    settings: VerdictSettings
    facts: Mapping[str, Any]
    history: tuple[InterimAnalysis, ...]
    arms: Mapping[Arm, ArmResult]
    comparisons: tuple[ArmComparison, ...]
    scores: Mapping[Arm, np.ndarray] = field(repr=False)
    lengths: tuple[TrainingLength, ...] = ()

    @classmethod
    def from_results(cls, settings: VerdictSettings, results: StageResults, facts: Mapping[str, Any]) -> "Verdict":
        """The verdict that the results of all stages give."""
        scores = arm_scores(settings, results)
        history = analyses(settings, scores)
        pairs = [pair for pair in PAIRS if set(pair) <= set(settings.arms)]
        failure = history[-1].look.failure / len(pairs)
        return cls(
            settings=settings,
            facts=facts,
            history=tuple(history),
            arms=_arm_results(settings, results, scores),
            comparisons=tuple(_compare(settings, scores, pair, failure) for pair in pairs),
            scores={arm: table.mean(1) for arm, table in scores.items()},
            lengths=tuple(training_length(settings.recipe, results, fold) for fold in range(settings.fold_count)),
        )

    @property
    def analysis(self) -> InterimAnalysis:
        """The analysis at the last look."""
        return self.history[-1]

    @property
    def verdict(self) -> str:
        return self.analysis.verdict

    @property
    def gap(self) -> Interval:
        return Interval(self.analysis.gap.mean, self.analysis.low, self.analysis.high, self.runs)

    @property
    def runs(self) -> int:
        return self.analysis.gap.runs

    @property
    def runs_needed(self) -> int | None:
        return self.analysis.needed

    @property
    def size(self) -> SizeComparison:
        """Parameters of a student compared with those of the teacher."""
        return SizeComparison(self.arms["soft"].parameters, (self.facts.get("teacher") or {}).get("parameters"))

    @property
    def size_warning(self) -> str | None:
        """A sentence where the student is not smaller than the teacher."""
        return self.size.warning(f"a student {self.settings.family.phrase(self.settings.width)}")

    @property
    def teacher_metric(self) -> float | None:
        """The teacher's metric on the test rows; None where it does not predict all of them."""
        score = self.facts.get("teacher_metric")
        return None if score is None else self.settings.metric_value(score)

    @property
    def warnings(self) -> list[str]:
        """Warnings about sizes, training, data and teacher."""
        own = [warning for warning in (self.size_warning, self.length_warning) if warning is not None]
        return [*own, *self.facts.get("warnings", [])]

    @property
    def length_warning(self) -> str | None:
        """A sentence where students were still getting better when their training ended."""
        return length_warning(self.lengths)

    @property
    def summary(self) -> list[str]:
        return summary(self)

    def to_dict(self) -> dict[str, Any]:
        at = self.analysis
        return {
            "verdict": at.verdict,
            "gap": self.gap.to_dict() | {"failure": at.look.failure},
            "arms": {arm: result.to_dict() for arm, result in self.arms.items()},
            "runs": self.runs,
            "runs_needed": at.needed,
            "test_rows_needed": at.rows,
            "test_rows": {"rows": self.settings.test_rows, "half_width": at.examples, "needed": at.rows},
            "metric": self.settings.metric,
            "equivalence": self.settings.equivalence,
            "method": METHOD,
            "looks": [
                {"seeds": look.look.seeds, "mean": look.gap.mean, "low": look.low, "high": look.high,
                 "verdict": look.verdict}
                for look in self.history
            ],
            "comparisons": [vars(comparison) for comparison in self.comparisons],
            "teacher": {"metric": self.teacher_metric, **self.facts.get("teacher", {})},
            "size": self.size.to_dict(),
            "audit": self.facts.get("audit"),
            "theory": self.facts.get("theory"),
            "cross_test": {"folds": len(self.settings.fold_rows)} if self.settings.fold_rows else None,
            "epochs": [one.to_dict() for one in self.lengths],
            "columns": self.facts.get("columns", []),
            "warnings": self.warnings,
            "settings": self.settings.model_dump(mode="json"),
            "report": None if self.report is None else str(self.report),
        }  # fmt: skip

    def page(self) -> Page:
        from softlabel.studies.verdict.page import verdict_page

        return verdict_page(self)


def _arm_results(
    settings: VerdictSettings, results: StageResults, scores: Mapping[Arm, np.ndarray]
) -> dict[Arm, ArmResult]:
    chosen = chosen_settings(settings, results)
    by_cell = [pair for look in settings.looks for pair in results[look_name(look)]]
    failure = 1 - settings.confidence
    arms: dict[Arm, ArmResult] = {}
    for arm in settings.arms:
        metrics = [result.metrics for cell, result in by_cell if cell.arm == arm]
        means = {name: float(np.mean([one[name] for one in metrics])) for name in MEANS if name in metrics[0]}
        means["validation"] = settings.metric_value(means["validation"])
        estimate = settings.hidden.widen(_mean(settings, scores[arm]), failure, unit=100)
        low, high = sorted(settings.metric_value(end) for end in estimate.interval(settings.confidence))
        if settings.metric != "log loss":  # a share
            low, high = max(low, 0.0), min(high, 1.0)
        mean = settings.metric_value(estimate.mean)
        arms[arm] = ArmResult(mean, low, high, means, chosen[arm], int(metrics[0]["parameters"]))
    return arms


def _mean(settings: VerdictSettings, table: np.ndarray) -> Estimate:
    """The mean of a table (seeds, examples) with the error that one test part or cross-testing leaves."""
    return crossed_mean(table) if settings.folds is None else cross_tested_mean(table, settings.folds)


def _compare(
    settings: VerdictSettings, scores: Mapping[Arm, np.ndarray], pair: tuple[Arm, Arm], failure: float
) -> ArmComparison:
    gap = settings.hidden.widen(_mean(settings, 100 * (scores[pair[0]] - scores[pair[1]])), failure)
    low, high = gap.interval(1 - failure)
    word = judge(low, high, settings.equivalence)
    names = {"soft wins": f"{pair[0]} wins", "hard wins": f"{pair[1]} wins"}
    return ArmComparison(*pair, gap.mean, low, high, names.get(word, word))
