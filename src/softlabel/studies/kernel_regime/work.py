"""One seed of the study: teachers and students on the images and on their kernel embedding, curves and overlaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from softlabel.data import load_task, split
from softlabel.lab import Bundle, Given, Outcome, Results, Settings
from softlabel.networks.privileged import (
    PrivilegedRun,
    PrivilegedStudent,
    draw_privileged_start,
    select_units,
    train_privileged,
    unit_outputs,
)
from softlabel.networks.two_layer import TwoLayer
from softlabel.studies.kernel_regime.settings import KernelRegime
from softlabel.theory.alignment import align_kernels, gaussian_kernels, kernel_embedding
from softlabel.theory.overlap import Spectrum, overlap, top_spectrum


class SeedCell(Settings):
    """Everything of one seed."""

    seed: int


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of norm 1 and labels ±1, for training and for the test, and the top of H^∞ on the training inputs."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    spectrum: Spectrum


def inputs(settings: KernelRegime) -> dict[str, Inputs]:
    """The images, and their kernel embedding (weights learned on the training images alone)."""
    return _inputs(settings.model_dump_json())


@lru_cache(maxsize=1)
def _inputs(text: str) -> dict[str, Inputs]:
    settings = KernelRegime.model_validate_json(text)
    task = load_task(settings.data, classes=settings.classes, scale="unit")
    assert task.train.y is not None
    x, y = task.train.inputs, task.train.y.astype(np.float64)
    if task.test is not None:
        assert task.test.y is not None
        x_test, y_test = task.test.inputs, task.test.y.astype(np.float64)
    else:
        kept, cut = split(len(y), (0.8, 0.2), seed=1, stratify=y)
        x_test, y_test, x, y = x[cut], y[cut], x[kept], y[kept]
    if settings.rows is not None and settings.rows < len(x):
        chosen = np.sort(np.random.default_rng(0).permutation(len(x))[: settings.rows])
        x, y = x[chosen], y[chosen]
    kernels = gaussian_kernels(x, settings.kernels)
    weights = align_kernels(x, y, kernels).weights
    embed = kernel_embedding(x, kernels, weights, settings.landmarks)
    features, features_test = (_unit(embed(part)) for part in (x, x_test))
    return {
        "images": Inputs((x, y), (x_test, y_test), top_spectrum(x, settings.top)),
        "embedding": Inputs((features, y), (features_test, y_test), top_spectrum(features, settings.top)),
    }


def _unit(x: np.ndarray) -> np.ndarray:
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def seed_bundles(settings: KernelRegime, results: Results) -> list[Bundle]:
    """One bundle for every seed."""
    seeds = range(settings.seed, settings.seed + settings.runs)
    return [Bundle(f"seed {seed}", (SeedCell(seed=seed),)) for seed in seeds]


def work(settings: KernelRegime, cells: Sequence[SeedCell], given: Given) -> list[Outcome]:
    """Train everything of each seed."""
    return [_seed(settings, cell.seed) for cell in cells]


def _seed(settings: KernelRegime, seed: int) -> Outcome:
    held = inputs(settings)
    curves: dict[str, tuple[list[int], list[float], list[float]]] = {}
    overlaps: dict[str, np.ndarray] = {}
    images = held["images"]
    teacher, early = _teacher(settings, images, seed, curves, "teacher")
    students = _students(settings, images, seed, teacher, early)
    trained = dict(zip(students, _train(settings, images, list(students.values())), strict=True))
    embedding = held["embedding"]
    teacher_k, _ = _teacher(settings, embedding, seed, curves, "teacher, kernel")
    known, output = select_units(teacher_k, settings.student_width, seed)
    student_k = PrivilegedStudent(known, output, settings.strength, unit_outputs(known, embedding.train[0]))
    (run_k,) = _train(settings, embedding, [student_k])
    for name, run in {**trained, "student, kernel": run_k}.items():
        curves[name] = (run.steps, run.train, run.test)
    for name, network, on in (
        ("teacher", teacher, images),
        ("imperfect teacher", early, images),
        ("teacher, kernel", teacher_k, embedding),
        ("student", trained["student"].network, images),
        ("imperfect", trained["imperfect"].network, images),
        ("student, kernel", run_k.network, embedding),
    ):
        found = overlap(unit_outputs(network.hidden, on.train[0]), on.spectrum)
        overlaps[f"overlap: {name}"] = np.abs(found.mean)
        overlaps[f"share: {name}"] = found.share
    arrays = {"steps": np.array(curves["student"][0])}
    metrics: dict[str, float] = {}
    for name, (_, train, test) in curves.items():
        arrays[f"train: {name}"], arrays[f"test: {name}"] = np.array(train), np.array(test)
        metrics[f"train: {name}"], metrics[f"test: {name}"] = train[-1], test[-1]
    metrics |= {name: float(values.mean()) for name, values in overlaps.items()}
    return Outcome(metrics, arrays | overlaps)


def _teacher(settings: KernelRegime, held: Inputs, seed: int, curves: dict, name: str) -> tuple[TwoLayer, TwoLayer]:
    """A teacher trained on the labels, at the end and at the early iteration; its curve is noted."""
    hidden, output = draw_privileged_start(settings.teacher_width, held.train[0].shape[1], settings.start_scale, seed)
    steps: list[int] = []
    train: list[float] = []
    test: list[float] = []
    early: TwoLayer | None = None
    for begin, end in ((0, settings.early), (settings.early, settings.iterations)):
        (run,) = train_privileged(
            *held.train,
            [PrivilegedStudent(hidden, output, name=name)],
            iterations=end - begin,
            step=settings.step,
            record_every=settings.record_every,
            test=held.test,
        )
        skip = 1 if begin else 0  # the first record of the second part is the last of the first
        steps += [begin + step for step in run.steps[skip:]]
        train += run.train[skip:]
        test += run.test[skip:]
        early = early or run.network
        hidden = run.network.hidden.numpy()
    assert early is not None
    grid = range(0, settings.iterations + 1, settings.record_every)
    places = sorted({*grid, settings.iterations})
    curves[name] = (places, _at(places, steps, train), _at(places, steps, test))
    return run.network, early


def _at(places: Sequence[int], steps: Sequence[int], values: Sequence[float]) -> list[float]:
    return [float(value) for value in np.interp(places, steps, values)]


def _students(
    settings: KernelRegime, held: Inputs, seed: int, teacher: TwoLayer, early: TwoLayer
) -> dict[str, PrivilegedStudent]:
    """Every student of Figures 1 to 3, by name; the same units are chosen everywhere."""
    x, m = held.train[0], settings.student_width
    units, output = select_units(teacher, m, seed)
    early_units, _ = select_units(early, m, seed)
    fresh, signs = draw_privileged_start(m, x.shape[1], settings.start_scale, seed + 10_000)
    known, early_known = unit_outputs(units, x), unit_outputs(early_units, x)
    strength = settings.strength
    return {
        "no teacher": PrivilegedStudent(fresh, signs, name="no teacher"),
        "student": PrivilegedStudent(units, output, strength, known, name="student"),
        "λ = 0": PrivilegedStudent(units, output, 0.0, name="λ = 0"),
        "λ = ∞": PrivilegedStudent(units, output, float("inf"), known, name="λ = ∞"),
        "imperfect": PrivilegedStudent(early_units, output, strength, early_known, name="imperfect"),
        "no start": PrivilegedStudent(fresh, output, strength, known, name="no start"),
    }


def _train(settings: KernelRegime, held: Inputs, students: list[PrivilegedStudent]) -> list[PrivilegedRun]:
    return train_privileged(
        *held.train,
        students,
        iterations=settings.iterations,
        step=settings.step,
        record_every=settings.record_every,
        test=held.test,
    )
