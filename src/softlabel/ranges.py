"""Ranges of numbers that several functions take, each checked in one way."""

import sys
from numbers import Integral, Real

from softlabel.errors import require

LARGEST_SEED = 2**32 - 1  # what every generator takes that softlabel uses
SMALLEST, LARGEST = 1e-37, 3e38  # what float32 holds, in which networks are trained
DOUBLES = (sys.float_info.min, sys.float_info.max)  # what float64 holds
TEMPERATURES = (1e-6, 1e6)  # beyond, labels are one-hot or uniform to float32
LARGEST_COUNT = 10**9  # of steps, epochs and the like: more than any computer works through


def check_seed(seed: object, parameter: str = "seed") -> None:
    """Raise `InputError` unless this is a seed: a whole number from 0 to 2³² − 1."""
    check_count(seed, parameter, least=0, most=LARGEST_SEED)


def check_count(number: object, parameter: str, *, least: int = 1, most: int = LARGEST_COUNT) -> None:
    """Raise `InputError` unless this is a whole number of the range."""
    holds = isinstance(number, Integral) and not isinstance(number, bool) and least <= int(number) <= most
    require(holds, f"{parameter} must be a whole number from {least} to {most:,}, got {number}")


def check_positive(
    number: object, parameter: str, least: float = SMALLEST, most: float = LARGEST, remedy: str | None = None
) -> None:
    """Raise `InputError` unless this is a positive number of the range, by default one that float32 holds."""
    holds = isinstance(number, Real) and least <= float(number) <= most
    remedy = remedy or f"{least:g} to {most:g} is allowed"
    require(holds, f"{parameter} must be a positive number, got {number}; {remedy}")
