"""What a bound asks for: first as real numbers, then as something to train with.

A width is rounded up to an even number and iterations to a whole number. Both are Python integers up to 2⁵³ and floats
beyond, where a float no longer tells neighbouring integers apart; what overflows is infinite.
"""

import math
from dataclasses import dataclass

EXACT = 2**53


@dataclass(frozen=True)
class Needs:
    """A bound before rounding: m, η, T, B as the formulas give them."""

    width: float
    step: float
    iterations: float
    radius: float


@dataclass(frozen=True)
class Requirement:
    """A sufficient condition: train `width` neurons (m) with step `step` (η) for `iterations` (T) within `radius` (B).

    The guarantee then holds with probability at least `probability`. Where a family has nothing to say all four are
    None, and `note` says why.
    """

    width: int | float | None
    step: float | None
    iterations: int | float | None
    radius: float | None
    probability: float | None
    note: str = ""


def rounded(needs: Needs, probability: float) -> Requirement:
    """The requirement that those needs make."""
    finite = math.isfinite(needs.width) and math.isfinite(needs.iterations)
    note = "" if finite else "what is missing is beyond the range of floating-point numbers"
    return Requirement(
        even_ceiling(needs.width), needs.step or None, whole_ceiling(needs.iterations), needs.radius, probability, note
    )


def nothing(note: str) -> Requirement:
    """No requirement, for the reason given."""
    return Requirement(None, None, None, None, None, note)


def even_ceiling(width: float) -> int | float:
    """The smallest even number of neurons ≥ width, at least 2."""
    return max(2, 2 * math.ceil(width / 2)) if width <= EXACT else width


def whole_ceiling(iterations: float) -> int | float:
    """The smallest whole number of steps ≥ iterations, at least 1."""
    return max(1, math.ceil(iterations)) if iterations <= EXACT else iterations
