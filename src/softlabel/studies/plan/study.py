"""Plan as a study: settings, stages, result and page."""

from pathlib import Path
from typing import Any

from softlabel.lab import CellArrays, Facts, Stage, StageResults, Study
from softlabel.studies.plan.cells import plan_stages
from softlabel.studies.plan.export import export_planned
from softlabel.studies.plan.result import Plan
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.students.taught_problem import ARTIFACT, TaughtProblem


class PlanStudy(Study[PlanSettings, Plan]):
    """How small can the student be?"""

    name = "plan"
    settings_type = PlanSettings

    @property
    def stages(self) -> tuple[Stage, ...]:
        return plan_stages(self.settings)

    def judge(self, results: StageResults, facts: Facts) -> Plan:
        return Plan(self.settings, results, facts)

    def afterwards(self, result: Plan, artifacts: CellArrays, run_dir: Path) -> dict[str, Any]:
        return export_planned(result, TaughtProblem.from_arrays(artifacts[ARTIFACT]), run_dir)
