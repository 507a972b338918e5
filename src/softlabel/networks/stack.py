"""Many students as one tall network.

The hidden weights of all students are stored in one tensor (2, rows, columns): the first halves of the neurons, then
the second halves, with students of one shape (a group) next to each other. One matrix product then serves all of them
(one for each order of rows, whose students are next to each other, too), and the two halves of a symmetric student go
through products of equal shape, so that they cancel exactly. A student of odd width has a phantom neuron at the end of
its second half, whose output weight stays 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from softlabel.networks.activations import Activation, activation
from softlabel.networks.students import Student
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics import Inputs


@dataclass
class Slot:
    """Trainable numbers, with students (or their rows) along dimension 1, and the learning rate of each."""

    value: Tensor
    gradient: Tensor
    learning_rate: Tensor
    moments: tuple[Tensor, Tensor] | None = None

    @classmethod
    def zeros(cls, value: Tensor, learning_rate: Tensor) -> "Slot":
        """A slot with this value and a gradient of zeros."""
        return cls(value, torch.zeros_like(value), learning_rate)

    def keep(self, index: Tensor) -> "Slot":
        """The slot of some of the students."""
        moments = self.moments
        return Slot(
            self.value.index_select(1, index),
            self.gradient.index_select(1, index),
            self.learning_rate.index_select(1, index),
            None if moments is None else (moments[0].index_select(1, index), moments[1].index_select(1, index)),
        )


@dataclass
class StudentGroup:
    """Students of one shape. `members` are their indices in the run; their rows are contiguous in each half."""

    members: list[int]
    width: int
    half: int
    output_scale: float
    activation: Activation
    activation_name: str
    first_row: int
    output: Slot  # (2, students, outputs, half)
    train_output: bool
    output_bias: Slot | None  # (1, students, outputs, 1)
    target_rows: Tensor  # (students,): index of the target distribution of each
    orders: Tensor  # (students,): index of the order of rows in which each sees mini-batches
    temperature: Tensor | None  # (students, 1, 1): of the students' logits, None if all are 1

    @property
    def scale(self) -> float:
        return self.output_scale / math.sqrt(self.width)

    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + len(self.members) * self.half)

    def halves(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """This group's part of (2, rows, examples), as two of (students, half, examples)."""
        shape = (len(self.members), self.half, z.shape[-1])
        return z[0, self.rows].view(shape), z[1, self.rows].view(shape)

    def by_student(self, rows: Tensor) -> Tensor:
        """This group's part of (2, rows, …), as (students, width, …), without phantoms."""
        part = rows[:, self.rows].unflatten(1, (len(self.members), self.half))
        return part.transpose(0, 1).flatten(1, 2)[:, : self.width]

    def logits(self, first: Tensor, second: Tensor) -> Tensor:
        """f (students, outputs, examples) from the activations of both halves (students, half, examples)."""
        logits = torch.bmm(self.output.value[0], first).add_(torch.bmm(self.output.value[1], second))
        logits.mul_(self.scale)
        return logits if self.output_bias is None else logits.add_(self.output_bias.value[0])


class Stack:
    """The students still in training.

    orders      index of each student's order of rows in mini-batches; by default all have the same
    by_rate     whether students of one shape and order are sorted by their learning rates
    """

    def __init__(
        self,
        students: Sequence[Student],
        inputs: Inputs,
        *,
        outputs: int,
        target_rows: Sequence[int],
        dtype: torch.dtype,
        orders: Sequence[int] | None = None,
        by_rate: bool = False,
    ) -> None:
        orders = [0] * len(students) if orders is None else orders
        self.inputs = inputs
        self.groups: list[StudentGroup] = []
        initial, learning_rates, radii = [], [], []
        row = 0
        for members in _by_shape(students, orders, by_rate):
            group, hidden = _group(students, members, row, inputs, outputs, target_rows, orders, dtype)
            row = group.rows.stop
            self.groups.append(group)
            initial.append(hidden)
            values = [students[i].learning_rate for i in members]
            limits = [(students[i].radius or math.inf) / math.sqrt(group.width) for i in members]
            learning_rates.append(torch.tensor(values, dtype=dtype).repeat_interleave(group.half))
            radii.append(torch.tensor(limits, dtype=dtype).repeat_interleave(group.half))
        full = torch.cat(initial, dim=1)  # (2, rows, dimension [+1]) in float64
        self.full_initial = full.to(dtype)
        self.initial = inputs.reduce(full).to(dtype)
        self.hidden = Slot.zeros(self.initial.clone(), torch.cat(learning_rates)[None, :, None])
        self.radius = torch.cat(radii)  # (rows,), infinite without projection

    @property
    def members(self) -> list[int]:
        return [member for group in self.groups for member in group.members]

    @property
    def rows(self) -> int:
        return self.initial.shape[1]

    def slots(self) -> list[Slot]:
        """Everything that is trained."""
        slots = [self.hidden]
        for group in self.groups:
            if group.train_output:
                slots.append(group.output)
            if group.output_bias is not None:
                slots.append(group.output_bias)
        return slots

    def full_weights(self) -> Tensor:
        """Hidden weights on the user's columns (2, rows, d [+1])."""
        change = self.inputs.expand(self.hidden.value - self.initial)
        return self.full_initial + change.to(self.full_initial.dtype)

    def by_student(self, rows: Tensor, reduce: str) -> Tensor:
        """Reduce one value per row (2, rows) to one per student, by 'sum' or 'max', in the order of `members`."""
        parts = [group.by_student(rows) for group in self.groups]
        return torch.cat([part.sum(1) if reduce == "sum" else part.amax(1) for part in parts])

    def network(self, member: int) -> TwoLayer:
        """One student as a network on the user's columns."""
        group = next(group for group in self.groups if member in group.members)
        index = group.members.index(member)
        rows = torch.arange(group.half) + group.first_row + index * group.half
        change = (self.hidden.value - self.initial).index_select(1, rows)
        initial = self.full_initial.index_select(1, rows)
        full = initial + self.inputs.expand(change).to(initial.dtype)
        hidden = full.flatten(0, 1)[: group.width]
        output = group.output.value[:, index].transpose(0, 1).flatten(1, 2)[:, : group.width]
        bias = group.output_bias
        return TwoLayer(
            hidden[:, : self.inputs.dimension].clone(),
            output * group.output_scale,
            None if bias is None else hidden[:, -1].clone(),
            None if bias is None else bias.value[0, index, :, 0].clone(),
            group.activation_name,
        )

    def keep(self, members: set[int]) -> None:
        """Remove all other students."""
        kept_rows: list[Tensor] = []
        groups: list[StudentGroup] = []
        row = 0
        for group in self.groups:
            kept = [k for k, member in enumerate(group.members) if member in members]
            if not kept:
                continue
            index = torch.tensor(kept)
            offsets = torch.arange(group.half)
            kept_rows.append((group.first_row + index[:, None] * group.half + offsets).flatten())
            group.members = [group.members[k] for k in kept]
            group.first_row = row
            group.output = group.output.keep(index)
            group.output_bias = None if group.output_bias is None else group.output_bias.keep(index)
            group.target_rows = group.target_rows[index]
            group.orders = group.orders[index]
            group.temperature = None if group.temperature is None else group.temperature[index]
            row = group.rows.stop
            groups.append(group)
        self.groups = groups
        index = torch.cat(kept_rows) if kept_rows else torch.empty(0, dtype=torch.long)
        self.hidden = self.hidden.keep(index)
        self.initial = self.initial.index_select(1, index)
        self.full_initial = self.full_initial.index_select(1, index)
        self.radius = self.radius[index]


def _by_shape(students: Sequence[Student], orders: Sequence[int], by_rate: bool) -> list[list[int]]:
    """Groups of one shape; with several shapes and orders, of one shape and order, order by order."""
    shapes = [(s.width, s.output_scale, s.activation, s.train_output, s.biases) for s in students]
    one_shape = len(set(shapes)) == 1
    numbers = sorted(range(len(students)), key=lambda k: (orders[k], students[k].learning_rate if by_rate else 0.0))
    groups: dict[tuple[object, ...], list[int]] = {}
    for k in numbers:
        groups.setdefault(shapes[k] if one_shape else (orders[k], *shapes[k]), []).append(k)
    return list(groups.values())


def _group(
    students: Sequence[Student],
    members: list[int],
    first_row: int,
    inputs: Inputs,
    outputs: int,
    target_rows: Sequence[int],
    orders: Sequence[int],
    dtype: torch.dtype,
) -> tuple[StudentGroup, Tensor]:
    """One group and its initial hidden weights (2, its rows, d [+1])."""
    first = students[members[0]]
    half = -(-first.width // 2)
    dimension = inputs.dimension
    hidden = torch.zeros(2, len(members), half, dimension + inputs.bias, dtype=torch.float64)
    output = torch.zeros(2, len(members), outputs, half, dtype=torch.float64)
    bias = torch.zeros(1, len(members), outputs, 1, dtype=torch.float64)
    for index, number in enumerate(members):
        student = students[number]
        network = TwoLayer.initialized(
            student.init,
            width=student.width,
            inputs=dimension,
            outputs=outputs,
            seed=student.seed,
            biases=student.biases,
        )
        for h, part in enumerate(network.hidden.split(half)):
            neurons = slice(h * half, (h + 1) * half)
            hidden[h, index, : len(part), :dimension] = part
            output[h, index, :, : len(part)] = network.output[:, neurons]
            if network.hidden_bias is not None:
                hidden[h, index, : len(part), -1] = network.hidden_bias[neurons]
        if network.output_bias is not None:
            bias[0, index, :, 0] = network.output_bias
    learning_rate = torch.tensor([students[i].learning_rate for i in members], dtype=dtype)[None, :, None, None]
    temperatures = [students[i].temperature if students[i].temperature_on == "both" else 1.0 for i in members]
    group = StudentGroup(
        members=list(members),
        width=first.width,
        half=half,
        output_scale=first.output_scale,
        activation=activation(first.activation),
        activation_name=first.activation,
        first_row=first_row,
        output=Slot.zeros(output.to(dtype), learning_rate),
        train_output=first.train_output,
        output_bias=Slot.zeros(bias.to(dtype), learning_rate) if first.biases else None,
        target_rows=torch.tensor([target_rows[i] for i in members]),
        orders=torch.tensor([orders[i] for i in members]),
        temperature=None if set(temperatures) == {1.0} else torch.tensor(temperatures, dtype=dtype)[:, None, None],
    )
    return group, hidden.flatten(1, 2)
