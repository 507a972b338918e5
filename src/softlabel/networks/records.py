"""Quantities that a run records about its students."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from softlabel.networks.fused import FusedPass
from softlabel.networks.losses import loss_values, mistakes
from softlabel.networks.stack import Stack
from softlabel.networks.students import Student
from softlabel.networks.targets import weights_of
from softlabel.numerics import Inputs


def measure(
    stack: Stack,
    students: Sequence[Student],
    fused: FusedPass,
    inputs: Inputs,
    targets: Tensor,
    truth: Tensor | None,
    sample_weight: Tensor | None = None,
) -> dict[int, dict[str, float]]:
    """The records of each student in training:

    loss            mean training loss, weighted by `sample_weight` (1 or students, n) of mean 1
    error           fraction of training examples with y f ≤ 0 (missing if there are no hard labels)
    displacement    max_j ‖w_j − w_j(0)‖·√m/B, or max_j ‖w_j − w_j(0)‖·√m without a radius
    flipped         fraction of (neuron, example) pairs whose activation differs from the initial one
    dead            fraction of neurons that are active (w·x + b > 0) on no training example
    """
    sums: dict[str, Tensor] = {}

    def add(name: str, value: Tensor) -> None:
        sums[name] = sums.get(name, torch.zeros(len(stack.members), dtype=torch.float64)) + value.double()

    alive = torch.zeros(2, stack.rows, dtype=torch.bool)
    initially_active = _active(stack, fused, inputs)
    for rows, outputs, z in fused.logits(stack, inputs, stack.hidden.value):
        losses, errors = [], []
        for group, logits in zip(stack.groups, outputs, strict=True):
            part = targets[..., rows].index_select(0, group.target_rows)
            values = loss_values(logits, part, group.temperature)
            if sample_weight is not None:
                values = values * weights_of(sample_weight, group.members)[:, rows]
            losses.append(values.sum(1))
            if truth is not None:
                errors.append(mistakes(logits, truth[rows]).sum(1))
        add("loss", torch.cat(losses))
        if errors:
            add("error", torch.cat(errors))
        now = z > 0
        flipped = (now != next(initially_active)).sum(2, dtype=torch.float64)
        add("flipped", stack.by_student(flipped, "sum"))
        alive |= now.any(2)
    change = torch.linalg.vector_norm(stack.hidden.value - stack.initial, dim=-1)
    displacement = stack.by_student(change, "max").tolist()
    dead = stack.by_student(alive.logical_not(), "sum").tolist()
    result: dict[int, dict[str, float]] = {}
    for index, member in enumerate(stack.members):
        student = students[member]
        row = {name: float(total[index]) / inputs.rows for name, total in sums.items()}
        row["flipped"] /= student.width
        row["displacement"] = displacement[index] * math.sqrt(student.width) / (student.radius or 1.0)
        row["dead"] = dead[index] / student.width
        result[member] = row
    return result


def _active(stack: Stack, fused: FusedPass, inputs: Inputs):
    """Which neurons are active at the initialization, block by block: (2, rows, examples)."""
    own = FusedPass(fused.products)
    for _, _, z in own.logits(stack, inputs, stack.initial):
        yield z > 0
