"""The margin below which soft labels need fewer neurons than hard labels.

γ_×(ε, n, δ, c): the soft width is smaller exactly for γ < γ_×. Soft widths grow as γ⁻², hard ones as γ⁻⁴, so for small
enough margins soft labels need fewer; γ_× scales as √ε. Real-valued widths are compared, before rounding.
"""

import math
from dataclasses import dataclass

from softlabel.theory.bounds.families import ARMS, Family, real_needs, silence
from softlabel.theory.bounds.roots import root
from softlabel.theory.bounds.setting import Setting, check_epsilon

LARGEST = 0.5
SMALLEST = 1e-60


@dataclass(frozen=True)
class Crossover:
    """The crossover margin γ_×; None if there is none, and `note` names the arm that needs fewer neurons, or why.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.crossover("tight", epsilon=0.1, n=1000).note
    'soft always: soft labels need fewer neurons at every γ ≤ ½'
    """

    gamma: float | None
    note: str = ""


def crossover(
    family: Family,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    c: float = 1.0,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
) -> Crossover:
    """The crossover margin γ_× of a family: soft labels need fewer neurons exactly where γ < γ_×.

    Parameters
    ----------
    family, epsilon, n, delta, c, kappa, alpha, share
        See `softlabel.theory.bounds`.

    Returns
    -------
    Crossover
        Its `gamma` is None if the widths do not cross; `note` then gives the reason.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.crossover("corrected", epsilon=0.1, n=1000).gamma, 4)
    0.0069
    """
    setting = Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha, share=share)
    return crossover_in(family, check_epsilon(epsilon), setting)


def crossover_in(family: Family, epsilon: float, setting: Setting) -> Crossover:
    """`crossover` for a `Setting`."""
    for arm in ARMS:
        reason = silence(family, arm, setting)
        if reason:
            return Crossover(None, reason)

    def excess(gamma: float) -> float:
        soft, hard = (real_needs(family, arm, gamma, epsilon, setting).width for arm in ARMS)
        return math.log(soft) - math.log(hard)

    smallest = SMALLEST
    while not math.isfinite(excess(smallest)):  # a width overflows there
        smallest *= 10
        if smallest > LARGEST:
            return Crossover(None, "unknown: the widths are beyond the largest floating-point number")
    if excess(LARGEST) < 0:
        return Crossover(None, "soft always: soft labels need fewer neurons at every γ ≤ ½")
    if excess(smallest) >= 0:
        return Crossover(None, f"soft never: hard labels need fewer neurons at every γ from {smallest:.0e} to ½")
    return Crossover(math.exp(root(lambda size: excess(math.exp(size)), math.log(smallest), math.log(LARGEST))))
