"""The cells of a study of conditions, stage by stage: teachers, choice of settings on validation data, the test.

    teach    the teachers of every seed
    choose   every setting of both arms, on tuning seeds; only the validation rows are used
    test     the chosen settings on new seeds: the only students that are evaluated on the test rows

A bundle holds the students of one seed whose conditions have the same training rows. Every seed has its own order of
batches, which all its students share: arms are paired by it, and seeds are independent.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from softlabel.lab.cells import Bundle, Settings, StageResults
from softlabel.studies.conditions.settings import Condition, ConditionsSettings, ConditionTeacher

Arm = Literal["hard", "soft"]
ARMS: tuple[Arm, ...] = ("hard", "soft")
TUNING_SEEDS_FROM = 1_000_000
STEP_COST = 60.0  # neurons: what a step costs beside its products
INFINITE_COST = 4096  # neurons: what kernel regression costs about


class ConditionTeacherCell(Settings):
    """One teacher and the rows that it learns from; `name` and `position` of its condition are left out."""

    condition: Condition
    seed: int


class ConditionCell(Settings):
    """One student: its stage, its condition, and the settings it is trained with; hard labels have no scale."""

    stage: Literal["choose", "test"]
    condition: Condition
    arm: Arm
    seed: int
    label_scale: float | None
    learning_rate: float


def teacher_cell(condition: Condition, seed: int) -> ConditionTeacherCell:
    """The teacher of a condition, without what does not concern teachers: conditions may share it."""
    plain = condition.rows_only.model_copy(update={"teacher": condition.teacher})
    return ConditionTeacherCell(condition=plain, seed=seed)


def tuning_seeds(settings: ConditionsSettings) -> range:
    """Seeds with which settings are chosen."""
    first = settings.seed + TUNING_SEEDS_FROM
    return range(first, first + settings.tuning_seeds)


def teacher_bundles(settings: ConditionsSettings, results: StageResults) -> list[Bundle]:
    """Every teacher of every seed, one per bundle."""
    cells = {
        teacher_cell(condition, seed): f"{condition.name}, teacher {seed}"
        for condition in settings.conditions
        for seed in (*_tuned(settings, condition), *settings.seeds)
    }
    return [Bundle(name, (cell,), cost=teacher_cost(cell.condition.teacher)) for cell, name in cells.items()]


def teacher_cost(teacher: ConditionTeacher) -> float:
    """Rough cost of a teacher's training, relative to that of one network with a thousand neurons."""
    return (teacher.width or INFINITE_COST) * teacher.depth * teacher.members / 1000 + 0.2


def _tuned(settings: ConditionsSettings, condition: Condition) -> range:
    return tuning_seeds(settings) if condition.settings_of is None else range(0)


def choice_bundles(settings: ConditionsSettings, results: StageResults) -> list[Bundle]:
    """Every setting that may be chosen, on the tuning seeds."""
    tuned = [condition for condition in settings.conditions if condition.settings_of is None]
    return [
        _bundle(settings, f"choose, {conditions[0].name}, seed {seed}", [
            ConditionCell(stage="choose", condition=one, arm=arm, seed=seed, label_scale=scale, learning_rate=rate)
            for one in conditions
            for arm in ARMS
            for scale, rate in choices(settings, arm)
        ])
        for conditions in _by_inputs(tuned)
        for seed in tuning_seeds(settings)
    ]  # fmt: skip


def choices(settings: ConditionsSettings, arm: Arm) -> list[tuple[float | None, float]]:
    """Label scales and learning rates that an arm may choose."""
    recipe = settings.recipe
    if arm == "hard":
        return [(None, rate) for rate in recipe.hard_learning_rates]
    return [(scale, rate) for scale in recipe.label_scales for rate in recipe.soft_learning_rates]


def final_bundles(settings: ConditionsSettings, results: StageResults) -> list[Bundle]:
    """The chosen settings on new seeds."""
    chosen = chosen_settings(settings, results)
    return [
        _bundle(settings, f"test, {conditions[0].name}, seed {seed}", [
            chosen[condition.name, arm].model_copy(update={"stage": "test", "condition": condition, "seed": seed})
            for condition in conditions
            for arm in ARMS
        ])
        for conditions in _by_inputs(settings.conditions)
        for seed in settings.seeds
    ]  # fmt: skip


def chosen_settings(settings: ConditionsSettings, results: StageResults) -> dict[tuple[str, Arm], ConditionCell]:
    """For every condition and arm the cell, of the first tuning seed, with the best settings.

    These have the largest mean validation accuracy over the tuning seeds, collapsed runs included; the first of equals.
    """
    accuracies: dict[tuple[str, Arm], dict[ConditionCell, float]] = {}
    first = tuning_seeds(settings)[0]
    for cell, result in results["choose"]:
        means = accuracies.setdefault((cell.condition.name, cell.arm), {})
        same = cell.model_copy(update={"seed": first})
        means[same] = means.get(same, 0.0) + result.metrics["validation"]
    best = {key: max(means, key=lambda cell: means[cell]) for key, means in accuracies.items()}
    return {
        (condition.name, arm): best[condition.settings_of or condition.name, arm]
        for condition in settings.conditions
        for arm in ARMS
    }


def _by_inputs(conditions: Sequence[Condition]) -> Iterator[list[Condition]]:
    groups: dict[tuple[object, ...], list[Condition]] = {}
    for condition in conditions:
        groups.setdefault(condition.inputs, []).append(condition)
    yield from groups.values()


def _bundle(settings: ConditionsSettings, name: str, cells: list[ConditionCell]) -> Bundle:
    teachers = dict.fromkeys(teacher_cell(cell.condition, cell.seed).key for cell in cells if cell.arm == "soft")
    neurons = sum(cell.condition.width for cell in cells)
    cost = settings.recipe.iterations / 4000 * (neurons + STEP_COST) / 1000
    return Bundle(name, tuple(cells), needs=tuple(teachers), cost=cost)
