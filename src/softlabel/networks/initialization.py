"""Initializations: hidden weights W(0), (width, inputs), and output signs a, (outputs, width).

All draws come from one NumPy generator seeded by the student's seed, in float64, so that a seed means the same
initialization on every machine and in every precision.

| name | hidden weights | output signs |
| --- | --- | --- |
| symmetric | N(0, 1), neurons j and j + m/2 share them | ±1 at random, opposite within a pair: f(W(0)) = 0 |
| gaussian | N(0, 1) | ±1 at random |
| he | N(0, 2/d) | ±1 at random |
| glorot | uniform on ±√(6/(d + m)) | ±1 at random |
"""

import math
from collections.abc import Callable

import numpy as np

from softlabel.errors import InputError, unknown
from softlabel.memory import check_memory

Draw = Callable[[np.random.Generator, int, int], np.ndarray]

_HIDDEN: dict[str, Draw] = {
    "symmetric": lambda rng, width, inputs: np.tile(rng.standard_normal((width // 2, inputs)), (2, 1)),
    "gaussian": lambda rng, width, inputs: rng.standard_normal((width, inputs)),
    "he": lambda rng, width, inputs: rng.standard_normal((width, inputs)) * math.sqrt(2 / inputs),
    "glorot": lambda rng, width, inputs: rng.uniform(-1, 1, (width, inputs)) * math.sqrt(6 / (inputs + width)),
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


def draw_init(init: str, *, width: int, inputs: int, outputs: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Hidden weights (width, inputs) and output signs (outputs, width) of one student."""
    check_init(init, width)
    check_memory(2 * width * (inputs + outputs), f"a network of {width:,} neurons", "use fewer neurons")
    rng = np.random.default_rng(seed)
    hidden = _HIDDEN[init](rng, width, inputs)
    if init == "symmetric":
        half = rng.choice((-1.0, 1.0), size=(outputs, width // 2))
        return hidden, np.concatenate([half, -half], axis=1)
    return hidden, rng.choice((-1.0, 1.0), size=(outputs, width))
