"""What a verdict's results say: the gap at the last look, every arm's numbers, and comparisons on the side."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.lab import Results
from softlabel.lab.sequential import planned_looks, standing
from softlabel.lab.statistics import Mean, crossed_mean, judge
from softlabel.studies.practice import Arm, SizeComparison, StudentCell
from softlabel.studies.verdict.cells import arm_scores, chosen_settings, latest_standing, look_name
from softlabel.studies.verdict.settings import VerdictSettings

MEANT = ("accuracy", "log_loss", "calibration_error", "agreement", "kl", "validation")


@dataclass(frozen=True)
class ArmFound:
    """One arm: its metric over seeds and test rows, other numbers (means over seeds), and what it chose."""

    metric: Mean
    numbers: dict[str, float]
    chosen: StudentCell
    parameters: int


@dataclass(frozen=True)
class Comparison:
    """One arm against another, in points, at the level of the last look shared by all comparisons."""

    first: Arm
    second: Arm
    mean: float
    low: float
    high: float
    verdict: str


class Judgement:
    """The verdict; `facts` hold what was known before any training: audit, costs, theory, warnings."""

    def __init__(self, settings: VerdictSettings, results: Results, facts: dict[str, Any] | None = None) -> None:
        self.settings, self.facts = settings, facts or {}
        self.looks = planned_looks(settings.seeds, settings.confidence)
        self.standing = latest_standing(settings, results, self.looks)
        scores = arm_scores(settings, results)
        self.scores = {arm: table.mean(1) for arm, table in scores.items()}  # seed by seed
        chosen = chosen_settings(settings, results)
        outcomes = [pair for look in self.looks for pair in results[look_name(look)]]
        self.arms: dict[Arm, ArmFound] = {}
        for arm in settings.arms:
            numbers = [outcome.metrics for cell, outcome in outcomes if cell.arm == arm]
            means = {name: float(np.mean([n[name] for n in numbers])) for name in MEANT if name in numbers[0]}
            failure = 1 - settings.confidence
            mean = crossed_mean(scores[arm]).at_least(settings.hidden(failure) / 100, failure)
            self.arms[arm] = ArmFound(mean, means, chosen[arm], int(numbers[0]["parameters"]))
        self.history = [
            standing(look, scores["soft"][: look.seeds], scores["hard"][: look.seeds], settings.margin, settings.hidden)
            for look in self.looks
            if look.seeds <= len(scores["soft"])
        ]
        pairs: list[tuple[Arm, Arm]] = [
            ("soft", "smooth"),
            ("smooth", "hard"),
            ("transfer", "soft"),
            ("transfer", "hard"),
        ]
        pairs = [pair for pair in pairs if set(pair) <= set(settings.arms)]
        self.comparisons = [self._compare(scores, pair, len(pairs)) for pair in pairs]

    def _compare(self, scores: dict[Arm, np.ndarray], pair: tuple[Arm, Arm], pairs: int) -> Comparison:
        """Judged at the last look's level, divided among the comparisons."""
        failure = self.standing.look.failure / pairs
        gap = crossed_mean(100 * (scores[pair[0]] - scores[pair[1]])).at_least(self.settings.hidden(failure), failure)
        low, high = gap.interval(1 - failure)
        word = judge(low, high, self.settings.margin)
        names = {"soft wins": f"{pair[0]} wins", "hard wins": f"{pair[1]} wins"}
        return Comparison(*pair, gap.value, low, high, names.get(word, word))

    @property
    def runs(self) -> int:
        return self.standing.gap.runs

    @property
    def size(self) -> SizeComparison:
        """Parameters of a student against those of the teacher."""
        teacher = self.facts.get("teacher") or {}
        return SizeComparison(self.arms["soft"].parameters, teacher.get("parameters"))

    @property
    def size_warning(self) -> str | None:
        return self.size.warning(f"a student of {self.settings.width} neurons")

    @property
    def teacher_score(self) -> float | None:
        """The teacher's own metric on the test rows."""
        return self.facts.get("teacher_metric")
