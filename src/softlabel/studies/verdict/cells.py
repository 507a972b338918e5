"""The stages of a verdict: settings are chosen on validation rows, then one stage for every planned look.

A look's students are trained only if the looks before it left the question open, so which bundles there are depends on
settings and outcomes alone, and a run that is taken up again goes the same way.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from softlabel.lab import Bundle, Given, Outcome, Results, Stage, Study
from softlabel.lab.sequential import Look, Standing, follow, planned_looks
from softlabel.studies.practice import (
    TOGETHER,
    TUNING_SEEDS_FROM,
    Arm,
    StudentCell,
    best_choice,
    choices,
    find_held,
    measure_students,
    train_cells,
)
from softlabel.studies.practice.students import course_numbers
from softlabel.studies.verdict.settings import VerdictSettings

BUNDLE_NEURONS = 4_000


def study(settings: VerdictSettings) -> Study:
    """The study with these settings."""
    looks = planned_looks(settings.seeds, settings.confidence)
    return Study(
        "verdict",
        settings,
        (
            Stage("choose", choice_bundles, train),
            *(Stage(look_name(look), partial(look_bundles, look), train) for look in looks),
        ),
    )


def look_name(look: Look) -> str:
    return f"look at {look.seeds} seeds"


def choice_bundles(settings: VerdictSettings, results: Results) -> list[Bundle]:
    """Every setting that an arm may choose, on seeds of their own."""
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


def chosen_settings(settings: VerdictSettings, results: Results) -> dict[Arm, StudentCell]:
    """For each arm the settings with the best mean metric on validation rows."""
    tried = [(cell, outcome.metrics["metric"]) for cell, outcome in results["choose"]]
    return {arm: best_choice(pair for pair in tried if pair[0].arm == arm) for arm in settings.arms}


def look_bundles(look: Look, settings: VerdictSettings, results: Results) -> list[Bundle]:
    """The students that a look adds to those before it; none where the question is settled."""
    looks = planned_looks(settings.seeds, settings.confidence)
    place = looks.index(look)
    before = 0 if place == 0 else looks[place - 1].seeds
    if place and (latest_standing(settings, results, looks[:place])).settled:
        return []
    chosen = chosen_settings(settings, results)
    bundles = []
    for first in range(before, look.seeds, TOGETHER):
        seeds = range(settings.seed + first, settings.seed + min(first + TOGETHER, look.seeds))
        cells = tuple(
            chosen[arm].model_copy(update={"stage": "test", "seed": seed}) for arm in settings.arms for seed in seeds
        )
        bundles.append(Bundle(f"seeds {seeds[0]}…{seeds[-1]}", cells))
    return bundles


def arm_scores(settings: VerdictSettings, results: Results) -> dict[Arm, np.ndarray]:
    """Test scores so far, (seeds, examples) for each arm, seeds in order."""
    found: dict[Arm, dict[int, np.ndarray]] = {arm: {} for arm in settings.arms}
    for look in planned_looks(settings.seeds, settings.confidence):
        for cell, outcome in results[look_name(look)]:
            found[cell.arm][cell.seed] = outcome.arrays["scores"].astype(np.float64)
    return {arm: np.array([scores[seed] for seed in sorted(scores)]) for arm, scores in found.items()}


def latest_standing(settings: VerdictSettings, results: Results, looks: Sequence[Look]) -> Standing:
    """How soft against hard stands after the looks so far."""
    scores = arm_scores(settings, results)
    return follow(looks, scores["soft"], scores["hard"], settings.margin, settings.hidden)


def train(settings: VerdictSettings, cells: Sequence[StudentCell], given: Given) -> list[Outcome]:
    """Train a bundle's students; only those of the looks are shown test rows."""
    held = find_held(settings.held)
    outcomes: list[Outcome] = []
    together = max(1, BUNDLE_NEURONS // settings.width)
    for first in range(0, len(cells), together):
        for measured in train_cells(held, settings.recipe, cells[first : first + together], cells[0].seed):
            part = "validation" if measured.cell.stage == "choose" else "test"
            numbers, scores = measure_students(held, measured, settings.metric, part)
            arrays = {}
            if part == "test":
                chosen, _ = measure_students(held, measured, settings.metric, "validation")
                numbers["validation"] = chosen["metric"]
                arrays = {"scores": scores.astype(np.float32)}
            outcomes.append(Outcome(numbers | course_numbers(measured), arrays))
    return outcomes
