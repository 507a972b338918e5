"""One seed at one noise level: a teacher, a student from hard labels, and one from the teacher's soft labels."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache

import numpy as np

from softlabel.data import add_noise, load, split
from softlabel.lab import Bundle, Given, Outcome, Results, Settings
from softlabel.networks.deep import (
    Images,
    Objective,
    Training,
    build_network,
    cached_logits,
    parameter_count,
    score_network,
    train_network,
)
from softlabel.networks.deep.evaluation import agreement
from softlabel.studies.noise.settings import FAMILIES, Noise

STARTS = 1000  # between the seeds of networks that a run has


class NoiseCell(Settings):
    """A family of networks, a noise level and a seed."""

    family: str
    level: float
    seed: int


def cell_bundles(settings: Noise, results: Results) -> list[Bundle]:
    """One bundle for every cell, seed by seed; residual networks take about twice as long."""
    return [
        Bundle(f"{family}, noise {level:g}, seed {seed}", (NoiseCell(family=family, level=level, seed=seed),),
               cost=2.0 if family == "resnet" else 1.0)
        for seed in settings.seeds
        for family in settings.families
        for level in settings.levels
    ]  # fmt: skip


@lru_cache(maxsize=1)
def _all(data: str, classes: str, rows: int | None) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Pixels (n, d), places of their classes (n,), and an image's shape."""
    held = load(data, classes=classes)
    assert held.image_shape is not None
    labels = np.unique(held.labels, return_inverse=True)[1]
    pixels, shape = held.inputs, held.image_shape
    if len(shape) == 2:
        shape = (1, *shape)
    if rows is not None and rows < len(labels):
        chosen = np.sort(np.random.default_rng(0).permutation(len(labels))[:rows])
        pixels, labels = pixels[chosen], labels[chosen]
    return pixels, labels, shape


def noisy_parts(settings: Noise, level: float, seed: int) -> tuple[Images, Images, Images]:
    """Training, validation and test images (80, 10 and 10 per cent) of a seed, noise added once to all of them.

    The same noise, only stronger, at every level of a seed. Channels are brought to mean 0 and variance 1 by the
    training images.
    """
    pixels, labels, shape = _all(settings.data, settings.classes, settings.rows)
    noisy = add_noise(pixels, level, seed).reshape(-1, *shape)
    parts = split(len(labels), (0.8, 0.1, 0.1), seed, labels)
    seen = noisy[parts[0]]
    mean, spread = seen.mean((0, 2, 3), keepdims=True), seen.std((0, 2, 3), keepdims=True)
    images = Images.of((noisy - mean) / spread, labels, layout="channels_first")
    return tuple(images.rows(part) for part in parts)  # type: ignore[return-value]


def work(settings: Noise, cells: Sequence[NoiseCell], given: Given) -> list[Outcome]:
    """Train and test everything of each cell."""
    return [_cell(settings, cell) for cell in cells]


def _cell(settings: Noise, cell: NoiseCell) -> Outcome:
    train, validation, test = noisy_parts(settings, cell.level, cell.seed)
    teacher_name, student_name = FAMILIES[cell.family]
    training = Training(
        epochs=settings.epochs, patience=settings.patience, batch=settings.batch, rate=settings.rate,
        decay=settings.decay(cell.family), precision=settings.precision, device=settings.device, seed=cell.seed,
    )  # fmt: skip

    def network(name: str, start: int):
        return build_network(name, train.classes, train.shape, settings.width, start)

    teacher = network(teacher_name, cell.seed)
    runs = {"teacher": train_network(teacher, train, validation, training)}
    soft = cached_logits(teacher, train, settings.device)
    objective = Objective(settings.soft_share, settings.temperature, settings.temperature_on)
    for arm, kind, labels in (("hard", Objective(), None), ("soft", objective, soft)):
        student = network(student_name, cell.seed + STARTS)  # both arms from the same start
        runs[arm] = train_network(student, train, validation, training, kind, soft=labels)
    metrics: dict[str, float] = {}
    arrays: dict[str, np.ndarray] = {}
    answers = {}
    for name, run in runs.items():
        scores, answers[name] = score_network(run.network, test, settings.device)
        metrics |= {f"{name}: {key}": value for key, value in asdict(scores).items()}
        metrics[f"{name}: validation"] = run.accuracy
        metrics[f"{name}: epochs"] = len(run.epochs)
        metrics[f"{name}: parameters"] = parameter_count(run.network)
        arrays[f"correct: {name}"] = (answers[name].argmax(1) == test.labels).numpy()
    for arm in ("hard", "soft"):
        metrics |= {f"{arm}: {key}": value for key, value in agreement(answers[arm], answers["teacher"]).items()}
    return Outcome(metrics, arrays)
