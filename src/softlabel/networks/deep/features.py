"""Features of a named layer, and the loss that matches them (Rahbar's equation 2 for deep networks)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from softlabel.errors import InputError, require
from softlabel.networks.deep.images import stream
from softlabel.networks.deep.prepared import Prepared


class Tap:
    """Keeps the output of a named layer of a network until it is closed."""

    def __init__(self, network: nn.Module, layer: str) -> None:
        self.value: Tensor | None = None
        self.handle = find_layer(network, layer).register_forward_hook(self._keep)

    def _keep(self, module: nn.Module, inputs: object, value: Tensor) -> None:
        self.value = value.clone()  # a later layer may modify it in place

    def take(self) -> Tensor:
        """Output of the last forward pass, (n, units, …)."""
        if self.value is None:
            raise InputError("the matched layer was not used in the last forward pass")
        value, self.value = self.value, None
        return value.float()

    def close(self) -> None:
        self.handle.remove()


def find_layer(network: nn.Module, layer: str) -> nn.Module:
    """A layer by its name in the network, or in the network inside a `Prepared` one."""
    inner = network.network if isinstance(network, Prepared) else network
    layers = dict(inner.named_modules()) | dict(network.named_modules())
    if layer not in layers or layer == "":
        names = [name for name, module in inner.named_modules() if name and not list(module.children())]
        raise InputError(f"unknown layer '{layer}': there are {', '.join(names)}")
    return layers[layer]


@dataclass(frozen=True)
class FeatureMatch:
    """A layer of the student and the layer of the teacher whose features it learns.

    Parameters
    ----------
    student_layer, teacher_layer : str
        Names of the layers, as in `network.named_modules()`.
    seed : int, default=0
        Seed of the choice of units if the teacher's layer has more units than the student's.

    See Also
    --------
    train_network : Takes a `FeatureMatch` together with a teacher and `Objective.feature_weight`.

    Examples
    --------
    >>> import softlabel as sl
    >>> match = sl.FeatureMatch("blocks.0", "blocks.1")
    >>> match.seed
    0
    """

    student_layer: str
    teacher_layer: str
    seed: int = 0


def feature_loss(own: Tensor, target: Tensor, seed: int) -> Tensor:
    """Mean of (φ_k − f_k)² over examples, units and pixels.

    The teacher's maps are averaged to the size of the student's, and as many of its units are chosen as the student
    has.
    """
    require(
        own.ndim in (2, 4) and target.ndim in (2, 4),
        f"matched layers must output (n, units) or (n, channels, h, w), got {own.ndim} and {target.ndim} dimensions",
    )
    if own.ndim == 4 and target.ndim == 4 and own.shape[2:] != target.shape[2:]:
        target = functional.adaptive_avg_pool2d(target, (own.shape[2], own.shape[3]))
    elif own.ndim != target.ndim:
        own, target = (part.mean((2, 3)) if part.ndim == 4 else part for part in (own, target))
    units, available = own.shape[1], target.shape[1]
    require(
        units <= available,
        f"the student's layer has {units} units, the teacher's only {available}; match a layer with at least as many",
    )
    if units < available:
        target = target[:, torch.randperm(available, generator=stream(seed, 2))[:units].sort().values]
    return (own - target).square().mean()
