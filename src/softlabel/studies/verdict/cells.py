"""The stages of a verdict, in every fold: settings and the number of epochs are chosen on validation rows, then one
stage for every planned look.

A look's students are trained only if the looks before it left the question open, so the bundles depend on settings and
results alone, and a resumed run continues in the same way.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from softlabel.lab import Bundle, CellArrays, CellResult, Stage, StageResults
from softlabel.lab.sequential import InterimAnalysis, Look, follow
from softlabel.studies.students import epochs
from softlabel.studies.students.families import FamilyStudent
from softlabel.studies.students.measures import measured
from softlabel.studies.students.recipe import TOGETHER, TUNING_SEEDS_FROM, Arm, Recipe, StudentCell, best_choice
from softlabel.studies.students.taught_problem import TaughtProblem, artifact_name
from softlabel.studies.verdict.settings import VerdictSettings

TRAINED_TOGETHER = 4_000.0  # neurons of a bundle that share one stack of weights


def verdict_stages(settings: VerdictSettings) -> tuple[Stage, ...]:
    """The choice of settings, that of the number of epochs, and one stage for every planned look."""
    longer = (
        Stage(name, partial(epoch_bundles, k), train)
        for k, name in enumerate(epochs.epoch_stages(settings.recipe), start=1)
    )
    looks = (Stage(look_name(look), partial(look_bundles, look), train) for look in settings.looks)
    return (Stage("choose", choice_bundles, train), *longer, *looks)


def look_name(look: Look) -> str:
    return f"look at {look.seeds} seeds"


def choice_bundles(settings: VerdictSettings, results: StageResults) -> list[Bundle]:
    """Every setting that an arm can choose, on seeds that are used for nothing else."""
    first = settings.seed + TUNING_SEEDS_FROM
    bundles = []
    for fold in range(settings.fold_count):
        for arm in settings.arms:
            cells = [
                StudentCell(stage="choose", arm=arm, width=settings.width, seed=seed, fold=fold, **choice)
                for seed in range(first, first + settings.recipe.tuning_seeds)
                for choice in settings.family.choices(settings.recipe, arm)
            ]
            bundles += _bundles(settings, f"{arm} labels, choice of settings", fold, cells)
    return bundles


def _bundles(settings: VerdictSettings, name: str, fold: int, cells: Sequence[StudentCell]) -> list[Bundle]:
    """One bundle of cells, or one for each cell where students of the family are trained alone."""
    if settings.fold_count > 1:
        name = f"fold {fold + 1}, {name}"
    if settings.family.bundle > 0 or not cells:
        return [Bundle(name, tuple(cells))] if cells else []
    return [Bundle(f"{name}, {cell.arm} {cell.seed} {k}", (cell,)) for k, cell in enumerate(cells, start=1)]


def epoch_bundles(k: int, settings: VerdictSettings, results: StageResults) -> list[Bundle]:
    """The students of the k-th doubling of the number of epochs."""
    bundles = []
    for fold in range(settings.fold_count):
        chosen = list(chosen_settings(settings, results, fold).values())
        cells = epochs.epoch_cells(settings.recipe, k, results, chosen, settings.seed, fold)
        bundles += _bundles(settings, f"epochs, doubling {k}", fold, cells)
    return bundles


def chosen_settings(settings: VerdictSettings, results: StageResults, fold: int = 0) -> dict[Arm, StudentCell]:
    """For each arm the settings with the best mean metric on a fold's validation rows."""
    tried = [(cell, result.metrics["metric"]) for cell, result in results["choose"] if cell.fold == fold]
    return {arm: best_choice(pair for pair in tried if pair[0].arm == arm) for arm in settings.arms}


def look_bundles(look: Look, settings: VerdictSettings, results: StageResults) -> list[Bundle]:
    """The students that a look adds to those before it; none where the question is settled."""
    history = analyses(settings, arm_scores(settings, results))
    if history and history[-1].settled:
        return []
    before = history[-1].look.seeds if history else 0
    bundles = []
    for fold in range(settings.fold_count):
        chosen = chosen_settings(settings, results, fold)
        length = epochs.training_length(settings.recipe, results, fold).epochs
        number = None if length == settings.recipe.epochs else length
        for first in range(before, look.seeds, TOGETHER):
            seeds = range(settings.seed + first, settings.seed + min(first + TOGETHER, look.seeds))
            cells = [
                chosen[arm].model_copy(update={"stage": "test", "seed": seed, "epochs": number})
                for arm in settings.arms
                for seed in seeds
            ]
            bundles += _bundles(settings, f"seeds {seeds[0]}…{seeds[-1]}", fold, cells)
    return bundles


def arm_scores(settings: VerdictSettings, results: StageResults) -> dict[Arm, np.ndarray]:
    """Test scores so far, (seeds, examples) for each arm, seeds in order; examples of all folds, one after another."""
    by_arm: dict[Arm, dict[int, dict[int, np.ndarray]]] = {arm: {} for arm in settings.arms}
    for look in settings.looks:
        for cell, result in results[look_name(look)]:
            scores = result.arrays["scores"].astype(np.float64)
            by_arm[cell.arm].setdefault(cell.seed, {})[cell.fold] = scores
    return {
        arm: np.array([np.concatenate([folds[fold] for fold in sorted(folds)]) for _, folds in sorted(seeds.items())])
        for arm, seeds in by_arm.items()
    }


def analyses(settings: VerdictSettings, scores: Mapping[Arm, np.ndarray]) -> list[InterimAnalysis]:
    """The analyses of soft against hard at the looks so far."""
    return follow(settings.looks, scores["soft"], scores["hard"], settings.equivalence, settings.hidden, settings.folds)


def train(settings: VerdictSettings, cells: Sequence[StudentCell], arrays: CellArrays) -> list[CellResult]:
    """Train the students of a bundle; only those of the looks are evaluated on test rows."""
    problem = TaughtProblem.from_arrays(arrays[artifact_name(cells[0].fold, settings.fold_count)])
    family = settings.family

    def trained(recipe: Recipe, some: list[StudentCell]) -> list[FamilyStudent]:
        parts = family.bundles(some, TRAINED_TOGETHER)
        return [student for part in parts for student in family.train(problem, recipe, part)]

    return [_result(settings, problem, student) for student in epochs.by_epochs(settings.recipe, list(cells), trained)]


def _result(settings: VerdictSettings, problem: TaughtProblem, student: FamilyStudent) -> CellResult:
    """What is stored of a student: validation numbers where settings are chosen, otherwise test numbers and scores."""
    if student.cell.stage in ("choose", epochs.STAGE):
        numbers, _ = measured(problem, student, settings.metric, "validation")
        return CellResult(numbers | {"validation": numbers["metric"]} | student.records)
    numbers, scores = measured(problem, student, settings.metric, "test")
    validation, _ = measured(problem, student, settings.metric, "validation")
    numbers["validation"] = validation["metric"]
    return CellResult(numbers | student.records, {"scores": scores.astype(np.float32)})
