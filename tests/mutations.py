"""Valid files with a few bytes changed, cut off or repeated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import InputError


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """A copy with one to four places changed."""
    held = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(held)))
        match int(rng.integers(0, 4)):
            case 0:
                held[at] = int(rng.integers(0, 256))
            case 1:
                held[at] ^= 1 << int(rng.integers(0, 8))
            case 2 if len(held) > 80:
                del held[at : at + int(rng.integers(1, 40))]
            case _:
                held[at:at] = held[at : at + int(rng.integers(1, 40))]
    return bytes(held)


def refusals(content: bytes, path: Path, read: Callable[[Path], Any], turns: int, seed: int = 0) -> list[str]:
    """What is said of so many mutations of a file; anything but an answer or an `InputError` is raised."""
    rng, said = np.random.default_rng(seed), []
    for _ in range(turns):
        path.write_bytes(mutated(content, rng))
        try:
            read(path)
        except InputError as problem:
            said.append(str(problem))
    return said
