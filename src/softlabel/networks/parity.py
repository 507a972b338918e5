"""Parity report of a bfloat16 run: the difference between rounded and exact gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.networks.fused import FusedPass
from softlabel.networks.stack import Stack
from softlabel.networks.students import Student
from softlabel.numerics import Products, prepare_inputs

SAMPLE = 4096


@dataclass(frozen=True)
class Parity:
    """The initial gradient with bfloat16 products compared with float32, on the first rows of the inputs.

    relative_error  ‖g_bf16 − g_f32‖/‖g_f32‖ of the worst student
    cosine          cosine of the angle between the two gradients, of the worst student
    rows            number of examples compared
    """

    relative_error: float
    cosine: float
    rows: int


def gradient_parity(inputs: Any, students: Sequence[Student], targets: Tensor, target_rows: Sequence[int]) -> Parity:
    """Compare the initial gradients of students in both precisions; `targets` is (distinct, outputs, n)."""
    biases = any(student.biases for student in students)
    sample = inputs[:SAMPLE]
    gradients: list[Tensor] = []
    for precision in ("float32", "bfloat16"):
        products = Products(precision)
        table = prepare_inputs(np.array(sample), bias=biases, dtype=products.input_dtype, compact=False)
        stack = Stack(students, table, outputs=targets.shape[1], target_rows=target_rows, dtype=torch.float32)
        FusedPass(products).gradient(stack, table, targets[..., : table.rows])
        gradients.append(stack.hidden.gradient.double())
    exact, rounded = gradients
    norm = stack.by_student(exact.square().sum(-1), "sum").sqrt()
    off = stack.by_student((rounded - exact).square().sum(-1), "sum").sqrt()
    inner = stack.by_student((rounded * exact).sum(-1), "sum")
    other = stack.by_student(rounded.square().sum(-1), "sum").sqrt()
    return Parity(float((off / norm).max()), float((inner / (norm * other)).min()), table.rows)
