"""Students of several arms, widths and seeds trained together, and what is measured of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax

from softlabel.networks import Student, TrainingOptions, TwoLayer, train_students
from softlabel.networks.losses import Labels
from softlabel.networks.pgd import count_steps
from softlabel.studies.students.measures import TINY
from softlabel.studies.students.recipe import Recipe, StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem

RECORDED_ROWS, RECORDS = 512, 10


@dataclass(frozen=True, eq=False)
class Measured:
    """A trained student with its training curve and the state of its neurons.

    course          "step", "loss", "error" on some training rows (empty where settings are only tried)
    dead            share of neurons that are inactive on all recorded rows
    displacement    largest distance of a neuron from its initialization, ·√m (over B where there is a radius)
    projected       share of neurons on the boundary of the projection
    """

    cell: StudentCell
    network: TwoLayer
    course: dict[str, list[float]]
    dead: float
    displacement: float
    projected: float


def train_cells(problem: TaughtProblem, recipe: Recipe, cells: Sequence[StudentCell]) -> list[Measured]:
    """Train these students, those with the same inputs together; results are in the order of the cells.

    Every seed has an order of batches of its own, which its arms and widths share.
    """
    by_cell: dict[int, Measured] = {}
    extended = [k for k, cell in enumerate(cells) if cell.has_more_rows]
    plain = [k for k, cell in enumerate(cells) if not cell.has_more_rows]
    for chosen, more in ((plain, False), (extended, True)):
        if chosen:
            trained = _train(problem, recipe, [cells[k] for k in chosen], more)
            by_cell.update(zip(chosen, trained, strict=True))
    return [by_cell[k] for k in range(len(cells))]


def _train(problem: TaughtProblem, recipe: Recipe, cells: list[StudentCell], extended: bool) -> list[Measured]:
    inputs = problem.extended if extended else problem.train.X
    labels = problem.labels(extended)
    students = [
        Student(
            width=cell.width, seed=cell.seed, labels="soft" if cell.learns_from_teacher else "hard",
            temperature=cell.temperature, smoothing=cell.smoothing, radius=cell.radius,
            temperature_on="both" if cell.both_sides else "labels", learning_rate=cell.learning_rate or 0.0,
            init=recipe.init, train_output=recipe.train_output, biases=recipe.biases,
        )
        for cell in cells
    ]  # fmt: skip
    steps = count_steps(len(problem.train.X), recipe.epochs, recipe.batch_size)  # the same for all arms
    course = _Course(problem, cells, labels)

    def record(step: int, weights: Any) -> None:
        if cells[0].stage != "choose":
            course.record(step, weights)

    run = train_students(
        inputs, students, labels, iterations=steps, batch_size=recipe.batch_size,
        seed=[cell.seed for cell in cells], optimizer="adam", schedule="cosine", options=TrainingOptions(
            precision=recipe.precision, callback=record, callback_every=max(1, steps // RECORDS)
        ),
    )  # fmt: skip
    return [
        Measured(cell, trained.network, course.curve(k), *course.state(trained.network, trained.settings))
        for k, (cell, trained) in enumerate(zip(cells, run, strict=True))
    ]


@dataclass
class _Course:
    """Loss and error of every student on a fixed sample of training rows."""

    problem: TaughtProblem
    cells: list[StudentCell]
    labels: dict[str, Labels]
    recorded: dict[str, list[Any]] = field(default_factory=lambda: {"step": [], "loss": [], "error": []})

    def __post_init__(self) -> None:
        rows = len(self.problem.train.X)
        self.rows = np.sort(np.random.default_rng(0).permutation(rows)[:RECORDED_ROWS])
        self.inputs = self.problem.train.X[self.rows]
        self.truth = self.problem.train.y[self.rows]
        names = ["soft" if cell.learns_from_teacher else "hard" for cell in self.cells]
        self.targets = [
            _columns(self.labels[name].targets(cell.temperature, cell.smoothing)[:, self.rows].T)
            for name, cell in zip(names, self.cells, strict=True)
        ]

    def record(self, step: int, weights: Any) -> None:
        losses, errors = [], []
        for k, target in enumerate(self.targets):
            heat = self.cells[k].temperature if self.cells[k].both_sides else 1
            predicted = log_probabilities(weights[k].logits(self.inputs) / heat)
            losses.append(float((target * (np.log(np.maximum(target, TINY)) - predicted)).sum(1).mean()))
            errors.append(float((predicted.argmax(1) != self.truth).mean()))
        for name, value in (("step", step), ("loss", losses), ("error", errors)):
            self.recorded[name].append(value)

    def curve(self, k: int) -> dict[str, list[float]]:
        return {
            "step": self.recorded["step"],
            "loss": [values[k] for values in self.recorded["loss"]],
            "error": [values[k] for values in self.recorded["error"]],
        }

    def state(self, network: TwoLayer, student: Student) -> tuple[float, float, float]:
        """Dead neurons, displacement, and neurons on the boundary of the ball."""
        start = TwoLayer.initialized(
            student.init,
            width=student.width,
            inputs=network.inputs,
            outputs=network.outputs,
            seed=student.seed,
            biases=student.biases,
        )
        hidden, bias, begun = network.hidden.double().numpy(), np.zeros(network.width), np.zeros(network.width)
        if network.hidden_bias is not None and start.hidden_bias is not None:
            bias, begun = network.hidden_bias.double().numpy(), start.hidden_bias.numpy()
        dead = float((self.inputs @ hidden.T + bias <= 0).all(axis=0).mean())
        moved = np.sqrt(((hidden - start.hidden.numpy()) ** 2).sum(1) + (bias - begun) ** 2) * math.sqrt(student.width)
        if student.radius is None:
            return dead, float(moved.max()), 0.0
        return dead, float(moved.max() / student.radius), float((moved >= 0.999 * student.radius).mean())


def _columns(targets: np.ndarray) -> np.ndarray:
    """(n, K) from (n, 1) of two classes."""
    return np.concatenate([1 - targets, targets], axis=1) if targets.shape[1] == 1 else targets


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """(n, K) from a network's outputs (n,) or (n, K)."""
    z = logits.astype(np.float64)
    if z.ndim == 1:
        return np.stack([-np.logaddexp(0, z), -np.logaddexp(0, -z)], axis=1)
    return log_softmax(z, axis=1)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """The same as probabilities."""
    z = logits.astype(np.float64)
    return np.stack([expit(-z), expit(z)], axis=1) if z.ndim == 1 else np.exp(log_softmax(z, axis=1))


def course_numbers(measured: Measured) -> dict[str, Any]:
    """The training curve and the state of the neurons, as a run records them for `doctor`."""
    return {
        "course": measured.course,
        "dead": measured.dead,
        "displacement": measured.displacement,
        "projected": measured.projected,
        "parameters": measured.network.parameters,
    }
