"""The result of a verdict: the gap at the last look, the metrics of every arm, and further comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.lab import Result, StageResults
from softlabel.lab.sequential import METHOD, InterimAnalysis, Look, analyze, planned_looks
from softlabel.lab.statistics import Estimate, crossed_mean, judge
from softlabel.report.notebook import result_html
from softlabel.studies.students.recipe import Arm, StudentCell
from softlabel.studies.students.sizes import SizeComparison
from softlabel.studies.verdict.cells import arm_scores, chosen_settings, latest_analysis, look_name
from softlabel.studies.verdict.sentences import summary
from softlabel.studies.verdict.settings import VerdictSettings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANS = ("accuracy", "log_loss", "calibration_error", "agreement", "kl", "validation")
PAIRS: tuple[tuple[Arm, Arm], ...] = (
    ("soft", "smooth"),
    ("smooth", "hard"),
    ("transfer", "soft"),
    ("transfer", "hard"),
)


@dataclass(frozen=True)
class Interval:
    """A number with its interval, such as the gap of a `Verdict`.

    Attributes
    ----------
    mean : float
        The estimate.
    low, high : float
        The ends of its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.VerdictOptions(epochs=2)
    >>> result = sl.verdict(X, X[:, 0] > 0, teacher, width=2, seeds=4, options=options)
    >>> gap = result.gap
    >>> gap.low <= gap.mean <= gap.high
    True
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class ArmResult:
    """One arm: its metric with an interval over seeds and test rows, means of other numbers, and its settings.

    Attributes
    ----------
    mean, low, high : float
        The metric, larger is better except for the log loss.
    numbers : dict
        Means over seeds of accuracy, log loss, calibration error, and agreement with the teacher.
    chosen : StudentCell
        The settings that were chosen on validation rows.
    parameters : int
        Parameters of a student.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.VerdictOptions(epochs=2)
    >>> result = sl.verdict(X, X[:, 0] > 0, teacher, width=2, seeds=4, options=options)
    >>> soft = result.arms["soft"]
    >>> soft.low <= soft.mean <= soft.high
    True
    >>> soft.parameters
    9
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
            "probabilities_are": self.chosen.softening.meaning,
            "chosen": {
                "learning_rate": self.chosen.learning_rate, "temperature": self.chosen.temperature,
                "smoothing": self.chosen.smoothing, "radius": self.chosen.radius,
            },
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
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.VerdictOptions(epochs=2)
    >>> result = sl.verdict(X, X[:, 0] > 0, teacher, width=2, seeds=4, options=options)
    >>> [(one.first, one.second) for one in result.comparisons]
    [('soft', 'smooth'), ('smooth', 'hard')]
    """

    first: Arm
    second: Arm
    mean: float
    low: float
    high: float
    verdict: str


@dataclass(eq=False, repr=False)
class Verdict(Result):
    """Whether to distill.

    Attributes
    ----------
    verdict : {"soft wins", "no difference", "hard wins", "undecided"}
        "no difference" means that the interval lies within the equivalence range.
    gap : Interval
        Soft − hard in points of the metric.
    arms : dict of str to ArmResult
        "hard", "soft", "smooth" and, with unlabeled rows, "transfer".
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

    settings: VerdictSettings
    facts: Mapping[str, Any]
    analysis: InterimAnalysis
    looks: tuple[Look, ...]
    history: tuple[InterimAnalysis, ...]
    arms: Mapping[Arm, ArmResult]
    comparisons: tuple[ArmComparison, ...]
    scores: Mapping[Arm, np.ndarray] = field(repr=False)

    @classmethod
    def from_results(cls, settings: VerdictSettings, results: StageResults, facts: Mapping[str, Any]) -> "Verdict":
        """The verdict that the results of all stages give."""
        looks = planned_looks(settings.seeds, settings.confidence)
        scores = arm_scores(settings, results)
        analysis = latest_analysis(settings, results, looks)
        pairs = [pair for pair in PAIRS if set(pair) <= set(settings.arms)]
        return cls(
            settings=settings,
            facts=facts,
            analysis=analysis,
            looks=looks,
            history=tuple(
                analyze(look, scores["soft"][: look.seeds], scores["hard"][: look.seeds], settings.equivalence,
                        settings.hidden)
                for look in looks
                if look.seeds <= len(scores["soft"])
            ),
            arms=_arm_results(settings, results, scores),
            comparisons=tuple(_compare(settings, scores, pair, analysis.look.failure / len(pairs)) for pair in pairs),
            scores={arm: table.mean(1) for arm, table in scores.items()},
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        return self.analysis.verdict

    @property
    def gap(self) -> Interval:
        return Interval(self.analysis.gap.mean, self.analysis.low, self.analysis.high)

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
        return self.size.warning(f"a student of {self.settings.width} neurons")

    @property
    def teacher_metric(self) -> float | None:
        """The teacher's metric on the test rows; None where it does not predict all of them."""
        return shown(self.settings, self.facts.get("teacher_metric"))

    @property
    def warnings(self) -> list[str]:
        """Warnings about sizes, data and teacher."""
        return [*([] if self.size_warning is None else [self.size_warning]), *self.facts.get("warnings", [])]

    @property
    def summary(self) -> list[str]:
        return summary(self)

    def to_dict(self) -> dict[str, Any]:
        at = self.analysis
        return {
            "verdict": at.verdict,
            "gap": {"mean": at.gap.mean, "low": at.low, "high": at.high, "failure": at.look.failure},
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
            "warnings": self.warnings,
            "settings": self.settings.model_dump(mode="json"),
            "report": None if self.report is None else str(self.report),
        }  # fmt: skip

    def plot(self) -> "Figure":
        """The gap as seeds were added, and the metric of every student."""
        from softlabel.report.drawing import chart_figure
        from softlabel.studies.verdict.page import verdict_chart

        return chart_figure(verdict_chart(self))

    def _repr_html_(self) -> str:
        from softlabel.studies.verdict.page import arms_table

        return result_html(self.summary[0], self.plot(), arms_table(self))


def _arm_results(
    settings: VerdictSettings, results: StageResults, scores: Mapping[Arm, np.ndarray]
) -> dict[Arm, ArmResult]:
    chosen = chosen_settings(settings, results)
    looks = planned_looks(settings.seeds, settings.confidence)
    by_cell = [pair for look in looks for pair in results[look_name(look)]]
    failure = 1 - settings.confidence
    arms: dict[Arm, ArmResult] = {}
    for arm in settings.arms:
        metrics = [result.metrics for cell, result in by_cell if cell.arm == arm]
        means = {name: float(np.mean([one[name] for one in metrics])) for name in MEANS if name in metrics[0]}
        means["validation"] = shown(settings, means["validation"]) or 0.0
        estimate = crossed_mean(scores[arm]).at_least(settings.hidden(failure) / 100, failure)
        low, high = _ends(settings, estimate)
        mean = shown(settings, estimate.mean) or 0.0
        arms[arm] = ArmResult(mean, low, high, means, chosen[arm], int(metrics[0]["parameters"]))
    return arms


def _compare(
    settings: VerdictSettings, scores: Mapping[Arm, np.ndarray], pair: tuple[Arm, Arm], failure: float
) -> ArmComparison:
    gap = crossed_mean(100 * (scores[pair[0]] - scores[pair[1]])).at_least(settings.hidden(failure), failure)
    low, high = gap.interval(1 - failure)
    word = judge(low, high, settings.equivalence)
    names = {"soft wins": f"{pair[0]} wins", "hard wins": f"{pair[1]} wins"}
    return ArmComparison(*pair, gap.mean, low, high, names.get(word, word))


def _ends(settings: VerdictSettings, estimate: Estimate) -> list[float]:
    """Both ends of the interval of an arm's metric; shares stay between 0 and 1."""
    ends = sorted(shown(settings, value) or 0.0 for value in estimate.interval(settings.confidence))
    return ends if settings.metric == "log loss" else [min(max(end, 0.0), 1.0) for end in ends]


def shown(settings: VerdictSettings, value: float | None) -> float | None:
    """The metric as users know it: scores of the log loss are its negative."""
    return -value if value is not None and settings.metric == "log loss" else value
