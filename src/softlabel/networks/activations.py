"""Activations of the hidden layer, each with its derivative.

ReLU follows the convention σ'(0) = 0, i.e. the indicator 1(z > 0), everywhere in the project.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from softlabel.errors import unknown


def _relu_backward(upstream: Tensor, z: Tensor) -> None:
    torch.ops.aten.threshold_backward.grad_input(upstream, z, 0, grad_input=z)


def _through(derivative: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], None]:
    def backward(upstream: Tensor, z: Tensor) -> None:
        torch.mul(upstream, derivative(z), out=z)

    return backward


def _gelu_derivative(z: Tensor) -> Tensor:
    density = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + torch.erf(z / math.sqrt(2))) + z * density


@dataclass(frozen=True)
class Activation:
    """`value(z)` is σ(z); `backward(upstream, z)` overwrites z with upstream · σ'(z).

    overwrite   overwrites z with σ(z), where `backward` may be given σ(z) in place of z; None where it may not
    """

    value: Callable[[Tensor], Tensor]
    backward: Callable[[Tensor, Tensor], None]
    overwrite: Callable[[Tensor], Tensor] | None = None


ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(torch.relu, _relu_backward, torch.relu_),
    "softplus": Activation(lambda z: torch.logaddexp(z, torch.zeros_like(z)), _through(torch.sigmoid)),
    "tanh": Activation(torch.tanh, _through(lambda z: 1 - torch.tanh(z).square())),
    "erf": Activation(torch.erf, _through(lambda z: torch.exp(-z * z) * (2 / math.sqrt(math.pi)))),
    "gelu": Activation(functional.gelu, _through(_gelu_derivative)),
}


def activation(name: str) -> Activation:
    """The activation with this name."""
    if name not in ACTIVATIONS:
        raise unknown("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]
