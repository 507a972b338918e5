"""Deep networks by name: vgg8+3, vgg2+3, resnet20, resnet8, …"""

import hashlib
import re

import torch
from torch import nn

from softlabel.errors import InputError, require
from softlabel.memory import check_memory
from softlabel.networks.deep import resnet, vgg
from softlabel.networks.deep.resnet import ResNet
from softlabel.networks.deep.vgg import VGG, scaled, stage_counts
from softlabel.ranges import check_positive

MULTIPLIERS = (1e-6, 1e3)  # of a network's channels: at least one channel is left, and memory ends before a thousand


def build_network(
    name: str, classes: int, image: tuple[int, ...] = (3, 32, 32), width: float = 1.0, seed: int = 0
) -> nn.Module:
    """A network with its start drawn by the seed; `image` is (channels, height, width)."""
    require(len(image) == 3 and min(image) >= 1, f"an image has shape (channels, height, width), got {tuple(image)}")
    shape = (int(image[0]), int(image[1]), int(image[2]))
    check_positive(width, "width", *MULTIPLIERS)
    known = re.fullmatch(r"(vgg|resnet)([0-9]{1,4})(\+3)?", name.lower())
    if known is None or (known[1] == "vgg") != (known[3] is not None):
        raise InputError(f"unknown network '{name}': there are vgg1+3 to vgg19+3 and resnet8, resnet14, resnet20, …")
    depth = int(known[2])
    size = _vgg_numbers(depth, shape, width) if known[1] == "vgg" else _resnet_numbers(depth, width)
    check_memory(4 * size, f"training '{name}' of width {width:g}", "take a smaller network", size=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return VGG(depth, classes, shape, width) if known[1] == "vgg" else ResNet(depth, classes, shape, width)


def _vgg_numbers(convolutions: int, image: tuple[int, int, int], width: float) -> int:
    """Weights of such a network, without those of its last layer and its biases."""
    numbers, (channels, height, breadth) = 0, image
    for count, base in zip(stage_counts(convolutions), vgg.CHANNELS, strict=False):
        size = scaled(base, width)
        numbers += 9 * size * (channels + (count - 1) * size)
        channels, height, breadth = size, height // 2, breadth // 2
    units = scaled(vgg.UNITS, width)
    return numbers + units * (channels * height * breadth + units)


def _resnet_numbers(depth: int, width: float) -> int:
    """About as many weights as such a network has, and no fewer."""
    return depth * 9 * scaled(max(resnet.CHANNELS), width) ** 2


def parameter_count(network: nn.Module) -> int:
    """Numbers that are trained."""
    return sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)


def network_fingerprint(network: nn.Module) -> str:
    """Identity of a network's weights."""
    digest = hashlib.sha256()
    for key, value in network.state_dict().items():
        digest.update(key.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:20]
