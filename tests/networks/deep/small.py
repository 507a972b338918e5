"""Small images that a small network can learn, in no time."""

import numpy as np
import torch
from torch import nn

from softlabel.networks.deep import Images


def images(n: int = 60, classes: int = 2, size: int = 8, channels: int = 1, seed: int = 0) -> Images:
    """Each class is bright in a place of its own, under noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    pixels = rng.normal(0, 0.3, (n, channels, size, size)).astype(np.float32)
    for row, label in enumerate(labels):
        pixels[row, :, :, (label * size) // classes] += 1
    return Images.from_arrays(pixels, labels, classes, layout="channels_first")


def network(classes: int = 2, size: int = 8, channels: int = 1, seed: int = 0, dropout: float = 0.2) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(channels, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.Flatten(),
        nn.Dropout(dropout), nn.Linear(4 * size * size, classes),
    )  # fmt: skip
