"""Training of one seed: teachers and students on the images and on their kernel embedding, losses and overlaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from softlabel.data import load
from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, StageResults
from softlabel.networks.privileged import (
    PrivilegedRun,
    PrivilegedStudent,
    draw_privileged_init,
    select_units,
    train_privileged,
    unit_outputs,
)
from softlabel.networks.two_layer import TwoLayer
from softlabel.studies.kernel_regime.settings import KernelRegimeSettings
from softlabel.studies.tested_rows import known_and_test
from softlabel.theory.alignment import align_kernels, gaussian_kernels, kernel_embedding
from softlabel.theory.overlap import Spectrum, overlap, top_spectrum


class SeedCell(Settings):
    """All teachers and students of one seed."""

    seed: int


@dataclass(frozen=True, eq=False)
class RegimeInputs:
    """Inputs of norm 1 and labels ±1 for training and test, and the top eigenvectors of H^∞ on the training inputs."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    spectrum: Spectrum


@lru_cache(maxsize=1)  # keyed by the settings; saves each worker from computing the embedding once per seed
def regime_inputs(settings: KernelRegimeSettings) -> dict[str, RegimeInputs]:
    """The images, and their kernel embedding (learned on the training images only)."""
    problem = load(settings.data, classes=settings.classes, scale="unit")
    (x, y), (x_test, y_test) = ((part.in_unit_ball, part.signs.astype(np.float64)) for part in known_and_test(problem))
    if settings.rows is not None and settings.rows < len(x):
        chosen = np.sort(np.random.default_rng(0).permutation(len(x))[: settings.rows])
        x, y = x[chosen], y[chosen]
    kernels = gaussian_kernels(x, settings.kernels)
    weights = align_kernels(x, y, kernels).weights
    embed = kernel_embedding(x, kernels, weights, settings.landmarks)
    features, features_test = (_unit(embed(part)) for part in (x, x_test))
    return {
        "images": RegimeInputs((x, y), (x_test, y_test), top_spectrum(x, settings.top)),
        "embedding": RegimeInputs((features, y), (features_test, y_test), top_spectrum(features, settings.top)),
    }


def _unit(x: np.ndarray) -> np.ndarray:
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def seed_bundles(settings: KernelRegimeSettings, results: StageResults) -> list[Bundle]:
    """One bundle per seed."""
    return [Bundle(f"seed {seed}", (SeedCell(seed=seed),)) for seed in settings.seeds]


def train(settings: KernelRegimeSettings, cells: Sequence[SeedCell], arrays: CellArrays) -> list[CellResult]:
    """Train all teachers and students of each seed."""
    return [_train_seed(settings, cell.seed) for cell in cells]


def _train_seed(settings: KernelRegimeSettings, seed: int) -> CellResult:
    inputs = regime_inputs(settings)  # pyright: ignore[reportArgumentType]: frozen settings can be hashed
    curves: dict[str, tuple[list[int], list[float], list[float]]] = {}
    overlaps: dict[str, np.ndarray] = {}
    images = inputs["images"]
    teacher, early = _teacher(settings, images, seed, curves, "teacher")
    students = _students(settings, images, seed, teacher, early)
    trained = dict(zip(students, _train(settings, images, list(students.values()), settings.iterations), strict=True))
    embedding = inputs["embedding"]
    teacher_k, _ = _teacher(settings, embedding, seed, curves, "teacher, kernel")
    known, output = select_units(teacher_k, settings.student_width, seed)
    student_k = PrivilegedStudent(known, output, settings.strength, unit_outputs(known, embedding.train[0]))
    (run_k,) = _train(settings, embedding, [student_k], settings.iterations)
    for name, run in {**trained, "student, kernel": run_k}.items():
        curves[name] = (run.steps, run.train, run.test)
    networks = {name: run.network for name, run in trained.items()} | {"teacher": teacher}
    kernel_networks = {"student, kernel": run_k.network, "teacher, kernel": teacher_k}
    errors = {
        f"errors: {name}": _squared_errors(network, part.test)
        for part, group in ((images, networks), (embedding, kernel_networks))
        for name, network in group.items()
    }
    for name, network, on in (
        ("teacher", teacher, images),
        ("imperfect teacher", early, images),
        ("teacher, kernel", teacher_k, embedding),
        ("student", trained["student"].network, images),
        ("imperfect", trained["imperfect"].network, images),
        ("student, kernel", run_k.network, embedding),
    ):
        measured = overlap(unit_outputs(network.hidden, on.train[0]), on.spectrum)
        overlaps[f"overlap: {name}"] = np.abs(measured.mean)
        overlaps[f"share: {name}"] = measured.share
    arrays = {"steps": np.array(curves["student"][0])}
    metrics: dict[str, float] = {}
    for name, (_, train, test) in curves.items():
        arrays[f"train: {name}"], arrays[f"test: {name}"] = np.array(train), np.array(test)
        metrics[f"train: {name}"], metrics[f"test: {name}"] = train[-1], test[-1]
    metrics |= {name: float(values.mean()) for name, values in overlaps.items()}
    return CellResult(metrics, arrays | overlaps | errors)


def _squared_errors(network: TwoLayer, test: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(y − f)² on every test input."""
    return ((network.logits(test[0]) - test[1]) ** 2).astype(np.float32)


def _teacher(
    settings: KernelRegimeSettings, inputs: RegimeInputs, seed: int, curves: dict, name: str
) -> tuple[TwoLayer, TwoLayer]:
    """A teacher trained on the labels, at the end and at the early iteration; its curve is added to `curves`."""
    hidden, output = draw_privileged_init(settings.teacher_width, inputs.train[0].shape[1], settings.init_scale, seed)
    steps: list[int] = []
    train: list[float] = []
    test: list[float] = []
    early: TwoLayer | None = None
    for begin, end in ((0, settings.early), (settings.early, settings.iterations)):
        (run,) = _train(settings, inputs, [PrivilegedStudent(hidden, output, name=name)], end - begin)
        skip = 1 if begin else 0  # the first record of the second part is the last of the first
        steps += [begin + step for step in run.steps[skip:]]
        train += run.train[skip:]
        test += run.test[skip:]
        early = early or run.network
        hidden = run.network.hidden.numpy()
    assert early is not None
    grid = range(0, settings.iterations + 1, settings.record_every)
    recorded = sorted({*grid, settings.iterations})
    curves[name] = (recorded, *(np.interp(recorded, steps, losses).tolist() for losses in (train, test)))
    return run.network, early


def _students(
    settings: KernelRegimeSettings, inputs: RegimeInputs, seed: int, teacher: TwoLayer, early: TwoLayer
) -> dict[str, PrivilegedStudent]:
    """Every student of Figures 1 to 3, by name; the same units are chosen everywhere."""
    x, m = inputs.train[0], settings.student_width
    units, output = select_units(teacher, m, seed)
    early_units, _ = select_units(early, m, seed)
    fresh, signs = draw_privileged_init(m, x.shape[1], settings.init_scale, seed + 10_000)
    known, early_known = unit_outputs(units, x), unit_outputs(early_units, x)
    strength = settings.strength
    students = (
        PrivilegedStudent(fresh, signs, name="no teacher"),
        PrivilegedStudent(units, output, strength, known, name="student"),
        PrivilegedStudent(units, output, 0.0, name="λ = 0"),
        PrivilegedStudent(units, output, float("inf"), known, name="λ = ∞"),
        PrivilegedStudent(early_units, output, strength, early_known, name="imperfect"),
        PrivilegedStudent(fresh, output, strength, known, name="no start"),
    )
    return {student.name: student for student in students}


def _train(
    settings: KernelRegimeSettings, inputs: RegimeInputs, students: list[PrivilegedStudent], iterations: int
) -> list[PrivilegedRun]:
    return train_privileged(
        *inputs.train,
        students,
        iterations=iterations,
        learning_rate=settings.learning_rate,
        record_every=settings.record_every,
        test=inputs.test,
    )
