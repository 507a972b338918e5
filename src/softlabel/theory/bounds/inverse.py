"""The bounds read backwards: what a given width guarantees.

Every width falls as γ or ε grows, so each question has one answer, found by bisection on the real-valued width.
"""

import math
from collections.abc import Callable

from softlabel.theory.bounds.families import Arm, Family, real_needs, silence
from softlabel.theory.bounds.roots import root
from softlabel.theory.bounds.setting import Setting, check_epsilon, check_gamma, check_width

SMALLEST_ERROR = 1e-300
SMALLEST_MARGIN = 1e-60
_SLACK = 1e-10  # the answer is rounded to the safe side by this much, relatively


def guaranteed_error(
    width: int,
    gamma: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
    arm: Arm = "soft",
) -> float | None:
    """The least ε that this many neurons guarantee, None if none below 1 (or if the family is silent)."""
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha, share=share)
    gamma, width = check_gamma(gamma), check_width(width)
    if silence(family, arm, setting):
        return None
    return _least(
        lambda epsilon: real_needs(family, arm, gamma, epsilon, setting).width, width, SMALLEST_ERROR, 1 - _SLACK
    )


def needed_margin(
    width: int,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
    family: Family = "tight",
    arm: Arm = "soft",
) -> float | None:
    """The least γ at which this many neurons guarantee ε, None if none up to ½ (or if the family is silent)."""
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha, share=share)
    epsilon, width = check_epsilon(epsilon), check_width(width)
    if silence(family, arm, setting):
        return None
    return _least(lambda gamma: real_needs(family, arm, gamma, epsilon, setting).width, width, SMALLEST_MARGIN, 0.5)


def _least(needed: Callable[[float], float], width: int, low: float, high: float) -> float | None:
    """The least x in [low, high] with needed(x) ≤ width, for a falling `needed`."""
    if needed(high) > width:
        return None
    if needed(low) <= width:
        return low

    def excess(log_x: float) -> float:
        here = needed(min(math.exp(log_x), high))
        return min(math.log(here), 1e3) - math.log(width)

    return min(high, math.exp(root(excess, math.log(low), math.log(high))) * (1 + _SLACK))
