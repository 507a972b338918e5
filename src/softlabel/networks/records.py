"""What a run writes down about its students at chosen steps."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from softlabel.networks.fused import FusedPass
from softlabel.networks.losses import loss_values, mistakes
from softlabel.networks.stack import Stack
from softlabel.networks.students import Student
from softlabel.numerics import Inputs

RECORDED = ("loss", "error", "displacement", "flipped", "dead")


def measure(
    stack: Stack,
    students: Sequence[Student],
    fused: FusedPass,
    inputs: Inputs,
    targets: Tensor,
    truth: Tensor | None,
    weights: Tensor | None = None,
) -> dict[int, dict[str, float]]:
    """For each student in training:

    loss            mean training loss, rows counted by `weights` (n,) of mean 1
    error           share of training examples with y f ≤ 0 (left out where no hard labels are known)
    displacement    max_j ‖w_j − w_j(0)‖·√m/B, and ·√m alone without a radius
    flipped         share of (neuron, example) pairs whose activation differs from the start's
    dead            share of neurons that are active (w·x + b > 0) on no training example
    """
    sums: dict[str, Tensor] = {}

    def add(name: str, value: Tensor) -> None:
        sums[name] = sums.get(name, torch.zeros(len(stack.members), dtype=torch.float64)) + value.double()

    alive = torch.zeros(2, stack.rows, dtype=torch.bool)
    active_start = _active(stack, fused, inputs)
    for rows, outputs, z in fused.logits(stack, inputs, stack.hidden.value):
        losses, errors = [], []
        for group, logits in zip(stack.groups, outputs, strict=True):
            part = targets[..., rows].index_select(0, group.target_rows)
            values = loss_values(logits, part, group.temperature)
            losses.append(values.sum(1) if weights is None else values @ weights[rows])
            if truth is not None:
                errors.append(mistakes(logits, truth[rows]).sum(1))
        add("loss", torch.cat(losses))
        if errors:
            add("error", torch.cat(errors))
        now = z > 0
        flipped = (now != next(active_start)).sum(2, dtype=torch.float64)
        add("flipped", stack.by_student(flipped, "sum"))
        alive |= now.any(2)
    change = torch.linalg.vector_norm(stack.hidden.value - stack.start, dim=-1)
    displacement = stack.by_student(change, "max").tolist()
    dead = stack.by_student(alive.logical_not(), "sum").tolist()
    result: dict[int, dict[str, float]] = {}
    for place, member in enumerate(stack.members):
        student = students[member]
        row = {name: float(total[place]) / inputs.rows for name, total in sums.items()}
        row["flipped"] /= student.width
        row["displacement"] = displacement[place] * math.sqrt(student.width) / (student.radius or 1.0)
        row["dead"] = dead[place] / student.width
        result[member] = row
    return result


def _active(stack: Stack, fused: FusedPass, inputs: Inputs):
    """Which neurons were active at the start, block by block: (2, rows, examples)."""
    own = FusedPass(fused.products)
    for _, _, z in own.logits(stack, inputs, stack.start):
        yield z > 0
