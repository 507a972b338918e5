"""A study of conditions: a question, its conditions, and its primary endpoint."""

from abc import abstractmethod
from typing import ClassVar

from softlabel.errors import require
from softlabel.lab.cells import Stage, StageResults
from softlabel.lab.statistics import Interval
from softlabel.lab.study import Facts, Study
from softlabel.studies.conditions.cells import choice_bundles, final_bundles, teacher_bundles
from softlabel.studies.conditions.margins import CERTIFY, certify_margins, margin_bundles
from softlabel.studies.conditions.result import ConditionsResult, Endpoint
from softlabel.studies.conditions.settings import ConditionsSettings
from softlabel.studies.conditions.training import train, train_teachers


class ConditionsStudy(Study[ConditionsSettings, ConditionsResult]):
    """Base class of studies that compare hard and soft labels under conditions.

    A subclass has a docstring with its question, primary endpoint and analysis, written before it ran; a `title`, a
    `question`, the name of its `axis`, presets, `endpoints` and `answer`.
    """

    settings_type = ConditionsSettings
    title: ClassVar[str]
    question: ClassVar[str]
    axis: ClassVar[str] = ""
    log_axis: ClassVar[bool] = False
    fewest_runs: ClassVar[int] = 2

    def __init__(self, settings: ConditionsSettings) -> None:
        super().__init__(settings)
        for one in settings.conditions:
            require(
                not self.log_axis or one.position is None or one.position > 0,
                f"condition '{one.name}': `position` must be positive on a logarithmic axis, got {one.position}",
            )
        self.endpoints(settings)  # raises where the conditions cannot answer the question
        require(
            settings.runs >= self.fewest_runs,
            f"'{self.name}' needs at least {self.fewest_runs} runs, got {settings.runs}",
        )

    @abstractmethod
    def endpoints(self, settings: ConditionsSettings) -> list[Endpoint]:
        """The primary endpoint, and others after it."""

    def ratios(self, result: ConditionsResult) -> dict[str, Interval]:
        """Endpoints that are no weighted sums, by name; they precede the others."""
        return {}

    @abstractmethod
    def answer(self, result: ConditionsResult) -> str:
        """The answer in one sentence, from the primary endpoint."""

    def remarks(self, result: ConditionsResult) -> list[str]:
        """Further sentences."""
        return []

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Training of the teachers, choice of the settings on validation data, test on new seeds; margins, if set."""
        training = (
            Stage("teach", teacher_bundles, train_teachers),
            Stage("choose", choice_bundles, train),
            Stage("test", final_bundles, train),
        )
        if self.settings.margins is None:
            return training
        return (*training, Stage(CERTIFY, margin_bundles, certify_margins))

    def judge(self, results: StageResults, facts: Facts) -> ConditionsResult:
        """Gaps and endpoints with their intervals, from the results of the cells."""
        return ConditionsResult(self, results)
