"""Difference between the bfloat16 and float32 gradients of an untrained network."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from softlabel.networks.deep.images import Images
from softlabel.networks.deep.objective import two_columns
from softlabel.networks.parity import Parity

SAMPLE = 256


def precision_parity(network: nn.Module, images: Images) -> Parity:
    """Compare both precisions on the first images, without dropout; the network is not changed."""
    exact, rounded = (_gradient(network, images, rounded) for rounded in (False, True))
    cosine = float(exact @ rounded / (exact.norm() * rounded.norm()).clamp_min(1e-30))
    return Parity(float((rounded - exact).norm() / exact.norm().clamp_min(1e-30)), cosine, min(SAMPLE, len(images)))


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
