"""Finished parts of a teacher's training, so that the caller can store them.

A function that trains for minutes passes each part to a `Keep`, which computes it now or returns the stored one; both
must be equal bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Piece:
    """The result of one part: arrays by name, and facts as JSON values."""

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


Keep = Callable[[str, Callable[[], Piece]], Piece]


class PieceStore(Protocol):
    """Where finished parts are stored."""

    def keep(self, name: str, make: Callable[[], Piece]) -> Piece:
        """The part stored under this name; otherwise it is computed and stored."""
        ...


def without_keeping(name: str, make: Callable[[], Piece]) -> Piece:
    """Compute every part and store none."""
    return make()
