"""The cells of Table 1 with ordinary training: one bundle per data set, scale of pixels and seed."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from softlabel.data import load
from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, StageResults
from softlabel.networks import Labels, Student, TrainingOptions, TwoLayer, train_students
from softlabel.networks.training_run import Weights
from softlabel.studies.ordinary.settings import OrdinarySettings, Pixels, Way
from softlabel.studies.tested_rows import known_and_test

TEACHER_SEEDS_FROM = 1_000_000
TEACHER_RATE = 1e-3
BLOCK = 4096


class OrdinaryTeacherCell(Settings):
    """The teacher of a seed on one data set with one scale of the pixels."""

    leave_out: tuple[int, ...]
    pixels: Pixels
    seed: int


class OrdinaryCell(Settings):
    """One student."""

    leave_out: tuple[int, ...]
    width: int
    way: Way
    seed: int


def _groups(settings: OrdinarySettings) -> list[tuple[tuple[int, ...], Pixels, int, list[Way]]]:
    """Data set, scale of the pixels, seed, and the ways in which the students of this bundle are trained."""
    scales: tuple[Pixels, ...] = ("standardized", "unit")
    groups = []
    for number, seed in enumerate(settings.seeds):
        for leave_out in settings.leave_out:
            for pixels in scales:
                ways = settings.ways(pixels, all_seeds=number >= settings.other_runs)
                if ways:
                    groups.append((leave_out, pixels, seed, ways))
    return groups


def teacher_bundles(settings: OrdinarySettings, results: StageResults) -> list[Bundle]:
    """One teacher per bundle."""
    return [
        Bundle(f"teacher without {leave_out or 'none'}, {pixels} pixels, seed {seed}",
               (OrdinaryTeacherCell(leave_out=leave_out, pixels=pixels, seed=seed),),
               cost=settings.teacher_epochs * (settings.teacher_width + 100) / 1000)
        for leave_out, pixels, seed, _ in _groups(settings)
    ]  # fmt: skip


def student_bundles(settings: OrdinarySettings, results: StageResults) -> list[Bundle]:
    """All students of one data set, scale and seed: they share the order of batches, which is the seed's own."""
    bundles = []
    for leave_out, pixels, seed, ways in _groups(settings):
        cells = tuple(
            OrdinaryCell(leave_out=leave_out, width=width, way=way, seed=seed)
            for way in ways
            for width in settings.widths
        )
        teacher = OrdinaryTeacherCell(leave_out=leave_out, pixels=pixels, seed=seed)
        neurons = sum(cell.width for cell in cells)
        cost = settings.epochs * (neurons + 100) / 1000
        name = f"students without {leave_out or 'none'}, {pixels} pixels, seed {seed}"
        bundles.append(Bundle(name, cells, needs=(teacher.key,), cost=cost))
    return bundles


@lru_cache(maxsize=2)  # keyed by the settings; saves each worker from loading the data once per bundle
def _images(
    data: str, task: str, leave_out: tuple[int, ...], pixels: Pixels, test_share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training pixels and classes 0, 1, test pixels and classes; standardized by one mean and one deviation."""
    problem = load(data, task=task, leave_out=list(leave_out) or None, scale="none")
    known, test = known_and_test(problem, test_share)
    x, x_test = known.X, test.X
    if pixels == "standardized":
        mean, deviation = x.mean(), x.std()
        x, x_test = (x - mean) / deviation, (x_test - mean) / deviation
    return x, known.y, x_test, test.y


def _images_of(settings: OrdinarySettings, cell: OrdinaryTeacherCell | OrdinaryCell, pixels: Pixels):
    return _images(settings.data, settings.task, cell.leave_out, pixels, settings.test_share)


def one_hot(y: np.ndarray) -> Labels:
    """Hard labels of two classes for a network with two outputs."""
    return Labels("hard", np.eye(2)[y])


def train_teachers(
    settings: OrdinarySettings, cells: Sequence[OrdinaryTeacherCell], arrays: CellArrays
) -> list[CellResult]:
    """Train ordinary networks on all training images; store their logits on these."""
    results = []
    for cell in cells:
        x, y, test, truth = _images_of(settings, cell, cell.pixels)
        seed, width = cell.seed + TEACHER_SEEDS_FROM, settings.teacher_width
        student = _ordinary(width, seed, "hard", TEACHER_RATE)
        run = train_students(x, [student], one_hot(y), epochs=settings.teacher_epochs, batch_size=settings.batch_size,
                             seed=seed, optimizer="adam", schedule="cosine")  # fmt: skip
        network = run[0].network
        accuracy = 100 * float((network.logits(test).argmax(1) == truth).mean())
        results.append(CellResult({"test": accuracy}, {"logits": network.logits(x).astype(np.float32)}))
    return results


def _ordinary(width: int, seed: int, labels: str, learning_rate: float, **more) -> Student:
    """A network of two linear layers with PyTorch's initialization and without the factor 1/√m."""
    return Student(
        width=width,
        seed=seed,
        labels=labels,
        learning_rate=learning_rate,
        radius=None,
        train_output=True,
        biases=True,
        **({"init": "torch", "output_scale": math.sqrt(width)} | more),
    )


def train(settings: OrdinarySettings, cells: Sequence[OrdinaryCell], arrays: CellArrays) -> list[CellResult]:
    """Train the students of one seed together, for a fixed number of epochs, and test them after each.

    Nothing is chosen by the accuracies after earlier epochs: they show what choosing the best epoch on test images
    would give.
    """
    first = cells[0]
    x, y, test, truth = _images_of(settings, first, first.way.pixels)
    teacher = OrdinaryTeacherCell(leave_out=first.leave_out, pixels=first.way.pixels, seed=first.seed)
    labels = {"hard": one_hot(y), "teacher": Labels("logits", arrays[teacher.key]["logits"].astype(np.float64))}
    students = []
    for cell in cells:
        way = cell.way
        other = {} if way.init == "torch" else {"init": way.init, "output_scale": 1.0}
        soft = {} if way.temperature is None else {"temperature": way.temperature, "temperature_on": way.on}
        name = "hard" if way.temperature is None else "teacher"
        students.append(_ordinary(cell.width, cell.seed, name, way.learning_rate, **other, **soft))
    rights: list[np.ndarray] = []  # after every epoch (students, test images)

    def test_all(step: int, weights: Weights) -> None:
        rights.append(_right([weights[k] for k in range(len(students))], test, truth))

    steps = math.ceil(len(y) / settings.batch_size)
    run = train_students(
        x,
        students,
        labels,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        seed=first.seed,
        optimizer="adam",
        options=TrainingOptions(callback=test_all, callback_every=steps),
    )
    accuracies = 100 * np.stack([right.mean(1) for right in rights[1:]])  # (epochs, students)
    live = live_neurons([trained.network for trained in run], x)
    results = []
    for k, cell in enumerate(cells):
        metrics = {"test": float(accuracies[-1, k]), "best_epoch": float(accuracies[:, k].max()), "live": live[k]}
        stored: dict[str, np.ndarray] = {"epochs": accuracies[:, k].astype(np.float32)}
        if cell.way in settings.primary.values():
            stored["correct"] = np.packbits(rights[-1][k])
            metrics["examples"] = len(truth)
        results.append(CellResult(metrics, stored))
    return results


def _right(networks: Sequence[TwoLayer], inputs: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Where each network is right: (networks, rows). All hidden layers are one product."""
    hidden, bias = _stacked(networks)
    right = np.empty((len(networks), len(truth)), dtype=bool)
    for start in range(0, len(truth), BLOCK):
        rows = slice(start, start + BLOCK)
        active = np.maximum(inputs[rows] @ hidden.T + bias, 0)
        first = 0
        for k, network in enumerate(networks):
            output = network.output.numpy() / math.sqrt(network.width)
            logits = active[:, first : first + network.width] @ output.T
            if network.output_bias is not None:
                logits = logits + network.output_bias.numpy()
            right[k, rows] = logits.argmax(1) == truth[rows]
            first += network.width
    return right


def live_neurons(networks: Sequence[TwoLayer], inputs: np.ndarray) -> list[int]:
    """How many neurons of each network are active on at least one row."""
    hidden, bias = _stacked(networks)
    alive = np.zeros(len(hidden), dtype=bool)
    for start in range(0, len(inputs), BLOCK):
        alive |= (inputs[start : start + BLOCK] @ hidden.T + bias > 0).any(0)
    edges = np.cumsum([0, *(network.width for network in networks)])
    return [int(alive[a:b].sum()) for a, b in pairwise(edges)]


def _stacked(networks: Sequence[TwoLayer]) -> tuple[np.ndarray, np.ndarray]:
    hidden = np.concatenate([network.hidden.numpy() for network in networks])
    biases = [np.zeros(n.width) if n.hidden_bias is None else n.hidden_bias.numpy() for n in networks]
    return hidden, np.concatenate(biases).astype(hidden.dtype)
