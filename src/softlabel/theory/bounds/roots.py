"""The root of a monotone function, to almost full precision."""

from collections.abc import Callable

from scipy.optimize import brentq


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a function that has opposite signs at `low` and `high`."""
    return float(brentq(function, low, high, xtol=1e-14 * max(abs(low), abs(high))))  # pyright: ignore[reportArgumentType]
