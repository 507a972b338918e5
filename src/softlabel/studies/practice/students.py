"""Students of several arms, widths and seeds trained together, and what is measured of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax

from softlabel.lab.scores import example_scores
from softlabel.networks import Student, TwoLayer, train_students
from softlabel.networks.deep.evaluation import calibration_error
from softlabel.networks.losses import Labels
from softlabel.networks.pgd import count_steps
from softlabel.networks.student_model import StudentModel
from softlabel.studies.practice.held import Held
from softlabel.studies.practice.recipe import Recipe, StudentCell

WATCHED_ROWS, WATCHES = 512, 10
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Measured:
    """A trained student and its course: loss and error on some training rows at some steps, and its neurons' state.

    course      "step", "loss", "error": one value a watch (none where settings are only tried)
    dead        share of neurons that are silent on all watched rows
    displacement   largest distance of a neuron from its start, ·√m (over B where there is a radius)
    held        share of the neurons that the projection holds back
    """

    cell: StudentCell
    network: TwoLayer
    course: dict[str, list[float]]
    dead: float
    displacement: float
    held: float


def train_cells(
    held: Held, recipe: Recipe, cells: Sequence[StudentCell], order_seed: int | None = None
) -> list[Measured]:
    """Train these students, those of one kind of inputs together; results in the order given.

    order_seed      of the order of batches that all of them share; by default the first cell's seed
    """
    order_seed = cells[0].seed if order_seed is None else order_seed
    found: dict[int, Measured] = {}
    extended = [k for k, cell in enumerate(cells) if cell.arm == "transfer"]
    plain = [k for k, cell in enumerate(cells) if cell.arm != "transfer"]
    for places, more in ((plain, False), (extended, True)):
        if places:
            trained = _train(held, recipe, [cells[k] for k in places], more, order_seed)
            found.update(zip(places, trained, strict=True))
    return [found[k] for k in range(len(cells))]


def _train(held: Held, recipe: Recipe, cells: list[StudentCell], extended: bool, order_seed: int) -> list[Measured]:
    inputs = held.extended if extended else held.inputs["train"]
    labels = held.labels(extended)
    students = [
        Student(
            width=cell.width, seed=cell.seed, labels="soft" if cell.arm in ("soft", "transfer") else "hard",
            temperature=cell.temperature, smoothing=cell.smoothing, radius=cell.radius, step=cell.step,
            start=recipe.start, train_output=recipe.train_output, biases=recipe.biases,
        )
        for cell in cells
    ]  # fmt: skip
    steps = count_steps(len(held.inputs["train"]), recipe.epochs, recipe.batch)  # the same for all arms
    course = _Course(held, cells, labels)

    def watch(step: int, weights: Any) -> None:
        if cells[0].stage != "choose":
            course.note(step, weights)

    run = train_students(
        inputs, students, labels, iterations=steps, batch_size=recipe.batch, order_seed=order_seed,
        optimiser="adam", schedule="cosine", precision=recipe.precision, observe=watch,
        observe_every=max(1, steps // WATCHES),
    )  # fmt: skip
    return [
        Measured(cell, trained.network, course.of(k), *course.state(trained.network, trained.settings))
        for k, (cell, trained) in enumerate(zip(cells, run, strict=True))
    ]


@dataclass
class _Course:
    """Loss and error of every student on a fixed sample of training rows."""

    held: Held
    cells: list[StudentCell]
    labels: dict[str, Labels]
    taken: dict[str, list[Any]] = field(default_factory=lambda: {"step": [], "loss": [], "error": []})

    def __post_init__(self) -> None:
        rows = len(self.held.inputs["train"])
        self.rows = np.sort(np.random.default_rng(0).permutation(rows)[:WATCHED_ROWS])
        self.inputs = self.held.inputs["train"][self.rows]
        self.truth = self.held.problem.truth("train")[self.rows]
        names = ["soft" if cell.arm in ("soft", "transfer") else "hard" for cell in self.cells]
        self.targets = [
            _columns(self.labels[name].targets(cell.temperature, cell.smoothing)[:, self.rows].T)
            for name, cell in zip(names, self.cells, strict=True)
        ]

    def note(self, step: int, weights: Any) -> None:
        losses, errors = [], []
        for k, target in enumerate(self.targets):
            said = log_probabilities(weights[k].logits(self.inputs))
            losses.append(float((target * (np.log(np.maximum(target, TINY)) - said)).sum(1).mean()))
            errors.append(float((said.argmax(1) != self.truth).mean()))
        for name, value in (("step", step), ("loss", losses), ("error", errors)):
            self.taken[name].append(value)

    def of(self, k: int) -> dict[str, list[float]]:
        return {
            "step": self.taken["step"],
            "loss": [values[k] for values in self.taken["loss"]],
            "error": [values[k] for values in self.taken["error"]],
        }

    def state(self, network: TwoLayer, student: Student) -> tuple[float, float, float]:
        """Dead neurons, displacement, and neurons on the ball."""
        start = TwoLayer.at_start(
            student.start, width=student.width, inputs=network.inputs, outputs=network.outputs, seed=student.seed
        )
        hidden = network.hidden.double().numpy()
        bias = np.zeros(len(hidden)) if network.hidden_bias is None else network.hidden_bias.double().numpy()
        dead = float((self.inputs @ hidden.T + bias <= 0).all(axis=0).mean())
        moved = np.sqrt(((hidden - start.hidden.numpy()) ** 2).sum(1) + bias**2) * math.sqrt(student.width)
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


def measure_students(held: Held, measured: Measured, metric: str, part: str) -> tuple[dict[str, Any], np.ndarray]:
    """Numbers about one student on a part, and its scores by example (n,)."""
    truth = held.problem.truth(part)
    said = probabilities(measured.network.logits(held.inputs[part]))
    scores = example_scores(metric, said, truth)
    right = example_scores("accuracy", said, truth)
    numbers = {
        "metric": float(scores.mean()),
        "accuracy": float(right.mean()),
        "log_loss": float(-example_scores("log loss", said, truth).mean()),
        "calibration_error": calibration_error(said.max(1), right),
    }
    taught = held.taught(part)
    if taught is not None:
        numbers["agreement"] = float((said.argmax(1) == taught.argmax(1)).mean())
        gap = np.log(np.maximum(taught, TINY)) - np.log(np.maximum(said, TINY))
        numbers["kl"] = float((taught * gap).sum(1).mean())
    return numbers, scores


def course_numbers(measured: Measured) -> dict[str, Any]:
    """What a run's records keep of a student's course, for `doctor`."""
    return {
        "course": measured.course,
        "dead": measured.dead,
        "displacement": measured.displacement,
        "held": measured.held,
        "parameters": measured.network.parameters,
    }


def student_model(held: Held, network: TwoLayer, cell: StudentCell) -> StudentModel:
    """The student with its preprocessing, its names and what its labels were, ready to be exported."""
    return StudentModel(network, held.problem.scaler, held.problem.classes, held.problem.columns, cell.softening)
