"""The cells of the mechanism: all students of one seed on one data set, measured along their training."""

from collections.abc import Sequence

import numpy as np

from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, StageResults
from softlabel.networks import Labels, Student, TrainingOptions, TwoLayer, teacher_logits, train_students
from softlabel.networks.training_run import Weights
from softlabel.studies.conditions.problem import condition_rows
from softlabel.studies.conditions.settings import ConditionTeacher
from softlabel.studies.conditions.teachers import teacher_outputs
from softlabel.studies.conditions.training import correct, softened
from softlabel.studies.mechanism.settings import ALL, EASY, LABELS, MechanismSettings
from softlabel.teachers.kernel_limit import KernelLimitTeacher
from softlabel.theory.margin import init_margin, margin

TEACHER_EPOCHS = 5
MEASURES = ("error", "displacement", "flipped", "kernel", "margin", "cosine", "multiple")
PATHS = ("error", "displacement")  # measured more often
PATH_POINTS = 50  # about, between two checkpoints
PAIRS = 4000  # of directions, for the logits of the kernel-limit teacher
CORRUPTION_STREAM = 3


class MechanismCell(Settings):
    """All students of a seed on one data set."""

    dataset: str
    seed: int


def bundles(settings: MechanismSettings, results: StageResults) -> list[Bundle]:
    """One bundle per seed and data set."""
    return [
        Bundle(f"{dataset}, seed {seed}", (MechanismCell(dataset=dataset, seed=seed),), cost=3 if dataset == ALL else 1)
        for seed in settings.seeds
        for dataset in (ALL, EASY)
    ]


def labels_of(dataset: str) -> tuple[str, ...]:
    """The labels that students of a data set learn from."""
    return LABELS if dataset == ALL else LABELS[:2]


def students_of(settings: MechanismSettings, dataset: str) -> list[tuple[str, float | None]]:
    """Labels and radius of every student."""
    return [(name, radius) for radius in (None, settings.radius) for name in labels_of(dataset)]


def checkpoints(settings: MechanismSettings) -> list[int]:
    """Steps at which students are measured: the first, and then evenly."""
    return list(range(0, settings.iterations + 1, settings.iterations // settings.checkpoints))


def path_every(settings: MechanismSettings) -> int:
    """Steps between two points of the paths of error and displacement: a divisor of those between checkpoints."""
    every = settings.iterations // settings.checkpoints
    return next(step for step in range(max(1, every // PATH_POINTS), every + 1) if every % step == 0)


def train(settings: MechanismSettings, cells: Sequence[MechanismCell], arrays: CellArrays) -> list[CellResult]:
    """Train and measure all students of each cell."""
    return [_train_cell(settings, cell) for cell in cells]


def _train_cell(settings: MechanismSettings, cell: MechanismCell) -> CellResult:
    rows = condition_rows(settings.condition(cell.dataset), cell.seed)
    logits, _, _ = teacher_outputs(ConditionTeacher(), rows, TEACHER_EPOCHS, cell.seed)
    chosen = np.sort(np.random.default_rng(cell.seed).permutation(len(rows.train.y))[: settings.rows])
    x, y = rows.train.X[chosen].astype(np.float64), np.where(rows.train.y[chosen] == 1, 1.0, -1.0)
    labels, limit = _labels(settings, cell, x, y, logits[chosen])
    students = [
        Student(width=settings.width, seed=cell.seed, labels=name, radius=radius, learning_rate=settings.learning_rate)
        for name, radius in students_of(settings, cell.dataset)
    ]
    gauge = Gauge(settings, x, y, limit, cell.seed)
    options = TrainingOptions(callback=gauge.measure, callback_every=path_every(settings))
    run = train_students(x, students, labels, iterations=settings.iterations, options=options)
    test = [100 * float(correct(trained.network.logits(rows.test.X), rows.test).mean()) for trained in run]
    stored = {name: np.array(gauge.values[name]) for name in MEASURES}  # (checkpoints, students)
    stored |= {f"path: {name}": np.array(gauge.paths[name]) for name in PATHS}  # (points, students)
    return CellResult({"initial_margin": gauge.initial_margin}, stored | {"test": np.array(test)})


def _labels(
    settings: MechanismSettings, cell: MechanismCell, x: np.ndarray, y: np.ndarray, logits: np.ndarray
) -> tuple[dict[str, Labels], KernelLimitTeacher]:
    """All labels by name, and the kernel-limit teacher of the rows."""
    scale, factor = settings.label_scale, settings.miscalibration
    search = margin(x, y, work_limit=settings.work_limit, seed=cell.seed)
    limit = KernelLimitTeacher.from_margin(search, x, y)
    flips = np.random.default_rng([cell.seed, CORRUPTION_STREAM]).random(len(y)) < settings.corrupted
    labels = {
        "hard": Labels("hard", y),
        "soft": softened(logits, scale),
        "overconfident": softened(logits, scale * factor),
        "underconfident": softened(logits, scale / factor),
        "corrupted": teacher_logits(np.where(flips, -1, 1) * softened(logits, scale).values),
        "kernel limit": softened(limit.logits(x, pairs=PAIRS, seed=cell.seed)[0], scale),
    }
    return {name: labels[name] for name in labels_of(cell.dataset)}, limit


class Gauge:
    """Measures students along their training, against their initialization and the direction of the theory.

    error           share of training rows with y f ≤ 0
    displacement    √m times the root mean square of ‖w_j − w_j(0)‖
    flipped         share of (neuron, row) pairs whose activation differs from the initial one
    kernel          ‖K_t − K_0‖/‖K_0‖ of the gradient kernel (1/m) Σ_j 1(w_j·x > 0)1(w_j·x' > 0) x·x'
    margin          γ_m of the current features
    cosine          of W(t) − W(0) and U, U_j = (a_j/√m) v(w_j(0)) for the kernel-limit teacher v (Appendix D)
    multiple        ⟨W(t) − W(0), U⟩/‖U‖²: how large a multiple of U the weights have moved
    """

    def __init__(
        self, settings: MechanismSettings, x: np.ndarray, y: np.ndarray, limit: KernelLimitTeacher, seed: int
    ) -> None:
        self.x, self.y, self.gram = x, y, x @ x.T
        start = TwoLayer.initialized("symmetric", width=settings.width, inputs=x.shape[1], seed=seed)
        self.start, signs = start.hidden.numpy(), start.output.numpy()[0]
        self.active = self.x @ self.start.T > 0
        self.kernel = self._kernel(self.active)
        self.initial_margin = init_margin(x, y, self.start)
        self.u = signs[:, None] / np.sqrt(settings.width) * limit.v(self.start)
        self.every = settings.iterations // settings.checkpoints
        self.values: dict[str, list[list[float]]] = {name: [] for name in MEASURES}
        self.paths: dict[str, list[list[float]]] = {name: [] for name in PATHS}

    def measure(self, step: int, weights: Weights) -> None:
        """Record error and displacement of all students at a step, and at a checkpoint all measures."""
        networks = [weights[k] for k in weights.training]
        _append(self.paths, [self._path(network) for network in networks])
        if step % self.every == 0:
            _append(self.values, [self._student(network) for network in networks])

    def _path(self, network: TwoLayer) -> tuple[float, float]:
        change = network.hidden.double().numpy() - self.start
        error = float((network.logits(self.x) * self.y <= 0).mean())
        return error, float(np.sqrt((change**2).sum(1).mean() * len(change)))

    def _student(self, network: TwoLayer) -> tuple[float, ...]:
        hidden = network.hidden.double().numpy()
        change = hidden - self.start
        active = self.x @ hidden.T > 0
        size, along = float(np.linalg.norm(change)), float((change * self.u).sum())
        norm = float(np.linalg.norm(self.u))
        return (
            *self._path(network),
            float((active != self.active).mean()),
            float(np.linalg.norm(self._kernel(active) - self.kernel) / np.linalg.norm(self.kernel)),
            init_margin(self.x, self.y, hidden),
            along / (size * norm) if size > 0 else 0.0,
            along / norm**2,
        )

    def _kernel(self, active: np.ndarray) -> np.ndarray:
        features = active.astype(np.float64)
        return features @ features.T / active.shape[1] * self.gram


def _append(columns: dict[str, list[list[float]]], measured: list[tuple[float, ...]]) -> None:
    """Add what was measured of every student to the columns."""
    for k, column in enumerate(columns.values()):
        column.append([row[k] for row in measured])
