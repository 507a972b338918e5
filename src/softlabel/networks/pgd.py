"""Projected gradient descent for many students at once (Mandal, section 3.1):

    descent      ŵ_j = w_j − η ∇_{w_j} R(W)
    projection   w_j ← nearest point to ŵ_j with ‖w_j − w_j(0)‖ ≤ B/√m

`train_students` trains a list of students that may differ in everything `Student` holds, in one pass over the inputs
a step. The same settings, thread count and companions give the same bits; other companions change the
shape of the products and so the rounding.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import DivergedError, InputError, require, unknown
from softlabel.memory import check_memory
from softlabel.networks.fused import FusedPass
from softlabel.networks.losses import Labels, hard_labels
from softlabel.networks.optimisers import OPTIMISERS, SCHEDULES, project
from softlabel.networks.parity import Parity, gradient_parity
from softlabel.networks.records import measure
from softlabel.networks.stack import Stack
from softlabel.networks.students import Student
from softlabel.networks.two_layer import TwoLayer
from softlabel.networks.validation import EarlyStopping, Validation
from softlabel.numerics import Inputs, Products, prepare_inputs
from softlabel.ranges import check_count


@dataclass(frozen=True, eq=False)
class TrainedStudent:
    """A student after training.

    `stopped` says why: "iterations", "tolerance" or "validation" (then the best weights seen are kept, from step
    `best_step`). `records` maps "step", "loss", "error", "displacement", "flipped", "dead" to one value a record.
    """

    settings: Student
    network: TwoLayer
    steps: int
    stopped: str
    best_step: int
    validation_error: float | None
    records: dict[str, list[float]]


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """What `train_students` returns; indexes and iterates over its students in the order given."""

    students: tuple[TrainedStudent, ...]
    seconds: float
    parity: Parity | None = None

    def __len__(self) -> int:
        return len(self.students)

    def __getitem__(self, number: int) -> TrainedStudent:
        return self.students[number]

    def __iter__(self) -> Iterator[TrainedStudent]:
        return iter(self.students)


class Weights:
    """What an observer sees at a step: the networks of all students, made when asked for."""

    def __init__(self, stack: Stack, finished: Mapping[int, TrainedStudent]) -> None:
        self._stack, self._finished = stack, finished

    @property
    def training(self) -> list[int]:
        """Numbers of the students still in training."""
        return sorted(self._stack.members)

    def __getitem__(self, number: int) -> TwoLayer:
        done = self._finished.get(number)
        return self._stack.network(number) if done is None else done.network


Observe = Callable[[int, Weights], None]


def train_students(
    inputs: Any,
    students: Sequence[Student],
    labels: Labels | Mapping[str, Labels] | Any,
    *,
    weights: Any = None,
    iterations: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    order_seed: int = 0,
    optimiser: str = "gradient",
    schedule: str = "constant",
    precision: str = "float32",
    tolerance: float | None = None,
    validation: Validation | None = None,
    record_every: int | None = None,
    observe: Observe | None = None,
    observe_every: int = 1,
) -> TrainingRun:
    """Train students together on the same inputs.

    inputs          (n, d) numbers, in memory or a numpy.memmap (then streamed)
    students        their settings
    labels          label arrays by name; one `Labels`, or plain hard labels, stands for {"hard": …}
    weights         (n,) what each row counts, scaled to mean 1: the loss is Σ w_i ℓ_i / Σ w_i, and for a mini-batch
                    Σ w_i ℓ_i over its rows / its size; None counts all alike
    iterations      steps; or `epochs`, passes over the data
    batch_size      rows a step, in an order drawn from `order_seed`; None is all of them
    optimiser       "gradient" or "adam"; either is followed by the projection
    schedule        "constant", or the steps shrink to 0 over the run: "linear", "cosine"
    precision       "float32", "float64", or "bfloat16" (products only, where the processor has them)
    tolerance       a student is done when a step moves its weights by at most η·tolerance (full batch)
    validation      early stopping, student by student
    record_every    steps between records of loss, error, displacement, flipped activations and dead neurons
    observe         called as observe(step, weights) before the first step, then every `observe_every` steps
    """
    if schedule not in SCHEDULES:
        raise unknown("schedule", schedule, SCHEDULES)
    run = Training(
        inputs,
        students,
        labels,
        optimiser=optimiser,
        precision=precision,
        validation=validation,
        tolerance=tolerance,
        weights=weights,
    )
    batches = _Batches(run.inputs.rows, batch_size, order_seed)
    steps = _steps(iterations, epochs, batches.per_epoch)
    require(
        tolerance is None or batches.full,
        "tolerance needs full-batch steps (a mini-batch step is never small); leave out batch_size or tolerance",
    )
    for name, every in (("record_every", record_every), ("observe_every", observe_every)):
        require(every is None or every >= 1, f"{name} must be a whole number ≥ 1, got {every}")
    began = time.perf_counter()
    for step in range(steps):
        run.watch(step, record_every, observe, observe_every)
        if run.validate(step):
            break
        run.advance(step, batches.rows(step), SCHEDULES[schedule](step / steps))
        if not run.stack.members:
            break
    else:
        run.watch(steps, record_every, observe, observe_every, last=True)
        run.validate(steps)
    run.finish(run.stack.members, "iterations", steps)
    return TrainingRun(tuple(run.finished[i] for i in range(len(students))), time.perf_counter() - began, run.parity)


@dataclass
class _Batches:
    """Which rows each step sees: all (None), or the next piece of this epoch's permutation."""

    count: int
    size: int | None
    seed: int
    _epoch: int = -1
    _order: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))

    def __post_init__(self) -> None:
        require(self.size is None or self.size >= 1, f"batch_size must be a whole number ≥ 1, got {self.size}")

    @property
    def full(self) -> bool:
        return self.size is None or self.size >= self.count

    @property
    def per_epoch(self) -> int:
        return 1 if self.full or self.size is None else math.ceil(self.count / self.size)

    def rows(self, step: int) -> Tensor | None:
        if self.full or self.size is None:
            return None
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._epoch, self._order = epoch, torch.from_numpy(rng.permutation(self.count))
        return self._order[place * self.size : (place + 1) * self.size]


def count_steps(rows: int, epochs: int, batch_size: int | None) -> int:
    """Steps that so many epochs take."""
    return epochs * _Batches(rows, batch_size, 0).per_epoch


def _steps(iterations: int | None, epochs: int | None, per_epoch: int) -> int:
    require(
        (iterations is None) != (epochs is None),
        "give either iterations (steps) or epochs (passes over the data), not both and not neither",
    )
    if iterations is not None:
        check_count(iterations, "iterations")
        return iterations
    check_count(epochs, "epochs")
    return (epochs or 0) * per_epoch


class Training:
    """The state of one call of `train_students`: everyone in training, and those that have finished."""

    def __init__(
        self,
        inputs: Any,
        students: Sequence[Student],
        labels: Labels | Mapping[str, Labels] | Any,
        *,
        optimiser: str,
        precision: str,
        validation: Validation | None,
        tolerance: float | None,
        weights: Any = None,
    ) -> None:
        require(len(students) > 0, "students: the list is empty; give at least one Student")
        if optimiser not in OPTIMISERS:
            raise unknown("optimiser", optimiser, OPTIMISERS)
        require(
            tolerance is None or tolerance >= 0,
            f"tolerance must be ≥ 0, or None for a fixed number of steps, got {tolerance}",
        )
        self.students = list(students)
        self.update = OPTIMISERS[optimiser]
        self.tolerance = tolerance
        self.products = Products(precision)
        if self.products.dtype == torch.float32:
            for student in students:
                student.check_sizes()
        biases = any(student.biases for student in students)
        self.inputs: Inputs = prepare_inputs(
            inputs, bias=biases, dtype=self.products.input_dtype, rotate=optimiser == "gradient"
        )
        named = _named(labels)
        outputs = _agreed(named, self.inputs.rows)
        self.targets, target_rows = _targets(named, self.students, self.products.dtype)
        self.truth = _truth(named, self.products.dtype)
        self.weights = None if weights is None else _mean_one(weights, self.inputs.rows, self.products.dtype)
        neurons = sum(student.width for student in self.students)
        check_memory(  # weights, their start, gradients and what an optimiser keeps
            6 * neurons * (self.inputs.columns + outputs),
            f"students of {neurons:,} neurons in all",
            "take fewer neurons",
            self.products.dtype.itemsize,
        )
        self.stack = Stack(
            self.students,
            self.inputs,
            outputs=outputs,
            target_rows=target_rows,
            dtype=self.products.dtype,
        )
        self.parity = None
        if self.products.rounded:
            self.parity = gradient_parity(inputs, self.students, self.targets, target_rows)
        self.fused = FusedPass(self.products)
        self.stopping = None if validation is None else EarlyStopping(validation, self.stack, self.products, biases)
        self.finished: dict[int, TrainedStudent] = {}
        self.records: list[dict[str, list[float]]] = [{} for _ in students]

    def advance(self, step: int, rows: Tensor | None, pace: float = 1.0) -> None:
        """One step of everyone, `pace` times as long as each one's own; students that come to rest leave."""
        stack = self.stack
        self.fused.gradient(stack, self.inputs, self.targets, rows, self.weights)
        self._hold_still()
        before = stack.hidden.value.clone() if self.tolerance is not None else None
        for slot in stack.slots():
            self.update(slot, step, pace)
        distance = project(stack)
        if not torch.isfinite(distance).all():
            self._diverged(distance, step)
        if before is not None and self.tolerance is not None:
            moved = stack.by_student((stack.hidden.value - before).square().sum(-1), "sum").sqrt()
            rates = torch.tensor([self.students[i].step for i in stack.members])
            resting = [m for m, rest in zip(stack.members, moved <= self.tolerance * rates, strict=True) if rest]
            self.finish(resting, "tolerance", step + 1)

    def _hold_still(self) -> None:
        """Gradients of what does not learn: phantoms' output weights, biases of students without them."""
        for group in self.stack.groups:
            if group.train_output and group.width % 2:
                group.output.gradient[1, :, :, -1] = 0
            if self.inputs.bias and group.output_bias is None:
                self.stack.hidden.gradient[:, group.rows, self.inputs.used - 1] = 0

    def _diverged(self, distance: Tensor, step: int) -> None:
        worst = self.stack.by_student(torch.isfinite(distance).logical_not().double(), "max")
        member = self.stack.members[int(worst.argmax())]
        student = self.students[member]
        raise DivergedError(
            f"student {member} (width {student.width}, seed {student.seed}, labels '{student.labels}') left the finite "
            f"numbers at step {step}; its step size {student.step} is too large for these inputs"
        )

    def validate(self, step: int) -> bool:
        """Let students leave that no longer improve; True when nobody is left."""
        if self.stopping is not None and step % self.stopping.validation.every == 0:
            self.finish(self.stopping.check(self.stack, step), "validation", step)
        return not self.stack.members

    def watch(
        self,
        step: int,
        record_every: int | None,
        observe: Observe | None,
        observe_every: int,
        last: bool = False,
    ) -> None:
        if record_every is not None and (step % record_every == 0 or last):
            rows = measure(self.stack, self.students, self.fused, self.inputs, self.targets, self.truth, self.weights)
            for member, row in rows.items():
                for name, value in {"step": step, **row}.items():
                    self.records[member].setdefault(name, []).append(value)
        if observe is not None and (step % observe_every == 0 or last):
            observe(step, Weights(self.stack, self.finished))

    def finish(self, members: Sequence[int], reason: str, step: int) -> None:
        """Take these students out of training, with their best weights if validation chose them."""
        if not members:
            return
        for member in list(members):
            best = None if self.stopping is None else self.stopping.best.get(member)
            self.finished[member] = TrainedStudent(
                settings=self.students[member],
                network=self.stack.network(member) if best is None else best.network,
                steps=step,
                stopped=reason,
                best_step=step if best is None else best.step,
                validation_error=None if best is None else best.error,
                records=self.records[member],
            )
        self.stack.keep(set(self.stack.members) - set(members))


def _named(labels: Labels | Mapping[str, Labels] | Any) -> dict[str, Labels]:
    if isinstance(labels, Mapping):
        return {name: given if isinstance(given, Labels) else hard_labels(given) for name, given in labels.items()}
    return {"hard": labels if isinstance(labels, Labels) else hard_labels(labels)}


def _agreed(named: Mapping[str, Labels], rows: int) -> int:
    """The number of outputs on which all label arrays agree; raises where lengths or classes differ."""
    for name, given in named.items():
        if given.rows != rows:
            raise InputError(f"labels '{name}' have {given.rows} rows, inputs have {rows}; they must match row by row")
    outputs = {name: given.outputs for name, given in named.items()}
    if len(set(outputs.values())) > 1:
        raise InputError(f"label arrays disagree about the number of classes: {outputs} outputs")
    return next(iter(outputs.values()))


def _mean_one(weights: Any, rows: int, dtype: torch.dtype) -> Tensor:
    """Sample weights (rows,), checked and scaled to mean 1."""
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("weights must be numbers, one a row of the inputs") from None
    require(given.shape == (rows,), f"weights must be one a row of the inputs: {rows} rows, got shape {given.shape}")
    bad = np.flatnonzero(~((given >= 0) & (given < np.inf)))
    if len(bad):
        raise InputError(f"weights must be finite and not negative, got {given[bad[0]]} at row {bad[0]}")
    largest = given.max()
    require(largest > 0, "weights are all 0: at least one row must count")
    given = given / largest  # so that no sum overflows
    return torch.from_numpy(given / given.mean()).to(dtype)


def _targets(named: Mapping[str, Labels], students: Sequence[Student], dtype: torch.dtype) -> tuple[Tensor, list[int]]:
    """Distinct target distributions (distinct, outputs, n), and which of them each student learns from."""
    distinct: dict[tuple[str, float, float], int] = {}
    tables, rows = [], []
    for student in students:
        if student.labels not in named:
            raise unknown("label array", student.labels, named)
        key = (student.labels, student.temperature, student.smoothing)
        if key not in distinct:
            distinct[key] = len(tables)
            table = named[student.labels].targets(student.temperature, student.smoothing)
            tables.append(torch.from_numpy(np.ascontiguousarray(table)).to(dtype))
        rows.append(distinct[key])
    return torch.stack(tables), rows


def _truth(named: Mapping[str, Labels], dtype: torch.dtype) -> Tensor | None:
    """The decisions of the first hard label array, by which errors are counted."""
    for given in named.values():
        if given.kind == "hard":
            return torch.from_numpy(given.decisions()).to(dtype if given.outputs == 1 else torch.long)
    return None
