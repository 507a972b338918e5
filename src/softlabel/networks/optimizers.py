"""Gradient descent and Adam with a learning-rate schedule, and the projection onto the balls around W(0)."""

import math
from collections.abc import Callable

import torch

from softlabel.networks.stack import Slot, Stack

BETAS = (0.9, 0.999)
EPSILON = 1e-8


def descend(slot: Slot, step: int, factor: float) -> None:
    """w ← w − η g, with η the slot's learning rate times the schedule's factor."""
    slot.value.addcmul_(slot.gradient, slot.learning_rate, value=-factor)


def adam(slot: Slot, step: int, factor: float) -> None:
    """Adam (Kingma and Ba) with its usual constants; `step` counts from 0."""
    if slot.moments is None:
        slot.moments = (torch.zeros_like(slot.value), torch.zeros_like(slot.value))
    first, second = slot.moments
    first.lerp_(slot.gradient, 1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(slot.gradient, slot.gradient, value=1 - BETAS[1])
    spread = (second / (1 - BETAS[1] ** (step + 1))).sqrt_().add_(EPSILON)
    slot.value.sub_(slot.learning_rate * (first / spread), alpha=factor / (1 - BETAS[0] ** (step + 1)))


OPTIMIZERS: dict[str, Callable[[Slot, int, float], None]] = {"gradient": descend, "adam": adam}

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
