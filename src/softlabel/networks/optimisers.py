"""How a gradient becomes a step: descent or Adam, on a schedule, then projection onto the balls round the start."""

import math
from collections.abc import Callable

import torch

from softlabel.networks.stack import Slot, Stack

BETAS = (0.9, 0.999)
EPSILON = 1e-8


def descend(slot: Slot, step: int, pace: float) -> None:
    """w ← w − η g, with η the slot's rate times the pace."""
    slot.value.addcmul_(slot.gradient, slot.rate, value=-pace)


def adam(slot: Slot, step: int, pace: float) -> None:
    """Adam (Kingma and Ba) with its usual constants; `step` counts from 0."""
    if slot.moments is None:
        slot.moments = (torch.zeros_like(slot.value), torch.zeros_like(slot.value))
    first, second = slot.moments
    first.lerp_(slot.gradient, 1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(slot.gradient, slot.gradient, value=1 - BETAS[1])
    spread = (second / (1 - BETAS[1] ** (step + 1))).sqrt_().add_(EPSILON)
    slot.value.sub_(slot.rate * (first / spread), alpha=pace / (1 - BETAS[0] ** (step + 1)))


OPTIMISERS: dict[str, Callable[[Slot, int, float], None]] = {"gradient": descend, "adam": adam}

# share of a run that is over, from 0 to 1 → factor of every student's step
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda over: 1.0,
    "linear": lambda over: 1 - over,
    "cosine": lambda over: (1 + math.cos(math.pi * over)) / 2,
}


def project(stack: Stack) -> torch.Tensor:
    """Bring every neuron back into its ball of radius B/√m round its start; returns the distances before.

    Neurons inside are not touched. Distances are (2, rows); they are finite if and only if the weights are.
    """
    change = stack.hidden.value - stack.start
    distance = torch.linalg.vector_norm(change, dim=-1)
    outside = distance > stack.radius
    if outside.any():
        radius = stack.radius.expand_as(distance)[outside]
        shrunk = change[outside] * (radius / distance[outside])[:, None]
        stack.hidden.value[outside] = stack.start[outside] + shrunk
    return distance
