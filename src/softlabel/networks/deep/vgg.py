"""VGG c+3: c convolutions of 3 × 3 and three fully connected layers, for images of any size (Simonyan and Zisserman).

Theirs, for 224 × 224: five stages of 64, 128, 256, 512, 512 channels, each ended by a max-pool of 2 × 2; then 4096,
4096 and the classes, with dropout 0.5. Configuration A ("VGG 11") is 8+3: 1, 1, 2, 2, 2 convolutions in the stages.
Here, for smaller images:

- c convolutions fill the stages of A in order; with c < 8 they are the first c (2+3 is 64, pool, 128, pool), with c > 8
  further ones go to the last stages first (13+3 is 2, 2, 3, 3, 3 as their configuration D).
- Full layers have 512 units, an eighth of theirs, as the side of a CIFAR image is a seventh of theirs.
- Weights start as He and others have it for ReLU, N(0, 2/fan-in), biases at 0. (Theirs: N(0, 0.01²), deep ones started
  from trained shallow ones; they note that a scaled start makes that unnecessary.)
- Pooling stands before ReLU: the two commute, and ReLU then has a quarter of the work.

`width` multiplies every number of channels and units.
"""

import math

import torch
from torch import Tensor, nn

from softlabel.errors import require
from softlabel.networks.deep.small_maps import Convolution

CHANNELS = (64, 128, 256, 512, 512)
UNITS = 512
FEW = ((0, 1), (1, 1), (2, 2), (3, 2), (4, 2))  # stage, convolutions of configuration A
ORDER = (4, 3, 2, 1, 0)  # stages that further convolutions go to


def stage_counts(convolutions: int) -> list[int]:
    """How many convolutions each stage has; empty stages at the end are left out."""
    require(1 <= convolutions <= 19, f"VGG c+3 needs 1 to 19 convolutions, got {convolutions}")
    counts, left = [], convolutions
    for _, most in FEW:
        counts.append(min(most, left))
        left -= counts[-1]
    place = 0
    while left > 0:
        counts[ORDER[place % len(ORDER)]] += 1
        left, place = left - 1, place + 1
    return [count for count in counts if count > 0]


class VGG(nn.Module):
    """VGG c+3 for images (channels, height, width); outputs are `classes` logits."""

    def __init__(
        self,
        convolutions: int,
        classes: int,
        image: tuple[int, int, int] = (3, 32, 32),
        width: float = 1.0,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        require(width > 0, f"width must be positive, got {width}")
        require(0 <= dropout < 1, f"dropout must lie in [0, 1), got {dropout}")
        require(classes >= 2, f"classes must be at least 2, got {classes}")
        counts = stage_counts(convolutions)
        channels, height, breadth = image
        smallest = 2 ** len(counts)
        require(
            min(height, breadth) >= smallest,
            f"VGG {convolutions}+3 halves images {len(counts)} times and needs {smallest} × {smallest} pixels or more, "
            f"got {height} × {breadth}",
        )
        layers: list[nn.Module] = []
        for count, base in zip(counts, CHANNELS, strict=False):
            size = scaled(base, width)
            for place in range(count):
                layers.append(Convolution(channels, size))
                if place == count - 1:
                    layers.append(nn.MaxPool2d(2))
                layers.append(nn.ReLU(inplace=True))
                channels = size
            height, breadth = height // 2, breadth // 2
        self.features = nn.Sequential(*layers)
        units = scaled(UNITS, width)
        self.classifier = nn.Sequential(
            nn.Linear(channels * height * breadth, units), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(units, units), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(units, classes),
        )  # fmt: skip
        start_for_relu(self)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.features(images), 1))


def scaled(number: int, width: float) -> int:
    """A number of channels or units times the width, at least 1."""
    return max(1, round(number * width))


def start_for_relu(network: nn.Module) -> None:
    """N(0, 2/fan-in) for weights, 0 for biases; 1 and 0 for normalisations."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            fan_in = module.weight[0].numel()
            nn.init.normal_(module.weight, std=math.sqrt(2 / fan_in))
            if module.bias is not None:
                nn.init.zeros_(module.bias)
