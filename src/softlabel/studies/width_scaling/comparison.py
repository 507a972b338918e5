"""Neurons that one arm needs over those that another needs, for the same data and error."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from softlabel.lab.statistics import Interval

Word = Literal["fewer", "more", "not told apart"]


@dataclass(frozen=True)
class WidthRatio:
    """A ratio of widths: geometric mean over seeds (and levels) with its interval, and what it says.

    interval    None where a width lies beyond those that were tried
    word        whether the first arm needs fewer neurons, more, or neither is shown
    """

    interval: Interval | None
    word: Word


def width_ratio(
    widths: tuple[np.ndarray, np.ndarray], tried: tuple[np.ndarray, np.ndarray], step: float, confidence: float
) -> WidthRatio:
    """The first widths (levels, seeds) over the second ones.

    widths      infinite where they lie beyond those that were tried
    tried       the largest width that was tried; one beyond it counts as twice as much, and then the comparison says
                nothing unless the true width can only confirm it
    step        ratio of neighboring widths, to within which a width is known
    """
    beyond = [bool(np.isinf(one).any()) for one in widths]
    logs = [np.log(bounded(one, most)) for one, most in zip(widths, tried, strict=True)]
    levels = len(logs[0])
    mean_log = Interval.from_runs((logs[0] - logs[1]).mean(0), confidence)
    interval = widened(mean_log, math.log(step) * math.sqrt(2 / 12 / levels), confidence)
    word: Word = "not told apart"
    if interval.low > 0 and not beyond[1]:
        word = "more"
    elif interval.high < 0 and not beyond[0]:
        word = "fewer"
    if any(beyond):
        return WidthRatio(None, word)
    mean, low, high = (math.exp(value) for value in (interval.mean, interval.low, interval.high))
    return WidthRatio(Interval(mean, low, high, interval.runs), word)


def bounded(widths: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """Widths, with twice the largest that was tried for those beyond it."""
    return np.where(np.isinf(widths), 2 * tried, widths)


def widened(value: Interval, error: float, confidence: float) -> Interval:
    """The interval with a further standard error, which seeds may share.

    That of the steps between widths: ln m is known to within ln(step), evenly, a standard deviation of ln(step)/√12.
    """
    half = math.hypot((value.high - value.low) / 2, NormalDist().inv_cdf((1 + confidence) / 2) * error)
    return Interval(value.mean, value.mean - half, value.mean + half, value.runs)
