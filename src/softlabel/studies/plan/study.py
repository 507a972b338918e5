"""Plan as a study: settings, stages, result and page."""

import math
from pathlib import Path
from typing import Any

from softlabel.lab import Bundle, CellArrays, Facts, Stage, StageResults, Study
from softlabel.studies.plan.cells import ARMS, FINAL_SEEDS, candidate, plan_stages
from softlabel.studies.plan.export import export_planned
from softlabel.studies.plan.result import Plan
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.students import epochs
from softlabel.studies.students.costs import seeds_cost, student_cost
from softlabel.studies.students.taught_problem import ARTIFACT, TaughtProblem

BYTES = 4  # of a weight: a rival with 8-bit weights is about this many times as wide as the planned student


class PlanStudy(Study[PlanSettings, Plan]):
    """How small can the student be?"""

    name = "plan"
    settings_type = PlanSettings

    @property
    def stages(self) -> tuple[Stage, ...]:
        return plan_stages(self.settings)

    def cost(self, bundle: Bundle) -> float:
        return student_cost(bundle, self.settings.recipe.epochs)

    def expected_costs(self, results: StageResults) -> dict[str, float]:
        """Every bisection and every attempt of a confirmation counts, although most runs need fewer."""
        settings, widths = self.settings, self.settings.widths
        choice = self.stages[0]
        costs = {choice.name: sum(map(self.cost, choice.bundles(settings, StageResults())))}
        middle = math.sqrt(widths[0] * widths[-1])
        likely = {arm: candidate(settings, results, arm) or 0 for arm in ARMS} if results["ladder"] else {}
        longer = epochs.training_length(settings.recipe, results).epochs / settings.recipe.epochs
        both = longer * sum(likely.get(arm, middle) for arm in ARMS)
        seeds = {"ladder": settings.seeds, "bisect": settings.seeds, "confirm": settings.confirm, "final": FINAL_SEEDS}
        for stage in self.stages[1:]:
            kind = stage.name.split()[0]
            if kind == epochs.STAGE:
                continue  # how many there are is not known before
            if kind == "rival":
                costs[stage.name] = seeds_cost(settings.seeds, BYTES * likely.get("soft", middle))
            else:
                costs[stage.name] = seeds_cost(
                    seeds.get(kind, settings.seeds), 2 * longer * sum(widths) if kind == "ladder" else both
                )
        return costs

    def judge(self, results: StageResults, facts: Facts) -> Plan:
        return Plan(self.settings, results, facts)

    def afterwards(self, result: Plan, artifacts: CellArrays, run_dir: Path) -> dict[str, Any]:
        return export_planned(result, TaughtProblem.from_arrays(artifacts[ARTIFACT]), run_dir)
