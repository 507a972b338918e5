"""Features of a named layer, and the privileged loss on them (Rahbar's equation 2 for deep networks)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from softlabel.errors import InputError, require
from softlabel.networks.deep.images import stream
from softlabel.networks.deep.prepared import Prepared


class Tap:
    """Keeps what a named layer of a network puts out, while it is open."""

    def __init__(self, network: nn.Module, layer: str) -> None:
        self.value: Tensor | None = None
        self.handle = find_layer(network, layer).register_forward_hook(self._keep)

    def _keep(self, module: nn.Module, given: object, value: Tensor) -> None:
        self.value = value.clone()  # a later layer may work in place

    def take(self) -> Tensor:
        """What the last forward pass put out, (n, units, …)."""
        require(self.value is not None, "the tapped layer was not reached by the last pass")
        assert self.value is not None
        value, self.value = self.value, None
        return value.float()

    def close(self) -> None:
        self.handle.remove()


def find_layer(network: nn.Module, layer: str) -> nn.Module:
    """A layer by its name in the network, or in the network behind what prepares its images."""
    inner = network.network if isinstance(network, Prepared) else network
    layers = dict(inner.named_modules()) | dict(network.named_modules())
    if layer not in layers or layer == "":
        names = [name for name, module in inner.named_modules() if name and not list(module.children())]
        raise InputError(f"unknown layer '{layer}': there are {', '.join(names)}")
    return layers[layer]


@dataclass(frozen=True)
class FeatureMatch:
    """Which layer of the student learns from which of the teacher; more units there are chosen from by the seed."""

    student_layer: str
    teacher_layer: str
    seed: int = 0


def feature_loss(own: Tensor, known: Tensor, seed: int) -> Tensor:
    """Mean of (φ_k − f_k)² over examples, units and places of the image.

    The teacher's maps are averaged to the size of the student's; of its units as many are chosen as the student has.
    """
    require(
        own.ndim in (2, 4) and known.ndim in (2, 4),
        f"matched layers must give (n, units) or (n, channels, h, w), got {own.ndim} and {known.ndim} axes",
    )
    if own.ndim == 4 and known.ndim == 4 and own.shape[2:] != known.shape[2:]:
        known = functional.adaptive_avg_pool2d(known, (own.shape[2], own.shape[3]))
    elif own.ndim != known.ndim:
        own, known = (part.mean((2, 3)) if part.ndim == 4 else part for part in (own, known))
    units, there = own.shape[1], known.shape[1]
    require(
        units <= there,
        f"the student's layer has {units} units, the teacher's only {there}; knowledge of some units goes to fewer",
    )
    if units < there:
        known = known[:, torch.randperm(there, generator=stream(seed, 2))[:units].sort().values]
    return (own - known).square().mean()
