"""A network that takes raw pixels: the standardization of pixels is part of the network, saved and exported with it."""

import torch
from torch import Tensor, nn

from softlabel.networks.deep.images import Images


class Prepared(nn.Module):
    """Applies (pixels − mean)/spread to every channel, then the network."""

    mean: Tensor
    spread: Tensor

    def __init__(self, network: nn.Module, mean: Tensor, spread: Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", mean.reshape(1, -1, 1, 1).clone())
        self.register_buffer("spread", spread.reshape(1, -1, 1, 1).clone())

    def forward(self, pixels: Tensor) -> Tensor:
        return self.network((pixels - self.mean) / self.spread)


def prepared_for(network: nn.Module, images: Images) -> Prepared:
    """A network that standardizes pixels with the mean and spread of these (training) images first."""
    mean = images.pixels.mean((0, 2, 3))
    spread = images.pixels.std((0, 2, 3)).clamp_min(1e-6)
    return Prepared(network, mean, torch.where(spread > 1e-5, spread, torch.ones_like(spread)))
