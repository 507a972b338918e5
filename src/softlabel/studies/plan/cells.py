"""The stages of a plan.

    choose      learning rate and temperature (and radius) of each arm on validation rows, at up to four widths of the
                ladder; every width takes what was best at the nearest of them
    epochs      how long students are trained: twice as long, as long as they gain by it on validation rows
    ladder      every width and arm, some seeds
    bisect      between the candidate and the width below it, again and again
    confirm     fresh students of the candidate, and of wider ones where it fails (or `final`: some to export)
    rival       hard-label students whose 8-bit weights take as many bytes as the planned soft student

Widths are judged on test rows; everything else is chosen on validation rows, including the exported student.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from softlabel.lab import Bundle, CellArrays, CellResult, Stage, StageResults
from softlabel.lab.scores import example_scores
from softlabel.studies.plan.quantize import float_bytes, quantized, quantized_width
from softlabel.studies.plan.search import (
    ATTEMPTS,
    allowed_misses,
    attempt_widths,
    next_width,
    smallest_passing,
    tolerance_limit,
)
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.students import epochs
from softlabel.studies.students.families import FamilyStudent
from softlabel.studies.students.families.two_layer import network_from
from softlabel.studies.students.measures import probability_metrics
from softlabel.studies.students.recipe import TOGETHER, TUNING_SEEDS_FROM, Arm, StudentCell, best_choice
from softlabel.studies.students.taught_problem import ARTIFACT, TaughtProblem
from softlabel.studies.students.training import probabilities

ARMS: tuple[Arm, ...] = ("hard", "soft")
CONFIRM_SEEDS_FROM, RIVAL_SEEDS_FROM = 2_000_000, 3_000_000
KEPT = ("confirm", "final")  # stages whose best student is stored
FINAL_SEEDS = 3


def plan_stages(settings: PlanSettings) -> tuple[Stage, ...]:
    """The stages that these settings ask for."""
    stages = [Stage("choose", choice_bundles, train)]
    longer = enumerate(epochs.epoch_stages(settings.recipe), start=1)
    stages += [Stage(name, partial(epoch_bundles, k), train) for k, name in longer]
    stages.append(Stage("ladder", ladder_bundles, train))
    stages += [Stage(f"bisect {k}", partial(bisect_bundles, k), train) for k in range(1, settings.bisections + 1)]
    if settings.confirm:
        stages += [Stage(f"confirm {k}", partial(confirm_bundles, k), train) for k in range(1, ATTEMPTS + 1)]
    else:
        stages.append(Stage("final", final_bundles, train))
    if settings.rival and settings.student == "two-layer":
        stages.append(Stage("rival", rival_bundles, train_rivals))
    return tuple(stages)


def tuned_widths(settings: PlanSettings) -> list[int]:
    """The widths of the ladder at which settings are chosen: one of up to three, two of up to six, else four."""
    widths = settings.widths
    count = 1 if len(widths) <= 3 else 2 if len(widths) <= 6 else 4
    return [widths[(2 * k + 1) * len(widths) // (2 * count)] for k in range(count)]


def choice_bundles(settings: PlanSettings, results: StageResults) -> list[Bundle]:
    first = settings.seed + TUNING_SEEDS_FROM
    bundles = []
    for arm in ARMS:
        cells = [
            StudentCell(stage="choose", arm=arm, width=width, seed=seed, **choice)
            for seed in range(first, first + settings.recipe.tuning_seeds)
            for width in tuned_widths(settings)
            for choice in settings.family.choices(settings.recipe, arm)
        ]
        bundles += _by_seeds(settings, f"{arm} labels, choice of settings", cells)
    return bundles


def epoch_bundles(k: int, settings: PlanSettings, results: StageResults) -> list[Bundle]:
    """The students of the k-th doubling of the number of epochs, at the tuned widths."""
    chosen = [chosen_at(settings, results, arm, width) for arm in ARMS for width in tuned_widths(settings)]
    cells = epochs.epoch_cells(settings.recipe, k, results, chosen, settings.seed)
    return _bundles(settings, f"epochs, doubling {k}", cells) if cells else []


def chosen_at(settings: PlanSettings, results: StageResults, arm: Arm, width: int) -> StudentCell:
    """The settings an arm has at a width: the best, on validation rows, of the nearer of the tuned widths."""
    near = min(tuned_widths(settings), key=lambda tuned: abs(math.log(tuned / width)))
    return best_choice(
        (cell, result.metrics["validation"])
        for cell, result in results["choose"]
        if cell.arm == arm and cell.width == near
    )


def _cells(
    settings: PlanSettings, results: StageResults, stage: str, arm: Arm, width: int, seeds: range
) -> list[StudentCell]:
    chosen = chosen_at(settings, results, arm, width)
    length = epochs.training_length(settings.recipe, results).epochs
    update = {"stage": stage, "width": width, "epochs": None if length == settings.recipe.epochs else length}
    return [chosen.model_copy(update=update | {"seed": seed}) for seed in seeds]


def ladder_bundles(settings: PlanSettings, results: StageResults) -> list[Bundle]:
    seeds = range(settings.seed, settings.seed + settings.seeds)
    cells = [
        cell
        for width in settings.widths
        for arm in ARMS
        for cell in _cells(settings, results, "search", arm, width, seeds)
    ]
    return _by_seeds(settings, "ladder", cells)


def search_stages(settings: PlanSettings) -> list[str]:
    """Names of the stages of the search."""
    return ["ladder", *(f"bisect {k}" for k in range(1, settings.bisections + 1))]


def searched(settings: PlanSettings, results: StageResults, arm: Arm) -> dict[int, list[float]]:
    """Test accuracies of the search by width."""
    by_width: dict[int, list[float]] = {}
    for stage in search_stages(settings):
        for cell, result in results[stage]:
            if cell.arm == arm:
                by_width.setdefault(cell.width, []).append(result.metrics["accuracy"])
    return dict(sorted(by_width.items()))


def search_confidence(settings: PlanSettings, bisected: bool) -> float:
    """With a confirmation to come, the stated confidence; without one the search must carry it, and shares it out."""
    if settings.confirm:
        return settings.confidence
    failure = (1 - settings.confidence) / 2
    return 1 - (failure / max(1, settings.bisections) if bisected else failure)


def passing(settings: PlanSettings, results: StageResults, arm: Arm) -> dict[int, bool]:
    """Which widths of the search pass: their tolerance limit reaches the target."""
    return {
        width: tolerance_limit(
            values, settings.share, search_confidence(settings, width not in settings.widths), 1 / settings.test_rows
        )
        >= settings.target
        for width, values in searched(settings, results, arm).items()
    }


def bisect_bundles(k: int, settings: PlanSettings, results: StageResults) -> list[Bundle]:
    cells: list[StudentCell] = []
    seeds = range(settings.seed, settings.seed + settings.seeds)
    for arm in ARMS:
        width = next_width(passing(settings, results, arm))
        if width is not None:
            cells += _cells(settings, results, "search", arm, width, seeds)
    return _by_seeds(settings, f"bisection {k}", cells)


def candidate(settings: PlanSettings, results: StageResults, arm: Arm) -> int | None:
    """Where the search ends; where nothing passes, the smallest width whose students reach the target often enough."""
    smallest = smallest_passing(passing(settings, results, arm))
    if smallest is not None:
        return smallest
    reaching = {
        width: np.mean(np.array(values) >= settings.target) >= settings.share
        for width, values in searched(settings, results, arm).items()
    }
    return min((width for width, enough in reaching.items() if enough), default=None)


def confirmations(settings: PlanSettings, results: StageResults, arm: Arm) -> list[tuple[int, int, int, bool]]:
    """Attempts so far: width, students that reached the target, all of them, whether that confirms it."""
    attempts = []
    for k in range(1, ATTEMPTS + 1):
        cells = [(cell, result) for cell, result in results[f"confirm {k}"] if cell.arm == arm]
        if cells:
            reached = sum(result.metrics["accuracy"] >= settings.target for _, result in cells)
            allowed = allowed_misses(len(cells), settings.share, (1 - settings.confidence) / ATTEMPTS)
            attempts.append((cells[0][0].width, reached, len(cells), len(cells) - reached <= allowed))
    return attempts


def confirm_bundles(k: int, settings: PlanSettings, results: StageResults) -> list[Bundle]:
    cells: list[StudentCell] = []
    first = settings.seed + CONFIRM_SEEDS_FROM + (k - 1) * 10_000
    for arm in ARMS:
        begin = candidate(settings, results, arm)
        done = confirmations(settings, results, arm)
        if begin is None or any(confirmed for *_, confirmed in done):
            continue
        throughout = smallest_passing(passing(settings, results, arm), throughout=True)
        widths = attempt_widths(begin, settings.limit, throughout)
        if k <= len(widths):
            seeds = range(first, first + settings.confirm)
            cells += _cells(settings, results, "confirm", arm, widths[k - 1], seeds)
    return _by_seeds(settings, f"confirmation {k}", cells)


def planned_width(settings: PlanSettings, results: StageResults, arm: Arm) -> int | None:
    """The answer: the confirmed width, or without confirmations the candidate that passes."""
    if settings.confirm:
        return next((width for width, *_, confirmed in confirmations(settings, results, arm) if confirmed), None)
    return smallest_passing(passing(settings, results, arm), throughout=True)


def final_bundles(settings: PlanSettings, results: StageResults) -> list[Bundle]:
    """Without confirmations: some fresh students of the planned width, to export one."""
    first = settings.seed + CONFIRM_SEEDS_FROM
    cells: list[StudentCell] = []
    for arm in ARMS:
        width = planned_width(settings, results, arm)
        if width is not None:
            cells += _cells(settings, results, "final", arm, width, range(first, first + FINAL_SEEDS))
    return _by_seeds(settings, "students to export", cells)


def rival_bundles(settings: PlanSettings, results: StageResults) -> list[Bundle]:
    soft = planned_width(settings, results, "soft") or planned_width(settings, results, "hard")
    if soft is None:
        return []
    inputs, outputs = settings.inputs, settings.outputs
    width = quantized_width(float_bytes(soft, inputs, outputs), inputs, outputs)
    first = settings.seed + RIVAL_SEEDS_FROM
    cells = _cells(settings, results, "rival", "hard", width, range(first, first + settings.seeds))
    return _by_seeds(settings, f"8-bit rival, {width} neurons", cells)


def train(settings: PlanSettings, cells: Sequence[StudentCell], arrays: CellArrays) -> list[CellResult]:
    """Train the students of a bundle; those of the choice are evaluated on validation rows only.

    Of students that may be exported, the one that is best on validation rows is stored with its weights.
    """
    problem = TaughtProblem.from_arrays(arrays[ARTIFACT])
    students = _trained(settings, problem, cells)
    results = []
    for student in students:
        predicted = student.probabilities(problem.validation.X)
        metrics = {"validation": float(example_scores("accuracy", predicted, problem.validation.y).mean())}
        kept = {}
        if student.cell.stage not in ("choose", epochs.STAGE):
            numbers, right = probability_metrics(student.probabilities(problem.test.X), problem.test, "accuracy")
            metrics |= {name: numbers[name] for name in ("accuracy", "log_loss", "brier_score", "calibration_error")}
            kept["right"] = np.packbits(right.astype(bool))
        results.append(CellResult(metrics | student.records, kept))
    for arm in ARMS if cells[0].stage in KEPT else ():
        for width in {student.cell.width for student in students}:
            numbers = [k for k, s in enumerate(students) if s.cell.arm == arm and s.cell.width == width]
            if numbers:
                best = max(numbers, key=lambda k: results[k].metrics["validation"])
                results[best].arrays.update({f"weights {name}": v for name, v in students[best].weights().items()})
    return results


def _trained(settings: PlanSettings, problem: TaughtProblem, cells: Sequence[StudentCell]) -> list[FamilyStudent]:
    return epochs.by_epochs(settings.recipe, list(cells), partial(settings.family.train, problem))


def train_rivals(settings: PlanSettings, cells: Sequence[StudentCell], arrays: CellArrays) -> list[CellResult]:
    """Larger hard-label students, evaluated with 8-bit weights (and with their own)."""
    problem = TaughtProblem.from_arrays(arrays[ARTIFACT])
    truth = problem.test.y
    results = []
    for student in _trained(settings, problem, cells):
        small = quantized(network_from(student.weights()))
        right = example_scores("accuracy", probabilities(small.logits(problem.test.X)), truth)
        unrounded = example_scores("accuracy", student.probabilities(problem.test.X), truth)
        metrics = {"accuracy": float(right.mean()), "float_accuracy": float(unrounded.mean())}
        kept = {"right": np.packbits(right.astype(bool))}
        results.append(CellResult(metrics | {"parameters": student.parameters}, kept))
    return results


def _by_seeds(settings: PlanSettings, name: str, cells: list[StudentCell]) -> list[Bundle]:
    """Bundles of a few seeds each, as many as the family trains well together."""
    bundles = []
    seeds = sorted({cell.seed for cell in cells})
    of_seed = sum(map(settings.family.cost, cells)) / max(1, len(seeds))
    together = min(TOGETHER, max(1, int(settings.family.bundle / max(1.0, of_seed))))
    for first in range(0, len(seeds), together):
        part = set(seeds[first : first + together])
        bundles += _bundles(settings, f"{name}, {first + 1}…", [cell for cell in cells if cell.seed in part])
    return bundles


def _bundles(settings: PlanSettings, name: str, cells: list[StudentCell]) -> list[Bundle]:
    """Cells cut so that no bundle costs more than its family trains well together; 0 means one cell each."""
    family = settings.family
    if family.bundle == 0:
        return [Bundle(f"{name}, {cell.arm} {cell.width}", (cell,), cost=family.cost(cell)) for cell in cells]
    bundles = family.bundles(cells)
    return [
        Bundle(
            name if len(bundles) == 1 else f"{name}, part {k}", tuple(part), cost=sum(map(family.cost, part)) + 200.0
        )
        for k, part in enumerate(bundles, start=1)
    ]
