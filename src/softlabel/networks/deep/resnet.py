"""Residual networks for small images (He and others, section 4.2): 6k + 2 layers, stages of 16, 32, 64 channels.

A first convolution is followed by k blocks of two convolutions in each stage. Where the channels double, the image is
halved, and the shortcut is the subsampled image with zeros for the new channels (option A of the paper: no parameters).
Batch normalization follows every convolution; a mean over the image and one fully connected layer give the logits.
`width_multiplier` multiplies every number of channels.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from softlabel.errors import require
from softlabel.networks.deep.normalization import Normalization
from softlabel.networks.deep.vgg import initialize_for_relu, scaled

CHANNELS = (16, 32, 64)


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, channels: int, size: int, stride: int) -> None:
        super().__init__()
        self.stride, self.added = stride, size - channels
        self.first = nn.Conv2d(channels, size, 3, stride, 1, bias=False)
        self.first_norm = Normalization(size)
        self.second = nn.Conv2d(size, size, 3, 1, 1, bias=False)
        self.second_norm = Normalization(size)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.first_norm(self.first(x)), inplace=True)
        shortcut = x if self.stride == 1 else x[:, :, :: self.stride, :: self.stride]
        if self.added:
            shortcut = functional.pad(shortcut, (0, 0, 0, 0, 0, self.added))
        return functional.relu(self.second_norm(self.second(inner)) + shortcut, inplace=True)


class ResNet(nn.Module):
    """ResNet of `depth` layers (8, 14, 20, 32, …) for images (channels, height, width)."""

    def __init__(self, depth: int, classes: int, image: tuple[int, int, int], width_multiplier: float = 1.0) -> None:
        super().__init__()
        require(depth >= 8 and depth % 6 == 2, f"a residual network has 8, 14, 20, 26, 32, … layers, got {depth}")
        require(classes >= 2, f"classes must be at least 2, got {classes}")
        require(min(image[1:]) >= 4, f"a residual network needs at least 4 × 4 pixels, got {image[1]} × {image[2]}")
        channels = scaled(CHANNELS[0], width_multiplier)
        self.first = nn.Conv2d(image[0], channels, 3, 1, 1, bias=False)
        self.norm = Normalization(channels)
        blocks = []
        for stage, base in enumerate(CHANNELS):
            size = scaled(base, width_multiplier)
            for index in range((depth - 2) // 6):
                blocks.append(Block(channels, size, 2 if stage and index == 0 else 1))
                channels = size
        self.blocks = nn.Sequential(*blocks)
        self.output = nn.Linear(channels, classes)
        initialize_for_relu(self)

    def forward(self, images: Tensor) -> Tensor:
        x = functional.relu(self.norm(self.first(images)), inplace=True)
        return self.output(torch.mean(self.blocks(x), dim=(2, 3)))
