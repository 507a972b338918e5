"""Gradient descent and Adam with a learning-rate schedule, and the projection onto the balls around W(0)."""

import math
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor
from torch.optim.adam import adam

from softlabel.networks.stack import Slot, Stack, StudentGroup

BETAS = (0.9, 0.999)
EPSILON = 1e-8
PIECE = 1 << 15  # numbers that a piece of equal learning rate has at least on average, where pieces are updated alone


class Optimizer(Protocol):
    """Updates everything that is trained; `step` counts from 0, `factor` is that of the schedule."""

    def __call__(self, stack: Stack, step: int, factor: float) -> None: ...


class Descent:
    """w ← w − η g, with η the learning rate of each student times the schedule's factor."""

    def __call__(self, stack: Stack, step: int, factor: float) -> None:
        for slot in stack.slots():
            slot.value.addcmul_(slot.gradient, slot.learning_rate, value=-factor)


class Adam:
    """Adam (Kingma and Ba) with its usual constants, by PyTorch's fused kernel.

    The kernel takes one learning rate. Weights of equal learning rate that are next to each other are updated in place;
    where that would be many small pieces, the kernel computes the update of all of them with a learning rate of 1 into
    a buffer, which is multiplied by the learning rates.
    """

    def __init__(self) -> None:
        self._groups: list[StudentGroup] | None = None
        self._pieces: dict[float, _Pieces] = {}
        self._buffered: list[tuple[Slot, Tensor]] = []

    def __call__(self, stack: Stack, step: int, factor: float) -> None:
        if self._groups is not stack.groups:  # a stack that loses students has a new list of groups
            self._groups = stack.groups
            self._cut(stack.slots(), step)
        for learning_rate, pieces in self._pieces.items():
            pieces.update(learning_rate * factor)
        if self._buffered:
            self._units.update(1.0)
            for slot, buffer in self._buffered:
                slot.value.addcmul_(buffer, slot.learning_rate, value=factor)
                buffer.zero_()

    def _cut(self, slots: list[Slot], step: int) -> None:
        self._pieces, self._units, self._buffered = {}, _Pieces(step), []
        for slot in slots:
            if slot.moments is None:
                slot.moments = (torch.zeros_like(slot.value), torch.zeros_like(slot.value))
            rates, counts = torch.unique_consecutive(slot.learning_rate, return_counts=True)
            if slot.value.numel() < PIECE * len(rates) * slot.value.shape[0] and len(rates) > 1:
                buffer = torch.zeros_like(slot.value)
                self._buffered.append((slot, buffer))
                self._units.add(buffer, slot.gradient, *slot.moments)
                continue
            ends = counts.cumsum(0).tolist()
            for rate, count, end in zip(rates.tolist(), counts.tolist(), ends, strict=True):
                pieces = self._pieces.setdefault(rate, _Pieces(step))
                for half in range(slot.value.shape[0]):
                    tensors = (slot.value, slot.gradient, *slot.moments)
                    pieces.add(*(tensor[half, end - count : end] for tensor in tensors))


class _Pieces:
    """Weights that PyTorch's kernel updates in one call, with their gradients and moments."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.columns: tuple[list[Tensor], ...] = ([], [], [], [])
        self.steps: list[Tensor] = []

    def add(self, *tensors: Tensor) -> None:
        for column, tensor in zip(self.columns, tensors, strict=True):
            column.append(tensor)
        self.steps.append(torch.tensor(float(self.step)))

    def update(self, learning_rate: float) -> None:
        values, gradients, first, second = self.columns
        adam(
            values, gradients, first, second, [], self.steps, fused=True, lr=learning_rate, beta1=BETAS[0],
            beta2=BETAS[1], eps=EPSILON, weight_decay=0.0, amsgrad=False, maximize=False,
        )  # fmt: skip


OPTIMIZERS: dict[str, Callable[[], Optimizer]] = {"gradient": Descent, "adam": Adam}

# fraction of the run that is finished, from 0 to 1 → factor of every student's learning rate
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda finished: 1.0,
    "linear": lambda finished: 1 - finished,
    "cosine": lambda finished: (1 + math.cos(math.pi * finished)) / 2,
}


def project(stack: Stack) -> torch.Tensor:
    """Move every neuron outside its ball of radius B/√m around W(0) back to the ball; return the distances before.

    Neurons inside are not changed. Distances are (2, rows); they are finite if and only if the weights are.
    """
    change = stack.hidden.value - stack.initial
    distance = torch.linalg.vector_norm(change, dim=-1)
    outside = distance > stack.radius
    if outside.any():
        radius = stack.radius.expand_as(distance)[outside]
        shrunk = change[outside] * (radius / distance[outside])[:, None]
        stack.hidden.value[outside] = stack.initial[outside] + shrunk
    return distance
