"""One seed at one noise level: a teacher, a student from hard labels, and one from the teacher's soft labels."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache

import numpy as np

from softlabel.data import add_noise, split
from softlabel.data.loading import load_raw
from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, StageResults
from softlabel.networks.deep import (
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
from softlabel.studies.figure1.settings import FAMILIES, Figure1Settings

STUDENT_SEEDS_FROM = 1000  # the teacher and the students of a run have different seeds


class Figure1Cell(Settings):
    """A family of networks, a noise level and a seed."""

    family: str
    level: float
    seed: int


def cell_bundles(settings: Figure1Settings, results: StageResults) -> list[Bundle]:
    """One bundle per cell, seed by seed; residual networks take about twice as long."""
    return [
        Bundle(f"{family}, noise {level:g}, seed {seed}", (Figure1Cell(family=family, level=level, seed=seed),),
               cost=2.0 if family == "resnet" else 1.0)
        for seed in settings.seeds
        for family in settings.families
        for level in settings.levels
    ]  # fmt: skip


@lru_cache(maxsize=1)  # keyed by the settings; saves each worker from loading the data once per cell
def _images(data: str, classes: str, rows: int | None) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Pixels (n, d), class indices (n,), and the shape of an image."""
    dataset = load_raw(data, classes=classes)
    assert dataset.image_shape is not None
    labels = np.unique(dataset.labels, return_inverse=True)[1]
    pixels, shape = dataset.inputs, dataset.image_shape
    if len(shape) == 2:
        shape = (1, *shape)
    if rows is not None and rows < len(labels):
        chosen = np.sort(np.random.default_rng(0).permutation(len(labels))[:rows])
        pixels, labels = pixels[chosen], labels[chosen]
    return pixels, labels, shape


def noisy_parts(settings: Figure1Settings, level: float, seed: int) -> tuple[Images, Images, Images]:
    """Training, validation and test images (80, 10 and 10 per cent) of a seed, with noise added once to all of them.

    A seed has the same noise at every level, multiplied by the level. Channels are standardized to mean 0 and variance
    1 on the training images.
    """
    pixels, labels, shape = _images(settings.data, settings.classes, settings.rows)
    noisy = add_noise(pixels, level, seed).reshape(-1, *shape)
    parts = split(len(labels), (0.8, 0.1, 0.1), seed, labels, salt=0)
    train = noisy[parts[0]]
    mean, deviation = train.mean((0, 2, 3), keepdims=True), train.std((0, 2, 3), keepdims=True)
    images = Images.from_arrays((noisy - mean) / deviation, labels, layout="channels_first")
    return tuple(images.rows(part) for part in parts)  # type: ignore[return-value]


def train(settings: Figure1Settings, cells: Sequence[Figure1Cell], arrays: CellArrays) -> list[CellResult]:
    """Train and test the three networks of each cell."""
    return [_train_cell(settings, cell) for cell in cells]


def _train_cell(settings: Figure1Settings, cell: Figure1Cell) -> CellResult:
    train, validation, test = noisy_parts(settings, cell.level, cell.seed)
    teacher_name, student_name = FAMILIES[cell.family]
    training = DeepTraining(
        epochs=settings.epochs,
        patience=settings.patience,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay(cell.family),
        precision=settings.precision,
        device=settings.device,
        seed=cell.seed,
    )

    def network(name: str, seed: int):
        return build_network(name, train.classes, train.shape, settings.width_multiplier, seed)

    teacher = network(teacher_name, cell.seed)
    runs = {"teacher": train_network(teacher, train, validation, training)}
    soft = cached_logits(teacher, train, settings.device)
    objective = Objective(settings.soft_share, settings.temperature, settings.temperature_on)
    for arm, kind, labels in (("hard", Objective(), None), ("soft", objective, soft)):
        student = network(student_name, cell.seed + STUDENT_SEEDS_FROM)  # the same initialization in both arms
        runs[arm] = train_network(student, train, validation, training, kind, soft=labels)
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
