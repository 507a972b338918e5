"""Verdict as a study: settings, stages, result and page."""

from softlabel.lab import Facts, Stage, StageResults, Study
from softlabel.studies.verdict.cells import verdict_stages
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
