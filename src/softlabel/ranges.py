"""Checks of numeric parameters that several functions share."""

import sys
from numbers import Integral, Real

from softlabel.errors import require

LARGEST_SEED = 2**32 - 1  # every random generator that softlabel uses accepts seeds up to this
SMALLEST, LARGEST = 1e-37, 3e38  # range of float32, in which networks are trained
DOUBLES = (sys.float_info.min, sys.float_info.max)  # range of float64
TEMPERATURES = (1e-6, 1e6)  # outside this range, float32 labels are one-hot or uniform
LARGEST_COUNT = 10**9  # upper limit for numbers of steps, epochs and the like


def check_seed(seed: object, parameter: str = "seed") -> None:
    """Raise `InputError` unless `seed` is an integer from 0 to 2³² − 1."""
    check_count(seed, parameter, least=0, most=LARGEST_SEED)


def check_count(number: object, parameter: str, *, least: int = 1, most: int = LARGEST_COUNT) -> None:
    """Raise `InputError` unless `number` is an integer from `least` to `most`."""
    holds = isinstance(number, Integral) and not isinstance(number, bool) and least <= int(number) <= most
    require(holds, f"{parameter} must be a whole number from {least} to {most:,}, got {number}")


def check_positive(
    number: object, parameter: str, least: float = SMALLEST, most: float = LARGEST, remedy: str | None = None
) -> None:
    """Raise `InputError` unless `number` lies between `least` and `most`, by default the range of float32."""
    holds = isinstance(number, Real) and least <= float(number) <= most
    remedy = remedy or f"{least:g} to {most:g} is allowed"
    require(holds, f"{parameter} must be a positive number, got {number}; {remedy}")
