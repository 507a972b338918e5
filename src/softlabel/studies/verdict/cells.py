"""The stages of a verdict: settings are chosen on validation rows, then one stage for every planned look.

A look's students are trained only if the looks before it left the question open, so the bundles depend on settings and
results alone, and a resumed run continues in the same way.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from softlabel.lab import Bundle, CellArrays, CellResult, Stage, StageResults
from softlabel.lab.sequential import InterimAnalysis, Look, follow
from softlabel.studies.students.recipe import TOGETHER, TUNING_SEEDS_FROM, Arm, StudentCell, best_choice, choices
from softlabel.studies.students.taught_problem import ARTIFACT, TaughtProblem
from softlabel.studies.students.training import course_numbers, measure_students, train_cells
from softlabel.studies.verdict.settings import VerdictSettings

BUNDLE_NEURONS = 4_000


def verdict_stages(settings: VerdictSettings) -> tuple[Stage, ...]:
    """The choice of settings, and one stage for every planned look."""
    looks = (Stage(look_name(look), partial(look_bundles, look), train) for look in settings.looks)
    return (Stage("choose", choice_bundles, train), *looks)


def look_name(look: Look) -> str:
    return f"look at {look.seeds} seeds"


def choice_bundles(settings: VerdictSettings, results: StageResults) -> list[Bundle]:
    """Every setting that an arm can choose, on seeds that are used for nothing else."""
    first = settings.seed + TUNING_SEEDS_FROM
    return [
        Bundle(
            f"{arm} labels, choice of settings",
            tuple(
                StudentCell(stage="choose", arm=arm, width=settings.width, seed=seed, **choice)  # type: ignore[arg-type]
                for seed in range(first, first + settings.recipe.tuning_seeds)
                for choice in choices(settings.recipe, arm)
            ),
        )
        for arm in settings.arms
    ]


def chosen_settings(settings: VerdictSettings, results: StageResults) -> dict[Arm, StudentCell]:
    """For each arm the settings with the best mean metric on validation rows."""
    tried = [(cell, result.metrics["metric"]) for cell, result in results["choose"]]
    return {arm: best_choice(pair for pair in tried if pair[0].arm == arm) for arm in settings.arms}


def look_bundles(look: Look, settings: VerdictSettings, results: StageResults) -> list[Bundle]:
    """The students that a look adds to those before it; none where the question is settled."""
    history = analyses(settings, arm_scores(settings, results))
    if history and history[-1].settled:
        return []
    before = history[-1].look.seeds if history else 0
    chosen = chosen_settings(settings, results)
    bundles = []
    for first in range(before, look.seeds, TOGETHER):
        seeds = range(settings.seed + first, settings.seed + min(first + TOGETHER, look.seeds))
        cells = tuple(
            chosen[arm].model_copy(update={"stage": "test", "seed": seed}) for arm in settings.arms for seed in seeds
        )
        bundles.append(Bundle(f"seeds {seeds[0]}…{seeds[-1]}", cells))
    return bundles


def arm_scores(settings: VerdictSettings, results: StageResults) -> dict[Arm, np.ndarray]:
    """Test scores so far, (seeds, examples) for each arm, seeds in order."""
    by_arm: dict[Arm, dict[int, np.ndarray]] = {arm: {} for arm in settings.arms}
    for look in settings.looks:
        for cell, result in results[look_name(look)]:
            by_arm[cell.arm][cell.seed] = result.arrays["scores"].astype(np.float64)
    return {arm: np.array([scores[seed] for seed in sorted(scores)]) for arm, scores in by_arm.items()}


def analyses(settings: VerdictSettings, scores: Mapping[Arm, np.ndarray]) -> list[InterimAnalysis]:
    """The analyses of soft against hard at the looks so far."""
    return follow(settings.looks, scores["soft"], scores["hard"], settings.equivalence, settings.hidden)


def train(settings: VerdictSettings, cells: Sequence[StudentCell], arrays: CellArrays) -> list[CellResult]:
    """Train the students of a bundle; only those of the looks are evaluated on test rows."""
    problem = TaughtProblem.from_arrays(arrays[ARTIFACT])
    results: list[CellResult] = []
    together = max(1, BUNDLE_NEURONS // settings.width)
    for first in range(0, len(cells), together):
        for measured in train_cells(problem, settings.recipe, cells[first : first + together], cells[0].seed):
            part = "validation" if measured.cell.stage == "choose" else "test"
            numbers, scores = measure_students(problem, measured, settings.metric, part)
            kept = {}
            if part == "test":
                validation, _ = measure_students(problem, measured, settings.metric, "validation")
                numbers["validation"] = validation["metric"]
                kept = {"scores": scores.astype(np.float32)}
            results.append(CellResult(numbers | course_numbers(measured), kept))
    return results
