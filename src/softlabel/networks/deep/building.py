"""Deep networks by name: vgg8+3, vgg2+3, resnet20, resnet8, …"""

import hashlib
import re

import torch
from torch import nn

from softlabel.errors import InputError, require
from softlabel.memory import check_memory
from softlabel.networks.deep.resnet import ResNet
from softlabel.networks.deep.vgg import VGG
from softlabel.ranges import check_positive

MULTIPLIERS = (1e-6, 1e3)  # range of width_multiplier: at least one channel remains, and more does not fit into memory


def build_network(
    name: str, classes: int, image: tuple[int, ...] = (3, 32, 32), width_multiplier: float = 1.0, seed: int = 0
) -> nn.Module:
    """Build an untrained deep network.

    Parameters
    ----------
    name : str
        "vgg1+3" to "vgg19+3" (number of convolutions + 3 fully connected layers), or "resnet8", "resnet14",
        "resnet20", …
    classes : int
        Number of classes.
    image : tuple of int, default=(3, 32, 32)
        Shape of an image: (channels, height, width).
    width_multiplier : float, default=1.0
        Factor of all numbers of channels and units.
    seed : int, default=0
        Seed of the initialization.

    Returns
    -------
    torch.nn.Module
        The network. Its outputs are `classes` logits per image.

    Examples
    --------
    >>> import torch
    >>> import softlabel as sl
    >>> network = sl.build_network("resnet8", classes=10, image=(1, 28, 28), width_multiplier=0.5)
    >>> network(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """
    require(len(image) == 3 and min(image) >= 1, f"image must be (channels, height, width), got {tuple(image)}")
    shape = (int(image[0]), int(image[1]), int(image[2]))
    check_positive(width_multiplier, "width_multiplier", *MULTIPLIERS)
    known = re.fullmatch(r"(vgg|resnet)([0-9]{1,4})(\+3)?", name.lower())
    if known is None or (known[1] == "vgg") != (known[3] is not None):
        raise InputError(f"unknown network '{name}': there are vgg1+3 to vgg19+3 and resnet8, resnet14, resnet20, …")
    family = VGG if known[1] == "vgg" else ResNet
    arguments = (int(known[2]), classes, shape, width_multiplier)
    with torch.device("meta"):  # no memory is allocated
        weights = parameter_count(family(*arguments))
    what = f"training '{name}' with `width_multiplier` {width_multiplier:g}"
    check_memory(4 * weights, what, "use a smaller network", size=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return family(*arguments)


def parameter_count(network: nn.Module) -> int:
    """Number of trainable parameters."""
    return sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)


def network_fingerprint(network: nn.Module) -> str:
    """Hash of a network's weights."""
    digest = hashlib.sha256()
    for key, value in network.state_dict().items():
        digest.update(key.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:20]
