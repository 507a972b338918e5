"""Requirements of a bound, as real numbers and rounded to values to train with.

A width is rounded up to an even number, iterations to an integer. Both are Python integers up to 2⁵³ and floats above,
where a float no longer represents every integer; on overflow they are infinite.
"""

import math
from dataclasses import dataclass
from typing import Any

EXACT = 2**53


@dataclass(frozen=True)
class Needs:
    """A bound before rounding: m, η, T, B as the formulas give them."""

    width: float
    learning_rate: float
    iterations: float
    radius: float


@dataclass(frozen=True)
class Requirement:
    """A sufficient condition of a bound.

    Attributes
    ----------
    width : int, float or None
        Number of neurons m.
    learning_rate : float or None
        Learning rate η of projected gradient descent.
    iterations : int, float or None
        Number of iterations T.
    radius : float or None
        Radius B: every neuron stays within B/√m of its initial weights.
    probability : float or None
        The guarantee holds with at least this probability.
    note : str
        The reason, if the family has no such requirement and the numbers are None, or if a number overflows.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.soft(gamma=0.1, epsilon=0.1, n=1000)
    Requirement(width=66826, learning_rate=1.0, iterations=16021, radius=1.0, probability=0.9, note='')
    """

    width: int | float | None = None
    learning_rate: float | None = None
    iterations: int | float | None = None
    radius: float | None = None
    probability: float | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The requirement as JSON values; the learning rate has the key `step`, infinite numbers are None."""
        numbers = {
            "width": self.width,
            "step": self.learning_rate,
            "iterations": self.iterations,
            "radius": self.radius,
            "probability": self.probability,
        }
        return {name: finite(number) for name, number in numbers.items()} | {"note": self.note}


def finite(number: float | None) -> float | None:
    """The number, or None if it is not finite."""
    return number if number is not None and math.isfinite(number) else None


def rounded(needs: Needs, probability: float) -> Requirement:
    """The requirement after rounding."""
    in_range = math.isfinite(needs.width) and math.isfinite(needs.iterations)
    note = "" if in_range else "what is missing is beyond the range of floating-point numbers"
    return Requirement(
        even_ceiling(needs.width),
        needs.learning_rate or None,
        integer_ceiling(needs.iterations),
        needs.radius,
        probability,
        note,
    )


def even_ceiling(width: float) -> int | float:
    """The smallest even number of neurons ≥ width, at least 2."""
    return max(2, 2 * math.ceil(width / 2)) if width <= EXACT else width


def integer_ceiling(iterations: float) -> int | float:
    """The smallest integer ≥ iterations, at least 1."""
    return max(1, math.ceil(iterations)) if iterations <= EXACT else iterations
