"""Verdict as a study: settings, stages, result and page."""

from collections.abc import Mapping
from typing import Any

from softlabel.lab import Facts, Stage, StageResults, Study
from softlabel.report.page import Page
from softlabel.studies.verdict.cells import verdict_stages
from softlabel.studies.verdict.page import verdict_page
from softlabel.studies.verdict.result import Verdict
from softlabel.studies.verdict.settings import VerdictSettings


class VerdictStudy(Study[VerdictSettings, Verdict]):
    """Do students of one width learn more from soft labels than from hard ones?"""

    name = "verdict"
    settings_type = VerdictSettings

    @property
    def stages(self) -> tuple[Stage, ...]:
        return verdict_stages(self.settings)

    def judge(self, results: StageResults, facts: Facts) -> Verdict:
        return Verdict.from_results(self.settings, results, facts)

    def page(self, result: Verdict, environment: Mapping[str, Any] | None, command: str) -> Page:
        return verdict_page(result, environment, command)
