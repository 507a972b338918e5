"""How a gradient becomes a step: plain descent or Adam, then projection onto the balls round the start."""

from collections.abc import Callable

import torch

from softlabel.networks.stack import Slot, Stack

BETAS = (0.9, 0.999)
EPSILON = 1e-8


def descend(slot: Slot, step: int) -> None:
    """w ← w − η g."""
    slot.value.addcmul_(slot.gradient, slot.rate, value=-1)


def adam(slot: Slot, step: int) -> None:
    """Adam (Kingma and Ba) with its usual constants; `step` counts from 0."""
    if slot.moments is None:
        slot.moments = (torch.zeros_like(slot.value), torch.zeros_like(slot.value))
    first, second = slot.moments
    first.lerp_(slot.gradient, 1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(slot.gradient, slot.gradient, value=1 - BETAS[1])
    spread = (second / (1 - BETAS[1] ** (step + 1))).sqrt_().add_(EPSILON)
    slot.value.sub_(slot.rate * (first / spread), alpha=1 / (1 - BETAS[0] ** (step + 1)))


OPTIMISERS: dict[str, Callable[[Slot, int], None]] = {"gradient": descend, "adam": adam}


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
