"""Weights in 8 bits: each neuron's weights are whole numbers from −127 to 127 times one scale of the neuron.

    w ≈ s·q,   s = max|w|/127,   q = round(w/s)

Stored size: a byte a weight, four bytes a scale, four bytes a bias. At the size of a float32 student a quantized one
has almost four times the neurons.
"""

from dataclasses import replace

import torch
from torch import Tensor

from softlabel.networks import TwoLayer


def quantized(network: TwoLayer) -> TwoLayer:
    """The network that 8-bit weights of this one give."""
    return replace(network, hidden=_rounded(network.hidden), output=_rounded(network.output))


def _rounded(weights: Tensor) -> Tensor:
    scale = weights.abs().amax(1, keepdim=True) / 127
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return (weights / scale).round().clamp(-127, 127) * scale


def float_bytes(width: int, inputs: int, outputs: int) -> int:
    """Bytes of a student with biases in float32."""
    return 4 * (width * (inputs + outputs + 1) + outputs)


def quantized_bytes(width: int, inputs: int, outputs: int) -> int:
    """Bytes of a student with biases and 8-bit weights."""
    return width * (inputs + outputs) + 4 * (width + outputs) + 4 * (width + outputs)


def quantized_width(size: int, inputs: int, outputs: int) -> int:
    """The widest (even) student whose 8-bit weights fit into this many bytes."""
    width = (size - 8 * outputs) // (inputs + outputs + 8)
    return max(2, width - width % 2)
