"""Verdict as a study: settings, stages, result and page."""

from softlabel.lab import Bundle, Facts, Stage, StageResults, Study
from softlabel.studies.students import epochs
from softlabel.studies.students.costs import seeds_cost, student_cost
from softlabel.studies.verdict.cells import look_name, verdict_stages
from softlabel.studies.verdict.result import Verdict
from softlabel.studies.verdict.settings import VerdictSettings


class VerdictStudy(Study[VerdictSettings, Verdict]):
    """Do students of one width learn more from soft labels than from hard ones?"""

    name = "verdict"
    settings_type = VerdictSettings

    @property
    def stages(self) -> tuple[Stage, ...]:
        return verdict_stages(self.settings)

    def cost(self, bundle: Bundle) -> float:
        return student_cost(bundle, self.settings.recipe.epochs)

    def expected_costs(self, results: StageResults) -> dict[str, float]:
        """Every planned look counts, although an early one may decide."""
        settings = self.settings
        choice = self.stages[0]
        costs = {choice.name: sum(map(self.cost, choice.bundles(settings, StageResults())))}
        before = 0
        for look in settings.looks:
            longer = epochs.training_length(settings.recipe, results).epochs / settings.recipe.epochs
            sizes = longer * settings.width * len(settings.arms)
            costs[look_name(look)] = settings.fold_count * seeds_cost(look.seeds - before, sizes)
            before = look.seeds
        return costs

    def judge(self, results: StageResults, facts: Facts) -> Verdict:
        return Verdict.from_results(self.settings, results, facts)
