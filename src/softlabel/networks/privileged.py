"""Students with privileged knowledge (Rahbar, equation 2), trained together by full-batch gradient descent:

    loss      Σ_i (y_i − f(x_i))² + λ Σ_i Σ_k (φ^(k)(x_i) − σ(w_k·x_i))²,      f = (1/√m) Σ_k a_k σ(w_k·x)
    step      w_k ← w_k + η Σ_i σ'(w_k·x_i) x_i [ (a_k/√m)(y_i − f(x_i)) + λ(φ^(k)(x_i) − σ(w_k·x_i)) ]

(gradient descent on half the loss, with fixed output weights). λ = ∞ is the limit in which the labels have no
influence: the bracket is φ^(k) − σ alone, and time is measured as λt. Students may differ in width, λ, initialization
and privileged knowledge; their hidden weights form one tall matrix, so that every step is two products for all of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import DivergedError, InputError, require
from softlabel.networks.activations import activation
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics import prepare_inputs
from softlabel.ranges import check_count, check_positive
from softlabel.theory.dynamics import KernelProblem, UnseenRows

BLOCK = 2048
LARGEST_STRENGTH = 1e30


@dataclass(frozen=True, eq=False)
class PrivilegedStudent:
    """A student's initialization and its privileged knowledge.

    hidden      (m, d) initial hidden weights W(0)
    output      (m,) output weights a_k
    strength    λ from 0 to ∞ (math.inf)
    privileged  (m, n) φ_k on the training inputs; optional if λ = 0
    """

    hidden: np.ndarray
    output: np.ndarray
    strength: float = 0.0
    privileged: np.ndarray | None = None
    activation: str = "relu"
    name: str = ""

    def __post_init__(self) -> None:
        m = len(self.output)
        require(
            np.ndim(self.hidden) == 2 and len(self.hidden) == m and m > 0,
            f"hidden weights must be ({m}, inputs) for {m} output weights, got shape {np.shape(self.hidden)}",
        )
        check_strength(self.strength)
        if self.strength > 0 and self.privileged is None:
            raise InputError(f"`strength` {self.strength} needs privileged knowledge; pass it, or use 0")
        activation(self.activation)

    @property
    def width(self) -> int:
        """Number of neurons m."""
        return len(self.output)


def check_strength(strength: float) -> None:
    """Raise unless λ is infinite or a number whose products stay finite."""
    require(
        0 <= strength <= LARGEST_STRENGTH or strength == math.inf,
        f"strength must lie between 0 and {LARGEST_STRENGTH:g}, or be infinite (labels are ignored), got {strength}",
    )


@dataclass(frozen=True, eq=False)
class PrivilegedRun:
    """A student after training: its network, and mean squared errors and outputs at the recorded steps.

    steps           recorded steps
    train, test     mean (y − f)² at these steps; `test` is empty without test data
    outputs         (records, n) f on the training inputs, if they were kept
    """

    student: PrivilegedStudent
    network: TwoLayer
    steps: list[int]
    train: list[float]
    test: list[float]
    outputs: np.ndarray | None


def draw_privileged_init(width: int, inputs: int, scale: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """W(0) ~ N(0, scale²) and a_k = ±1 (equation 16)."""
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((width, inputs)), rng.choice((-1.0, 1.0), width)


def select_units(network: TwoLayer, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights (count, d) and output weights (count,) of randomly chosen units, without replacement."""
    require(1 <= count <= network.width, f"cannot select {count} of {network.width} units")
    chosen = np.sort(np.random.default_rng(seed).choice(network.width, count, replace=False))
    return network.hidden.double().numpy()[chosen], network.output.double().numpy()[0, chosen]


def unit_outputs(hidden: Any, inputs: Any, name: str = "relu") -> np.ndarray:
    """σ(w_k·x) of every unit on the inputs, (m, n), for example of a teacher's units."""
    z = torch.as_tensor(np.asarray(hidden, dtype=np.float64)) @ torch.as_tensor(np.asarray(inputs, np.float64)).t()
    return activation(name).value(z).numpy()


def kernel_problem(student: PrivilegedStudent, inputs: Any, y: Any, *, unseen: Any = None) -> KernelProblem:
    """The kernel-regime problem that predicts the student's training; `unseen` are inputs (t, d) beside these."""
    x, features, slopes = _linearized(student, inputs)
    privileged = features if student.privileged is None else student.privileged
    problem = KernelProblem.from_arrays(x, features, slopes, student.output, privileged, y, student.strength)
    return problem if unseen is None else replace(problem, unseen=UnseenRows(*_linearized(student, unseen)))


def _linearized(student: PrivilegedStudent, inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs (n, d), and for every unit its outputs (m, n) and slopes (m, n) at initialization."""
    x = torch.as_tensor(np.asarray(inputs, dtype=np.float64))
    z = torch.as_tensor(np.asarray(student.hidden, dtype=np.float64)) @ x.t()
    kind = activation(student.activation)
    features, slopes = kind.value(z), z.clone()
    kind.backward(torch.ones_like(z), slopes)
    return x, features, slopes


def train_privileged(
    inputs: Any,
    y: Any,
    students: Sequence[PrivilegedStudent],
    *,
    iterations: int,
    learning_rate: float,
    record_every: int | None = None,
    test: tuple[Any, Any] | None = None,
    keep_outputs: bool = False,
    precision: str = "float32",
    progress: Callable[[int], None] | None = None,
) -> list[PrivilegedRun]:
    """Train students together on inputs (n, d) and labels y (n,), full batch.

    learning_rate   η, the same for all students
    record_every    number of steps between records (the last step is always recorded)
    test            test inputs and labels, on which errors are recorded too
    keep_outputs    whether to keep f on the training inputs at every record
    progress        called with the step at every record
    """
    require(len(students) > 0, "students must contain at least one student, got an empty list")
    check_count(iterations, "iterations")
    check_positive(learning_rate, "learning_rate")
    run = _PrivilegedTraining(inputs, y, students, precision)
    every = record_every or iterations
    test_data = None if test is None else _TestData(test, run)
    for iteration in range(iterations + 1):
        last = iteration == iterations
        run.advance(learning_rate if not last else 0.0)
        if last or iteration % every == 0:
            run.record(iteration, test_data, keep_outputs)
            if progress is not None:
                progress(iteration)
        run.weights += run.gradient
    return run.results()


class _PrivilegedTraining:
    """The weights of all students as one matrix, and their records."""

    def __init__(self, inputs: Any, y: Any, students: Sequence[PrivilegedStudent], precision: str) -> None:
        require(precision in ("float32", "float64"), f"precision must be float32 or float64, got '{precision}'")
        self.dtype = getattr(torch, precision)
        names = {student.activation for student in students}
        require(len(names) == 1, f"students trained together must share one activation, got {sorted(names)}")
        self.kind = activation(names.pop())
        self.students = list(students)
        self.inputs = prepare_inputs(inputs, bias=False, dtype=self.dtype)
        n = self.inputs.rows
        self.y = torch.as_tensor(np.asarray(y, dtype=np.float64)).to(self.dtype)
        require(self.y.shape == (n,), f"labels have shape {tuple(self.y.shape)}, inputs have {n} rows; they must match")
        for student in students:
            if student.privileged is not None:
                expected, got = (student.width, n), student.privileged.shape
                require(got == expected, f"privileged knowledge must be (units, examples) = {expected}, got {got}")
            require(
                student.hidden.shape[1] == self.inputs.dimension,
                f"hidden weights have {student.hidden.shape[1]} columns, inputs have {self.inputs.dimension}",
            )
        full = torch.from_numpy(np.concatenate([np.asarray(s.hidden, dtype=np.float64) for s in students]))
        self.full_initial = full
        self.initial = self.inputs.reduce(full[None])[0].to(self.dtype)
        self.weights = self.initial.clone()
        widths = [student.width for student in students]
        self.owner = torch.arange(len(students)).repeat_interleave(torch.tensor(widths))
        self.edges = np.cumsum([0, *widths])
        self.mix = self._column([s.output / math.sqrt(s.width) for s in students])
        self.by_labels = self._column([np.full(s.width, 0.0 if math.isinf(s.strength) else 1.0) for s in students])
        self.by_knowledge = self._column(
            [np.full(s.width, 1.0 if math.isinf(s.strength) else s.strength) for s in students]
        )
        blank = [np.zeros((s.width, n)) if s.privileged is None else s.privileged for s in students]
        self.knowledge = torch.from_numpy(np.concatenate(blank)).to(self.dtype)
        self.gradient = torch.zeros_like(self.weights)
        self.outputs = torch.zeros(len(students), n, dtype=self.dtype)
        self.steps: list[int] = []
        self.train: list[list[float]] = []  # at every recorded step, the errors of all students
        self.test: list[list[float]] = []
        self.kept: list[np.ndarray] = []

    def _column(self, parts: Sequence[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.concatenate(parts)).to(self.dtype)[:, None]

    def advance(self, learning_rate: float) -> None:
        """Compute f of all students on all inputs and, unless the learning rate is 0, the change of their weights."""
        self.gradient.zero_()
        for begin in range(0, self.inputs.rows, BLOCK):
            end = min(begin + BLOCK, self.inputs.rows)
            x = self.inputs.block(begin, end)
            z = self.weights @ x.t()
            features = self.kind.value(z)
            f = self.collect(features)
            self.outputs[:, begin:end] = f
            if learning_rate == 0.0:
                continue
            pull = (self.y[begin:end] - f)[self.owner].mul_(self.by_labels * self.mix)
            pull.addcmul_(self.knowledge[:, begin:end] - features, self.by_knowledge)
            self.kind.backward(pull, z)
            self.gradient.addmm_(z, x, alpha=learning_rate)

    def collect(self, features: Tensor) -> Tensor:
        """f of every student from the features of all units (units, examples)."""
        f = torch.zeros(len(self.students), features.shape[1], dtype=features.dtype)
        return f.index_add_(0, self.owner, features * self.mix)

    def record(self, iteration: int, test_data: "_TestData | None", keep: bool) -> None:
        errors = (self.outputs - self.y).double().square().mean(1)
        if not torch.isfinite(errors).all():
            worst = int(torch.isfinite(errors).logical_not().nonzero()[0])
            name = self.students[worst].name or str(worst)
            raise DivergedError(f"student '{name}' diverged before step {iteration}: use a smaller learning rate")
        self.steps.append(iteration)
        self.train.append(errors.tolist())
        if test_data is not None:
            self.test.append(test_data.errors(self))
        if keep:
            self.kept.append(self.outputs.double().numpy().copy())

    def full(self) -> Tensor:
        """Weights on the user's columns, in float64."""
        return self.full_initial + self.inputs.expand(self.weights - self.initial)

    def results(self) -> list[PrivilegedRun]:
        full = self.full()
        runs = []
        for index, student in enumerate(self.students):
            rows = slice(int(self.edges[index]), int(self.edges[index + 1]))
            output = torch.from_numpy(np.asarray(student.output, dtype=np.float64))[None]
            network = TwoLayer(full[rows], output, activation=student.activation)
            outputs = np.stack([kept[index] for kept in self.kept]) if self.kept else None
            train, test = ([errors[index] for errors in records] for records in (self.train, self.test))
            runs.append(PrivilegedRun(student, network, self.steps, train, test, outputs))
        return runs


class _TestData:
    """Test data on which errors are recorded."""

    def __init__(self, test: tuple[Any, Any], run: _PrivilegedTraining) -> None:
        self.x = torch.as_tensor(np.asarray(test[0])).to(run.dtype)
        self.y = torch.as_tensor(np.asarray(test[1], dtype=np.float64)).to(run.dtype)
        require(
            self.x.ndim == 2 and self.x.shape[1] == run.inputs.dimension and self.y.shape == (len(self.x),),
            f"test data must have {run.inputs.dimension} columns and one label per row",
        )

    def errors(self, run: _PrivilegedTraining) -> list[float]:
        """Mean (y − f)² of every student."""
        weights = run.full().to(run.dtype)
        total = torch.zeros(len(run.students), dtype=torch.float64)
        for x, y in zip(self.x.split(BLOCK), self.y.split(BLOCK), strict=True):
            total += (run.collect(run.kind.value(weights @ x.t())) - y).double().square().sum(1)
        return (total / len(self.y)).tolist()
