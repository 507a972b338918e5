"""The cells of Figure 1: the choice of a training for teachers, then a teacher and two students per seed and level."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache

import numpy as np
from torch import nn

from softlabel.data import add_noise, split
from softlabel.data.loading import load_raw
from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, StageResults
from softlabel.networks.deep import (
    DeepRun,
    DeepTraining,
    Images,
    Objective,
    build_network,
    cached_logits,
    parameter_count,
    score_network,
    train_network,
)
from softlabel.networks.deep.evaluation import agreement
from softlabel.studies.figure1.settings import FAMILIES, Figure1Settings, TeacherTraining

STUDENT_SEEDS_FROM = 1000  # the teacher and the students of a run have different seeds
TUNING_SEEDS_FROM = 1_000_000
TEST_SHARE, VALIDATION_SHARE = 0.1, 0.1
TEST_NOISE = 10_000_000  # added to a seed for the noise of its test images


class NoiseTeacherCell(Settings):
    """A family of networks, a way to train its teacher, a noise level and a tuning seed."""

    family: str
    teacher: TeacherTraining
    level: float
    seed: int


class Figure1Cell(Settings):
    """A family of networks, the training of its teacher, a noise level and a seed."""

    family: str
    teacher: TeacherTraining
    level: float
    seed: int


def teacher_bundles(settings: Figure1Settings, results: StageResults) -> list[Bundle]:
    """Every way to train a teacher, on tuning seeds; none where there is nothing to choose."""
    if len(settings.teacher_trainings) == 1:
        return []
    first = settings.seed + TUNING_SEEDS_FROM
    return [
        Bundle(f"{family}, {teacher}, noise {level:g}, seed {seed}",
               (NoiseTeacherCell(family=family, teacher=teacher, level=level, seed=seed),), cost=_cost(family))
        for family in settings.families
        for teacher in settings.teacher_trainings
        for level in (settings.levels[0], settings.levels[-1])
        for seed in range(first, first + settings.tuning_seeds)
    ]  # fmt: skip


def chosen_teachers(settings: Figure1Settings, results: StageResults) -> dict[str, TeacherTraining]:
    """For every family the training with the best mean validation accuracy; the first of equals."""
    chosen: dict[str, TeacherTraining] = dict.fromkeys(settings.families, settings.teacher_trainings[0])
    for family in settings.families:
        means: dict[TeacherTraining, float] = {}
        for cell, result in results["choose"]:
            if cell.family == family:
                means[cell.teacher] = means.get(cell.teacher, 0.0) + result.metrics["teacher: validation"]
        if means:
            chosen[family] = max(means, key=lambda teacher: means[teacher])
    return chosen


def cell_bundles(settings: Figure1Settings, results: StageResults) -> list[Bundle]:
    """One bundle per cell, seed by seed."""
    chosen = chosen_teachers(settings, results)
    return [
        Bundle(f"{family}, noise {level:g}, seed {seed}",
               (Figure1Cell(family=family, teacher=chosen[family], level=level, seed=seed),), cost=2 * _cost(family))
        for seed in settings.seeds
        for family in settings.families
        for level in settings.levels
        if seed in settings.seeds_of(family)
    ]  # fmt: skip


def _cost(family: str) -> float:
    return 2.0 if family == "resnet" else 1.0  # residual networks take about twice as long


@lru_cache(maxsize=1)  # keyed by the settings; saves each worker from loading the data once per cell
def _images(data: str, classes: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
    """Pixels (n, d) and class indices (n,) of the images for training and validation, of the test, and their shape."""
    dataset = load_raw(data, classes=classes)
    assert dataset.image_shape is not None
    labels = np.unique(dataset.labels, return_inverse=True)[1]
    shape = dataset.image_shape if len(dataset.image_shape) == 3 else (1, *dataset.image_shape)
    if "test" in dataset.parts:
        known, test = dataset.parts["train"], dataset.parts["test"]
    else:
        known, test = split(len(labels), (1 - TEST_SHARE, TEST_SHARE), seed=1, stratify=labels, salt=0)
    return dataset.inputs[known], labels[known], dataset.inputs[test], labels[test], shape


def noisy_parts(settings: Figure1Settings, level: float, seed: int) -> tuple[Images, Images, Images]:
    """Training, validation and test images of a seed, with noise added once to all of them.

    All seeds have the same test images, those that came with the data (a tenth of the images where none did), with
    their own noise. A seed has the same noise at every level, multiplied by the level. Channels are standardized to
    mean 0 and variance 1 on the training images.
    """
    pixels, labels, test_pixels, test_labels, shape = _images(settings.data, settings.classes)
    if settings.rows is not None and settings.rows < len(labels):
        chosen = np.sort(np.random.default_rng(0).permutation(len(labels))[: settings.rows])
        pixels, labels = pixels[chosen], labels[chosen]
    noisy = add_noise(pixels, level, seed).reshape(-1, *shape)
    test = add_noise(test_pixels, level, seed + TEST_NOISE).reshape(-1, *shape)
    parts = split(len(labels), (1 - VALIDATION_SHARE, VALIDATION_SHARE), seed, labels, salt=0)
    train = noisy[parts[0]]
    mean, deviation = train.mean((0, 2, 3), keepdims=True), train.std((0, 2, 3), keepdims=True)
    images = Images.from_arrays((noisy - mean) / deviation, labels, layout="channels_first")
    tested = Images.from_arrays((test - mean) / deviation, test_labels, layout="channels_first")
    return images.rows(parts[0]), images.rows(parts[1]), tested


def train_teachers(
    settings: Figure1Settings, cells: Sequence[NoiseTeacherCell], arrays: CellArrays
) -> list[CellResult]:
    """Train a teacher, and a student on hard labels to compare it with, on validation images only."""
    results = []
    for cell in cells:
        train, validation, _ = noisy_parts(settings, cell.level, cell.seed)
        runs = {"teacher": _teacher(settings, cell, train, validation)}
        runs["hard"] = _student(settings, cell, train, validation, Objective(), None)
        results.append(CellResult({f"{name}: validation": run.accuracy for name, run in runs.items()}))
    return results


def train(settings: Figure1Settings, cells: Sequence[Figure1Cell], arrays: CellArrays) -> list[CellResult]:
    """Train and test the three networks of each cell."""
    return [_train_cell(settings, cell) for cell in cells]


def _network(name: str, settings: Figure1Settings, images: Images, seed: int) -> nn.Module:
    return build_network(name, images.classes, images.shape, settings.width_multiplier, seed)


def _training(settings: Figure1Settings, cell: NoiseTeacherCell | Figure1Cell) -> DeepTraining:
    return DeepTraining(
        epochs=settings.epochs,
        patience=settings.patience,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay(cell.family),
        precision=settings.precision,
        device=settings.device,
        seed=cell.seed,
    )


def _teacher(
    settings: Figure1Settings, cell: NoiseTeacherCell | Figure1Cell, train: Images, validation: Images
) -> DeepRun:
    way = cell.teacher
    training = replace(
        _training(settings, cell),
        epochs=way.epochs,
        learning_rate=way.learning_rate,
        schedule=way.schedule,
        augment=way.augment,
        patience=settings.patience if way.schedule == "constant" else way.epochs,
    )
    return train_network(_network(FAMILIES[cell.family][0], settings, train, cell.seed), train, validation, training)


def _student(
    settings: Figure1Settings,
    cell: NoiseTeacherCell | Figure1Cell,
    train: Images,
    validation: Images,
    objective: Objective,
    teacher: nn.Module | None,
) -> DeepRun:
    """A student, with the same initialization and order of batches in both arms."""
    network = _network(FAMILIES[cell.family][1], settings, train, cell.seed + STUDENT_SEEDS_FROM)
    soft = None if teacher is None else cached_logits(teacher, train, settings.device)
    return train_network(network, train, validation, _training(settings, cell), objective, soft=soft)


def _train_cell(settings: Figure1Settings, cell: Figure1Cell) -> CellResult:
    train, validation, test = noisy_parts(settings, cell.level, cell.seed)
    runs = {"teacher": _teacher(settings, cell, train, validation)}
    objective = Objective(settings.soft_share, settings.temperature, settings.temperature_on)
    runs["hard"] = _student(settings, cell, train, validation, Objective(), None)
    runs["soft"] = _student(settings, cell, train, validation, objective, runs["teacher"].network)
    metrics: dict[str, float] = {}
    arrays: dict[str, np.ndarray] = {}
    logits = {}
    for name, run in runs.items():
        scores, logits[name] = score_network(run.network, test, settings.device)
        metrics |= {f"{name}: {key}": value for key, value in asdict(scores).items()}
        metrics[f"{name}: validation"] = run.accuracy
        metrics[f"{name}: epochs"] = len(run.epochs)
        metrics[f"{name}: parameters"] = parameter_count(run.network)
        arrays[f"correct: {name}"] = (logits[name].argmax(1) == test.labels).numpy()
    for arm in ("hard", "soft"):
        metrics |= {f"{arm}: {key}": value for key, value in agreement(logits[arm], logits["teacher"]).items()}
    return CellResult(metrics, arrays)
