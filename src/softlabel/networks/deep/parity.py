"""Difference between the bfloat16 and float32 gradients of an untrained network."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from softlabel.networks.deep.images import Images
from softlabel.networks.deep.objective import two_columns

SAMPLE = 256


@dataclass(frozen=True)
class DeepParity:
    """‖g_bf16 − g_f32‖/‖g_f32‖ and the cosine of the angle between them, on the first images, without dropout."""

    relative_error: float
    cosine: float
    rows: int


def precision_parity(network: nn.Module, images: Images) -> DeepParity:
    """Compare both precisions; the network is not changed."""
    gradients = [_gradient(network, images, rounded) for rounded in (False, True)]
    exact, rounded = gradients
    cosine = float(exact @ rounded / (exact.norm() * rounded.norm()).clamp_min(1e-30))
    return DeepParity(float((rounded - exact).norm() / exact.norm().clamp_min(1e-30)), cosine, min(SAMPLE, len(images)))


def _gradient(network: nn.Module, images: Images, rounded: bool) -> Tensor:
    was_training = network.training
    network.eval()  # no dropout, no update of statistics
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    device = parameters[0].device
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=rounded):
            logits = network(images.pixels[:SAMPLE].to(device))
        loss = functional.cross_entropy(two_columns(logits.float()), images.labels[:SAMPLE].to(device))
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    finally:
        network.train(was_training)
    parts = [torch.zeros_like(p) if part is None else part for p, part in zip(parameters, gradients, strict=True)]
    return torch.cat([part.reshape(-1).double() for part in parts])
