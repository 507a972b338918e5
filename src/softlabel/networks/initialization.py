"""Initializations: hidden weights W(0), (width, inputs), output weights a, (outputs, width), and biases.

All draws come from one NumPy generator seeded by the student's seed, in float64, so that a seed means the same
initialization on every machine and in every precision.

| name | hidden weights | output weights |
| --- | --- | --- |
| symmetric | N(0, 1), neurons j and j + m/2 share them | ±1 at random, opposite within a pair: f(W(0)) = 0 |
| gaussian | N(0, 1) | ±1 at random |
| he | N(0, 2/d) | ±1 at random |
| glorot | uniform on ±√(6/(d + m)) | ±1 at random |
| torch | uniform on ±1/√d | uniform on ±1/√m |

Biases, where there are any, are 0, except with "torch", PyTorch's default for linear layers, where they are drawn like
the weights of their layer. An ordinary PyTorch network has no factor 1/√m in its output: it is "torch" with an output
scale of √m.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softlabel.errors import InputError, unknown
from softlabel.memory import check_memory

Draw = Callable[[np.random.Generator, int, int], np.ndarray]

_HIDDEN: dict[str, Draw] = {
    "symmetric": lambda rng, width, inputs: np.tile(rng.standard_normal((width // 2, inputs)), (2, 1)),
    "gaussian": lambda rng, width, inputs: rng.standard_normal((width, inputs)),
    "he": lambda rng, width, inputs: rng.standard_normal((width, inputs)) * math.sqrt(2 / inputs),
    "glorot": lambda rng, width, inputs: rng.uniform(-1, 1, (width, inputs)) * math.sqrt(6 / (inputs + width)),
    "torch": lambda rng, width, inputs: rng.uniform(-1, 1, (width, inputs)) / math.sqrt(inputs),
}
INITS = tuple(_HIDDEN)


def check_init(init: str, width: int) -> None:
    """Raise unless the initialization exists and is defined for this width."""
    if init not in _HIDDEN:
        raise unknown("init", init, INITS)
    if init == "symmetric" and width % 2:
        raise InputError(
            f"width must be even with `init` 'symmetric' (its neurons come in pairs), got {width}; "
            f"use {width + 1}, or `init` 'gaussian'"
        )


@dataclass(frozen=True)
class InitialWeights:
    """Hidden weights (width, inputs), output weights (outputs, width), hidden and output biases."""

    hidden: np.ndarray
    output: np.ndarray
    hidden_bias: np.ndarray
    output_bias: np.ndarray


def draw_weights(init: str, *, width: int, inputs: int, outputs: int = 1, seed: int = 0) -> InitialWeights:
    """The weights and biases that one student begins with."""
    check_init(init, width)
    check_memory(2 * width * (inputs + outputs), f"a network of {width:,} neurons", "use fewer neurons")
    rng = np.random.default_rng(seed)
    hidden = _HIDDEN[init](rng, width, inputs)
    zeros = np.zeros(width), np.zeros(outputs)
    if init == "torch":
        output = rng.uniform(-1, 1, (outputs, width)) / math.sqrt(width)
        biases = rng.uniform(-1, 1, width) / math.sqrt(inputs), rng.uniform(-1, 1, outputs) / math.sqrt(width)
        return InitialWeights(hidden, output, *biases)
    if init == "symmetric":
        half = rng.choice((-1.0, 1.0), size=(outputs, width // 2))
        return InitialWeights(hidden, np.concatenate([half, -half], axis=1), *zeros)
    return InitialWeights(hidden, rng.choice((-1.0, 1.0), size=(outputs, width)), *zeros)
