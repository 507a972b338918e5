"""The bounds solved for ε and for γ at a fixed width.

Every width decreases as γ or ε grows, so each equation has one root, found on the real-valued width.
"""

import math
from collections.abc import Callable

from softlabel.theory.bounds.families import Arm, Family, real_needs, silence
from softlabel.theory.bounds.roots import root
from softlabel.theory.bounds.setting import Setting, check_epsilon, check_gamma, check_width

SMALLEST_ERROR = 1e-300
SMALLEST_MARGIN = 1e-60
_SLACK = 1e-10  # relative rounding to the safe side


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
    """The smallest mean training error ε that a width guarantees.

    Parameters
    ----------
    width : int
        Even number of neurons.
    gamma, n, delta, c, kappa, alpha, share, family
        See `softlabel.theory.bounds`.
    arm : {"soft", "hard"}
        Labels of the training.

    Returns
    -------
    float or None
        None if the width guarantees no error below 1, or if the family has no such bound.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.guaranteed_error(100_000, gamma=0.1, n=1000), 4)
    0.0659
    """
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha, share=share)
    gamma, width = check_gamma(gamma), check_width(width)

    def needed(epsilon: float) -> float:
        return real_needs(family, arm, gamma, epsilon, setting).width

    return None if silence(family, arm, setting) else _least(needed, width, SMALLEST_ERROR, 1 - _SLACK)


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
    """The smallest margin γ at which a width guarantees the mean training error ε.

    Parameters
    ----------
    width : int
        Even number of neurons.
    epsilon, n, delta, c, kappa, alpha, share, family
        See `softlabel.theory.bounds`.
    arm : {"soft", "hard"}
        Labels of the training.

    Returns
    -------
    float or None
        None if no margin up to ½ is large enough, or if the family has no such bound.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.needed_margin(100_000, epsilon=0.1, n=1000), 4)
    0.0812
    """
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha, share=share)
    epsilon, width = check_epsilon(epsilon), check_width(width)

    def needed(gamma: float) -> float:
        return real_needs(family, arm, gamma, epsilon, setting).width

    return None if silence(family, arm, setting) else _least(needed, width, SMALLEST_MARGIN, 0.5)


def _least(needed: Callable[[float], float], width: int, low: float, high: float) -> float | None:
    """The least x in [low, high] with needed(x) ≤ width, for a decreasing `needed`."""
    if needed(high) > width:
        return None
    if needed(low) <= width:
        return low

    def excess(log_x: float) -> float:
        here = needed(min(math.exp(log_x), high))
        return min(math.log(here), 1e3) - math.log(width)

    return min(high, math.exp(root(excess, math.log(low), math.log(high))) * (1 + _SLACK))
