"""VGG c+3: c convolutions of 3 × 3 and three fully connected layers, for images of any size (Simonyan and Zisserman).

The original networks, for images of 224 × 224 pixels, have five stages of 64, 128, 256, 512, 512 channels, each
followed by a max-pool of 2 × 2, then layers of 4096 and 4096 units and the classes, with dropout 0.5. Configuration A
("VGG 11") is 8+3: 1, 1, 2, 2, 2 convolutions in the stages. For smaller images, this implementation differs:

- c convolutions fill the stages of A in order. With c < 8 they are the first c (2+3 is 64, pool, 128, pool); with c > 8
  the additional ones go to the last stages first (13+3 is 2, 2, 3, 3, 3, the original configuration D).
- Fully connected layers have 512 units, an eighth of the original; the side of a CIFAR image is a seventh.
- Weights are initialized for ReLU (He and others), N(0, 2/fan-in), biases with 0. (Original: N(0, 0.01²), with deep
  networks initialized from trained shallow ones, which a scaled initialization makes unnecessary.)
- Pooling comes before ReLU: the two commute, and ReLU then has a quarter of the work.

`width_multiplier` multiplies every number of channels and units.
"""

import math

import torch
from torch import Tensor, nn

from softlabel.errors import require
from softlabel.networks.deep.small_maps import Convolution

CHANNELS = (64, 128, 256, 512, 512)
UNITS = 512
FEW = (1, 1, 2, 2, 2)  # convolutions of the stages of configuration A
ORDER = (4, 3, 2, 1, 0)  # stages that additional convolutions go to


def stage_counts(convolutions: int) -> list[int]:
    """Number of convolutions of each stage, without empty stages at the end."""
    require(1 <= convolutions <= 19, f"VGG c+3 needs 1 to 19 convolutions, got {convolutions}")
    counts, left = [], convolutions
    for most in FEW:
        counts.append(min(most, left))
        left -= counts[-1]
    for extra in range(left):
        counts[ORDER[extra % len(ORDER)]] += 1
    return [count for count in counts if count > 0]


class VGG(nn.Module):
    """VGG c+3 for images (channels, height, width); outputs are `classes` logits."""

    def __init__(
        self, convolutions: int, classes: int, image: tuple[int, int, int], width_multiplier: float = 1.0
    ) -> None:
        super().__init__()
        require(classes >= 2, f"classes must be at least 2, got {classes}")
        counts = stage_counts(convolutions)
        channels, rows, columns = image
        smallest = 2 ** len(counts)
        require(
            min(rows, columns) >= smallest,
            f"VGG {convolutions}+3 halves images {len(counts)} times and needs at least {smallest} × {smallest} "
            f"pixels, got {rows} × {columns}",
        )
        layers: list[nn.Module] = []
        for count, base in zip(counts, CHANNELS, strict=False):
            size = scaled(base, width_multiplier)
            for index in range(count):
                layers.append(Convolution(channels, size))
                if index == count - 1:
                    layers.append(nn.MaxPool2d(2))
                layers.append(nn.ReLU(inplace=True))
                channels = size
            rows, columns = rows // 2, columns // 2
        self.features = nn.Sequential(*layers)
        units = scaled(UNITS, width_multiplier)
        self.classifier = nn.Sequential(
            nn.Linear(channels * rows * columns, units), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(units, units), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(units, classes),
        )  # fmt: skip
        initialize_for_relu(self)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.features(images), 1))


def scaled(number: int, width_multiplier: float) -> int:
    """A number of channels or units times the multiplier, at least 1."""
    return max(1, round(number * width_multiplier))


def initialize_for_relu(network: nn.Module) -> None:
    """Draw weights from N(0, 2/fan-in) and set biases to 0; normalizations keep 1 and 0."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            fan_in = module.weight[0].numel()
            nn.init.normal_(module.weight, std=math.sqrt(2 / fan_in))
            if module.bias is not None:
                nn.init.zeros_(module.bias)
