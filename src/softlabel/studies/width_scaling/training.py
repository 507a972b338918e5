"""The cells of the study of widths: all students of one level and seed, trained together."""

from collections.abc import Sequence

import numpy as np

from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, StageResults
from softlabel.networks import Labels, Student, TrainingOptions, hard_labels, teacher_logits, train_students
from softlabel.networks.training_run import Weights
from softlabel.studies.width_scaling.data import DialedRows, angled_pairs, full_xor, mixed_images
from softlabel.studies.width_scaling.settings import ARMS, Level, WidthScalingSettings
from softlabel.teachers.kernel_limit import KernelLimitTeacher
from softlabel.theory import bounds
from softlabel.theory.margin import Margin, margin

PAIRS = 20_000  # of directions, for the logits of the kernel-limit teacher
DELTA = 0.05
COST = 1e4, 7e11  # iterations, and operations of the search for the margin, that take about equally long


class WidthCell(Settings):
    """All students of one level and seed."""

    level: Level
    seed: int


def width_bundles(settings: WidthScalingSettings, results: StageResults) -> list[Bundle]:
    """One bundle per level and seed, the longest first."""
    cells = [WidthCell(level=level, seed=seed) for level in settings.levels for seed in settings.seeds]
    bundles = [Bundle(f"{cell.level}, seed {cell.seed}", (cell,), cost=_cost(settings, cell.level)) for cell in cells]
    return sorted(bundles, key=lambda bundle: -bundle.cost)


def _cost(settings: WidthScalingSettings, level: Level) -> float:
    """A guess: γ, with which iterations grow, is not known yet."""
    if level.source == "pairs":
        guess = 0.25 * level.dial
    elif level.source == "xor":
        guess = 0.5 / level.dial
    else:
        guess = 0.05 * (1 - 2 * level.dial)
    return iterations(settings, min(0.3, guess)) / COST[0] + settings.work_limit / COST[1]


def iterations(settings: WidthScalingSettings, gamma: float) -> int:
    """Number of iterations for data of this margin."""
    return int(min(settings.most_iterations, max(100, settings.steps / gamma**2)))


def widths_of(settings: WidthScalingSettings, arm: str, steps: int) -> list[int]:
    """Widths of an arm: all that are affordable for the arm of the theorem, the narrow ones for the others."""
    most = settings.most_work / steps if arm == ARMS[0] else settings.narrow
    return [width for width in settings.widths if width <= max(most, settings.widths[1])]


def dialed_rows(settings: WidthScalingSettings, level: Level, seed: int) -> DialedRows:
    """The data of a level and seed."""
    if level.source == "pairs":
        return angled_pairs(settings.pairs, settings.dimension, settings.rows, level.dial, seed)
    if level.source == "xor":
        return full_xor(int(level.dial))
    return mixed_images(settings.data, settings.task, settings.rows, level.dial, seed)


def train(settings: WidthScalingSettings, cells: Sequence[WidthCell], arrays: CellArrays) -> list[CellResult]:
    """Train all widths of all arms of each cell."""
    return [_train_cell(settings, cell) for cell in cells]


def _train_cell(settings: WidthScalingSettings, cell: WidthCell) -> CellResult:
    rows = dialed_rows(settings, cell.level, cell.seed)
    search = margin(rows.X, rows.y, work_limit=settings.work_limit, seed=cell.seed)
    gamma = search.upper
    steps = iterations(settings, gamma)
    labels, radii = _arms(settings, rows, search, cell.seed)
    students, names = [], []
    for arm in ARMS:
        scale = settings.output_scale if arm == "hard, scaled" else 1.0
        for width in widths_of(settings, arm, steps):
            names.append((arm, width))
            students.append(
                Student(
                    width=width,
                    seed=cell.seed,
                    labels=arm if arm in labels else "hard",
                    radius=radii[arm],
                    learning_rate=settings.learning_rate / scale**2,
                    output_scale=scale,
                )
            )
    errors: list[list[float]] = []

    def measure(step: int, weights: Weights) -> None:
        errors.append([float((weights[k].logits(rows.X) * rows.y <= 0).mean()) for k in range(len(students))])

    every = max(1, steps // settings.samples)
    options = TrainingOptions(callback=measure, callback_every=every)
    run = train_students(rows.X, students, labels, iterations=steps, options=options)
    test = [float((trained.network.logits(rows.test_X) * rows.test_y <= 0).mean()) for trained in run]
    metrics = {"lower": search.lower, "upper": search.upper, "iterations": steps}
    mean = np.mean(errors[:-1], axis=0)  # over the iterations 0, every, 2·every, …, before the last
    stored = {
        "arm": np.array([ARMS.index(arm) for arm, _ in names]),
        "width": np.array([width for _, width in names]),
        "train": mean,
        "test": np.array(test),
    }
    return CellResult(metrics, stored)


def _arms(
    settings: WidthScalingSettings, rows: DialedRows, search: Margin, seed: int
) -> tuple[dict[str, Labels], dict[str, float | None]]:
    """Labels by name, and the radius of every arm.

    soft, theorem     p = μ(z), radius 1, as in Theorem 2
    soft, tempered    p = μ(κz) with κ = 2/γ, radius κ
    hard              radius of Proposition 5 (refined) for `epsilon`
    hard, free        no projection
    hard, scaled      as hard, with an output scale α: radius divided by α
    """
    teacher = KernelLimitTeacher.from_margin(search, rows.X, rows.y)
    z, _ = teacher.logits(rows.X, pairs=PAIRS, seed=seed)
    kappa = 2 / search.upper
    labels = {"hard": hard_labels(rows.y), ARMS[0]: teacher_logits(z), ARMS[1]: teacher_logits(kappa * z)}
    gamma = max(min(search.upper, 0.5), 1e-6)
    needs = bounds.hard(gamma, settings.epsilon, len(rows.y), delta=DELTA, family="refined")
    assert needs.radius is not None
    scaled = needs.radius / settings.output_scale
    return labels, dict(zip(ARMS, (1.0, kappa, needs.radius, None, scaled), strict=True))
