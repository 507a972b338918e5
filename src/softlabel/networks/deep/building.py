"""Deep networks by name: vgg8+3, vgg2+3, resnet20, resnet8, …"""

import hashlib
import math
import re

import torch
from torch import nn

from softlabel.errors import InputError, require
from softlabel.networks.deep.resnet import ResNet
from softlabel.networks.deep.vgg import VGG


def build_network(
    name: str, classes: int, image: tuple[int, ...] = (3, 32, 32), width: float = 1.0, seed: int = 0
) -> nn.Module:
    """A network with its start drawn by the seed; `image` is (channels, height, width)."""
    require(len(image) == 3 and min(image) >= 1, f"an image has shape (channels, height, width), got {tuple(image)}")
    shape = (int(image[0]), int(image[1]), int(image[2]))
    vgg, resnet = (re.fullmatch(pattern, name.lower()) for pattern in (r"vgg(\d{1,4})\+3", r"resnet(\d{1,4})"))
    require(math.isfinite(width), f"width must be a finite number, got {width}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if vgg:
            return VGG(int(vgg[1]), classes, shape, width)
        if resnet:
            return ResNet(int(resnet[1]), classes, shape, width)
    raise InputError(f"unknown network '{name}': there are vgg1+3 to vgg19+3 and resnet8, resnet14, resnet20, …")


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
