"""Projected gradient descent for many students at once (Mandal, section 3.1):

    descent      ŵ_j = w_j − η ∇_{w_j} R(W)
    projection   w_j ← nearest point to ŵ_j with ‖w_j − w_j(0)‖ ≤ B/√m

`train_students` trains a list of students that may differ in all settings of `Student`, in one pass over the inputs per
step. Results are equal to the bit for the same settings, number of threads and list of students; other students in the
list change the shape of the products and therefore the rounding.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from softlabel.errors import DivergedError, require, unknown
from softlabel.memory import check_memory
from softlabel.networks.batch_pass import BatchPass
from softlabel.networks.batches import Batches
from softlabel.networks.fused import FusedPass
from softlabel.networks.losses import Labels
from softlabel.networks.optimizers import OPTIMIZERS, SCHEDULES, project
from softlabel.networks.parity import gradient_parity
from softlabel.networks.records import measure
from softlabel.networks.stack import Stack
from softlabel.networks.students import Student
from softlabel.networks.targets import count_outputs, hard_decisions, labels_by_name, mean_one, target_tensors
from softlabel.networks.training_run import TrainedStudent, TrainingRun, Weights
from softlabel.networks.validation import EarlyStopping, Validation
from softlabel.numerics import Products, prepare_inputs
from softlabel.ranges import check_count


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of `train_students` that are rarely needed.

    Parameters
    ----------
    precision : {"float32", "float64", "bfloat16"}, default="float32"
        Floating-point type. "bfloat16" applies to matrix products only and needs a processor that supports it.
    tolerance : float, optional
        A student stops when a full-batch step changes its weights by at most `learning_rate * tolerance`.
    record_every : int, optional
        Number of steps between records of loss, error, displacement, flipped activations and dead neurons. Default: no
        records.
    callback : callable, optional
        Called as `callback(step, weights)` before the first step, then every `callback_every` steps and at the end;
        `weights[k]` is the current network of student k, and `weights.latest_record(k)` its latest record.
    callback_every : int, default=1
        Number of steps between calls of the callback.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> x = np.random.default_rng(0).standard_normal((100, 5))
    >>> y = np.where(x[:, 0] > 0, 1, -1)
    >>> options = sl.TrainingOptions(precision="float64", record_every=50)
    >>> run = sl.train_students(x, [sl.Student(width=8)], y, iterations=100, options=options)
    >>> run[0].records["step"]
    [0, 50, 100]
    """

    precision: str = "float32"
    tolerance: float | None = None
    record_every: int | None = None
    callback: Callable[[int, Weights], None] | None = None
    callback_every: int = 1

    def __post_init__(self) -> None:
        require(
            self.tolerance is None or self.tolerance >= 0,
            f"tolerance must be ≥ 0, or None for a fixed number of steps, got {self.tolerance}",
        )
        for name in ("record_every", "callback_every"):
            every = getattr(self, name)
            require(every is None or every >= 1, f"{name} must be an integer ≥ 1, got {every}")


def train_students(
    inputs: Any,
    students: Sequence[Student],
    labels: Labels | Mapping[str, Labels] | Any,
    *,
    sample_weight: Any = None,
    iterations: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    seed: int | Sequence[int] = 0,
    optimizer: str = "gradient",
    schedule: str = "constant",
    validation: Validation | None = None,
    options: TrainingOptions | None = None,
) -> TrainingRun:
    """Train two-layer students together on the same inputs.

    Parameters
    ----------
    inputs : array-like of shape (n, d)
        Training inputs. A `numpy.memmap` is streamed with constant memory.
    students : sequence of Student
        Settings of the students.
    labels : Labels, mapping of str to Labels, or array-like of shape (n,)
        Label arrays by name, as named by `Student.labels`. A single array has the name "hard".
    sample_weight : array-like of shape (n,) or (n, number of students), optional
        Weights of the rows, for all students or for each. They are scaled to mean 1; the loss is the weighted mean of
        the rows' losses, and in a mini-batch the weighted sum divided by the batch size.
    iterations : int, optional
        Number of steps. Specify either `iterations` or `epochs`.
    epochs : int, optional
        Number of passes over the data.
    batch_size : int, optional
        Batch size. Default: full batch.
    seed : int or sequence of int, default=0
        Seed of the order of rows in mini-batches: one for all students, or one for each, so that their results are
        independent. Students with equal seeds see the same mini-batches.
    optimizer : {"gradient", "adam"}, default="gradient"
        Optimizer; each step is followed by the projection.
    schedule : {"constant", "linear", "cosine"}, default="constant"
        Learning-rate schedule; "linear" and "cosine" decrease to 0 over the run.
    validation : Validation, optional
        Early stopping, separately for each student.
    options : TrainingOptions, optional
        Precision, tolerance, records and callback.

    Returns
    -------
    TrainingRun
        A sequence with one `TrainedStudent` per student.

    Raises
    ------
    InputError
        If the arguments are inconsistent.
    DivergedError
        If the weights of a student become infinite or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> x = np.random.default_rng(0).standard_normal((200, 5))
    >>> z = 3 * x[:, 0] - x[:, 1]
    >>> labels = {"hard": sl.hard_labels(z > 0), "teacher": sl.teacher_logits(z)}
    >>> students = [sl.Student(width=8, labels=name) for name in labels]
    >>> run = sl.train_students(x, students, labels, iterations=200)
    >>> [bool(((trained.network.logits(x) > 0) == (z > 0)).mean() > 0.9) for trained in run]
    [True, True]
    """
    if schedule not in SCHEDULES:
        raise unknown("schedule", schedule, SCHEDULES)
    options = options or TrainingOptions()
    seeds, orders = _orders(seed, len(students))
    run = StackTraining(inputs, students, labels, sample_weight, optimizer, validation, options, orders)
    batches = Batches(run.inputs.rows, batch_size, seeds)
    steps = _count_iterations(iterations, epochs, batches.per_epoch)
    require(
        options.tolerance is None or batches.per_epoch == 1,
        "`tolerance` needs full-batch steps (mini-batch steps do not become small); omit `batch_size` or `tolerance`",
    )
    began = time.perf_counter()
    for step in range(steps):
        run.record(step)
        if run.validate(step):
            break
        run.advance(step, batches.rows(step), SCHEDULES[schedule](step / steps))
        if not run.stack.members:
            break
    else:
        run.record(steps, last=True)
        run.validate(steps)
    run.finish(run.stack.members, "iterations", steps)
    return TrainingRun(tuple(run.finished[i] for i in range(len(students))), time.perf_counter() - began, run.parity)


def _orders(seed: int | Sequence[int], students: int) -> tuple[list[int], list[int]]:
    """The distinct seeds of orders of rows, and the number of each student's among them."""
    if isinstance(seed, Integral):
        return [int(seed)], [0] * students
    own = [int(one) for one in seed]  # pyright: ignore[reportGeneralTypeIssues]
    require(
        len(own) == students, f"seed must be one integer, or one for each of the {students} students, got {len(own)}"
    )
    seeds = list(dict.fromkeys(own))
    return seeds, [seeds.index(one) for one in own]


def count_steps(rows: int, epochs: int, batch_size: int | None) -> int:
    """Number of steps in this number of epochs."""
    return epochs * Batches(rows, batch_size).per_epoch


def _count_iterations(iterations: int | None, epochs: int | None, per_epoch: int) -> int:
    require(
        (iterations is None) != (epochs is None),
        "specify exactly one of `iterations` (steps) and `epochs` (passes over the data)",
    )
    if iterations is not None:
        check_count(iterations, "iterations")
        return iterations
    check_count(epochs, "epochs")
    return (epochs or 0) * per_epoch


class StackTraining:
    """The state of one call of `train_students`: the students in training and those that have finished."""

    def __init__(
        self,
        inputs: Any,
        students: Sequence[Student],
        labels: Labels | Mapping[str, Labels] | Any,
        sample_weight: Any,
        optimizer: str,
        validation: Validation | None,
        options: TrainingOptions,
        orders: Sequence[int] | None = None,
    ) -> None:
        require(len(students) > 0, "students must contain at least one Student, got an empty list")
        if optimizer not in OPTIMIZERS:
            raise unknown("optimizer", optimizer, OPTIMIZERS)
        self.students = list(students)
        self.update = OPTIMIZERS[optimizer]()
        self.options = options
        self.products = Products(options.precision)
        if self.products.dtype == torch.float32:
            for student in students:
                student.check_sizes()
        biases = any(student.biases for student in students)
        self.inputs = prepare_inputs(
            inputs, bias=biases, dtype=self.products.input_dtype, rotate=optimizer == "gradient"
        )
        named = labels_by_name(labels)
        outputs = count_outputs(named, self.inputs.rows)
        dtype = self.products.dtype
        self.targets, target_rows = target_tensors(named, self.students, dtype)
        self.truth = hard_decisions(named, dtype)
        self.sample_weight = None
        if sample_weight is not None:
            self.sample_weight = mean_one(sample_weight, self.inputs.rows, len(self.students), dtype)
        neurons = sum(student.width for student in self.students)
        check_memory(  # weights, initial weights, gradients and the state of the optimizer
            6 * neurons * (self.inputs.columns + outputs),
            f"students with {neurons:,} neurons in total",
            "use fewer neurons",
            dtype.itemsize,
        )
        self.stack = Stack(
            self.students,
            self.inputs,
            outputs=outputs,
            target_rows=target_rows,
            dtype=dtype,
            orders=orders,
            by_rate=optimizer == "adam",
        )
        self.bounded = any(student.radius is not None for student in students)
        rounded = self.products.rounded
        self.parity = gradient_parity(inputs, self.students, self.targets, target_rows) if rounded else None
        self.fused = FusedPass(self.products)
        self.stopping = None if validation is None else EarlyStopping(validation, self.stack, self.products, biases)
        self.finished: dict[int, TrainedStudent] = {}
        self.records: list[dict[str, list[float]]] = [{} for _ in students]

    @cached_property
    def batch(self) -> BatchPass:
        """Gradients on mini-batches."""
        return BatchPass(self.products, self.inputs, self.targets, self.sample_weight)

    def advance(self, step: int, rows: Tensor | None, factor: float = 1.0) -> None:
        """One step of all students with `factor` times their learning rates; students within the tolerance finish."""
        stack = self.stack
        if rows is None:
            self.fused.gradient(stack, self.inputs, self.targets, self.sample_weight)
        else:
            self.batch.gradient(stack, rows)
        self._clear_fixed_gradients()
        tolerance = self.options.tolerance
        before = None if tolerance is None else stack.hidden.value.clone()
        self.update(stack, step, factor)
        if self.bounded or not torch.isfinite(torch.linalg.vector_norm(stack.hidden.value)):
            distance = project(stack)
            if not torch.isfinite(distance).all():
                self._raise_diverged(distance, step)
        if before is not None and tolerance is not None:
            moved = stack.by_student((stack.hidden.value - before).square().sum(-1), "sum").sqrt()
            learning_rates = torch.tensor([self.students[i].learning_rate for i in stack.members])
            done = [m for m, small in zip(stack.members, moved <= tolerance * learning_rates, strict=True) if small]
            self.finish(done, "tolerance", step + 1)

    def _clear_fixed_gradients(self) -> None:
        """Set the gradients of phantoms' output weights, and of biases of students without biases, to zero."""
        for group in self.stack.groups:
            if group.train_output and group.width % 2:
                group.output.gradient[1, :, :, -1] = 0
            if self.inputs.bias and group.output_bias is None:
                self.stack.hidden.gradient[:, group.rows, self.inputs.used - 1] = 0

    def _raise_diverged(self, distance: Tensor, step: int) -> None:
        worst = self.stack.by_student(torch.isfinite(distance).logical_not().double(), "max")
        member = self.stack.members[int(worst.argmax())]
        student = self.students[member]
        raise DivergedError(
            f"student {member} (width {student.width}, seed {student.seed}, labels '{student.labels}') diverged at "
            f"step {step}: its `learning_rate` {student.learning_rate} is too large for these inputs"
        )

    def validate(self, step: int) -> bool:
        """Finish students that no longer improve; True if no student is left."""
        if self.stopping is not None and step % self.stopping.validation.every == 0:
            self.finish(self.stopping.check(self.stack, step), "validation", step)
        return not self.stack.members

    def record(self, step: int, last: bool = False) -> None:
        """Write the records of this step and call the callback, if they are due."""
        options = self.options
        if options.record_every is not None and (step % options.record_every == 0 or last):
            rows = measure(
                self.stack, self.students, self.fused, self.inputs, self.targets, self.truth, self.sample_weight
            )
            for member, row in rows.items():
                for name, value in {"step": step, **row}.items():
                    self.records[member].setdefault(name, []).append(value)
        if options.callback is not None and (step % options.callback_every == 0 or last):
            options.callback(step, Weights(self.stack, self.finished, self.records))

    def finish(self, members: Sequence[int], reason: str, step: int) -> None:
        """Remove these students from training; with validation they keep their best weights."""
        for member in members:
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
        if members:
            self.stack.keep(set(self.stack.members) - set(members))
