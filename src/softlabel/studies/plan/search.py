"""How the smallest width is searched, and the statistics of its promise.

The promise: a fresh student of the planned width reaches the target with probability ≥ p, stated with confidence 1 − α.

    search      at each width a few seeds; it passes where the lower tolerance limit, mean − k·deviation, reaches the
                target (k for a share p with confidence 1 − α, from the noncentral t distribution). The candidate is the
                smallest width that passes; bisection narrows it down. Without a confirmation it proves little.
    confirm     N fresh students of the candidate; it is confirmed where so few miss the target that a width with
                reaching probability below p would do as well with probability at most α/attempts. No distribution is
                assumed, and looking at many widths before costs nothing, since these students are new.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from scipy.optimize import curve_fit
from scipy.stats import beta, binom, nct, norm

ATTEMPTS = 4
GROWTH = 1.25
TOO_WIDE = 10.0  # ratio of the ends of an interval that says nothing


def tolerance_factor(seeds: int, share: float, confidence: float) -> float:
    """k such that mean − k·deviation of this many normal values lies below the (1 − share) quantile with confidence."""
    root = math.sqrt(seeds)
    return float(nct.ppf(confidence, seeds - 1, norm.ppf(share) * root)) / root


def tolerance_limit(values: Sequence[float], share: float, confidence: float, least: float = 0.0) -> float:
    """The value that a share of all students exceed, from these, with confidence, were they normal.

    least       smallest plausible deviation: accuracies are counted in test rows, so equal ones prove little
    """
    if len(values) < 2:
        return -math.inf
    spread = max(float(np.std(values, ddof=1)), least)
    return float(np.mean(values)) - tolerance_factor(len(values), share, confidence) * spread


def allowed_misses(students: int, share: float, failure: float) -> int:
    """How many of the fresh students may miss the target; −1 where even none is not enough."""
    allowed = -1
    while allowed + 1 < students and binom.cdf(allowed + 1, students, 1 - share) <= failure:
        allowed += 1
    return allowed


def reaching_probability(reached: int, students: int, failure: float) -> float:
    """Lower end of the exact (Clopper–Pearson) one-sided interval for the probability to reach the target."""
    return 0.0 if reached == 0 else float(beta.ppf(failure, reached, students - reached + 1))


def smallest_passing(passes: Mapping[int, bool], throughout: bool = False) -> int | None:
    """The smallest width that passes; `throughout`: from which on every tried width does."""
    if not throughout:
        return min((width for width in passes if passes[width]), default=None)
    return min(takewhile(passes.__getitem__, sorted(passes, reverse=True)), default=None)


def next_width(passes: Mapping[int, bool], precision: float = 1.1) -> int | None:
    """The even width to try next, between the candidate and the failing width below it; None where they are close."""
    candidate = smallest_passing(passes)
    if candidate is None:
        return None
    below = max((width for width in passes if width < candidate), default=None)
    if below is None or candidate <= below * precision or candidate - below <= 2:
        return None
    middle = 2 * round(math.sqrt(below * candidate) / 2)
    return middle if below < middle < candidate else None


def attempt_widths(candidate: int, limit: int, sure: int | None = None) -> list[int]:
    """Widths to confirm one after another, each even and a quarter wider than the last, as far as the limit.

    sure        a width that is more likely to be confirmed; the last attempt is not narrower
    """
    widths = [min(limit, candidate)]
    for k in range(1, ATTEMPTS):
        width = max(2 * (widths[-1] // 2 + 1), 2 * math.ceil(candidate * GROWTH**k / 2 - 1e-9))
        if k == ATTEMPTS - 1:
            width = max(width, sure or 0)
        widths.append(min(limit, width))
    return list(dict.fromkeys(widths))


@dataclass(frozen=True)
class Curve:
    """accuracy(m) = chance + (top − chance)/(1 + (half/m)^power), fitted without one width and checked on it.

    half_interval   95% interval of `half`, from the covariance of the fit; None if that leaves everything open
    informative     whether `half` lies among the widths that were tried, and its interval within a factor of ten
    """

    top: float
    half: float
    power: float
    excluded: int
    predicted: float
    measured: float
    half_interval: tuple[float, float] | None = None
    informative: bool = True

    @property
    def missed_by(self) -> float:
        """Predicted less measured accuracy on the excluded width."""
        return self.predicted - self.measured


def fit_curve(widths: Sequence[int], accuracies: Sequence[float], chance: float) -> Curve | None:
    """Fit mean accuracies by width; the middle width is excluded. None with fewer than five widths.

    chance      what guessing gives, where the curve begins
    """
    if len(widths) < 5:
        return None
    order = np.argsort(widths)
    m, accuracy = np.array(widths, dtype=float)[order], np.array(accuracies)[order]
    middle = len(m) // 2
    kept = np.arange(len(m)) != middle

    def law(width, top, half, power):
        return chance + (top - chance) / (1 + (half / width) ** power)

    try:
        (top, half, power), covariance = curve_fit(
            law, m[kept], accuracy[kept], p0=(float(accuracy.max()), float(m[0]), 2.0),
            bounds=([chance, 1e-3, 0.1], [1.0, float(m[-1]), 20.0]), max_nfev=5000,
        )  # fmt: skip
    except (RuntimeError, ValueError):
        return None
    predicted = float(law(m[middle], top, half, power))
    interval = _factor_interval(half, covariance[1, 1])
    informative = interval is not None and m[0] <= half <= m[-1] and interval[1] <= TOO_WIDE * interval[0]
    return Curve(
        float(top), float(half), float(power), int(m[middle]), predicted, float(accuracy[middle]), interval,
        bool(informative),
    )  # fmt: skip


def _factor_interval(value: float, variance: float) -> tuple[float, float] | None:
    """95% interval of a positive number on a logarithmic scale; None where the variance is not finite or enormous."""
    spread = 1.96 * math.sqrt(variance) / value if variance >= 0 and math.isfinite(variance) else math.inf
    return (float(value * math.exp(-spread)), float(value * math.exp(spread))) if spread < 50 else None
