"""A soft-label requirement that does not grow with the number of examples.

The loss is a mean over the examples, so its comparison value R^t(W̄) needs no union over them. Each deviation
X_i = f_i⁰(U) − κz_i is sub-Gaussian with variance proxy σ² = κ²/m, so E exp(sX_i²/(2σ²)) ≤ (1 − s)^{−½}; by convexity
the same holds for the mean of the squares, and with s = 1 − 1/u

    P(mean_i X_i² ≥ uσ²) ≤ exp(−(u − 1 − ln u)/2) = δ      where  u − 1 − ln u = 2 ln(1/δ), u > 1.

The band counts of the flips have proxy κ²/(2m) in the same way. Minkowski's inequality joins the two:

    rms_i |αf_i^t(W̄) − κz_i| ≤ (κ/√m)(aκ/α + (1 + 1/√2)√u)

which replaces K_r of `refined`; the rest is unchanged. It holds with probability 1 − 2δ.
"""

import math

from softlabel.theory.bounds import refined
from softlabel.theory.bounds.needs import Requirement, rounded
from softlabel.theory.bounds.roots import root
from softlabel.theory.bounds.scalars import MEAN_ABSOLUTE, ratio
from softlabel.theory.bounds.setting import Setting, check_epsilon, check_gamma


def soft_without_n(
    gamma: float,
    epsilon: float,
    delta: float = 0.05,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
) -> Requirement:
    """A sufficient condition for a mean error ε with soft labels that does not depend on the number of examples.

    m ≥ κ²(aκ/α + (1 + 1/√2)√u)²/(8θεψ(κγ)); learning rate, iterations and radius are those of family "refined".

    Parameters
    ----------
    gamma, epsilon, delta, kappa, alpha, share
        See `softlabel.theory.bounds`.

    Returns
    -------
    Requirement

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.soft_without_n(gamma=0.1, epsilon=0.1).width
    71592
    """
    setting = Setting(n=1, delta=delta, kappa=kappa, alpha=alpha, share=share)  # n is not used
    beta = refined.loss_for_error(check_gamma(gamma), check_epsilon(epsilon), setting.kappa)
    drift = MEAN_ABSOLUTE * setting.kappa / setting.alpha
    k = setting.kappa * (drift + (1 + math.sqrt(0.5)) * math.sqrt(mean_square_excess(setting.delta)))
    needs = refined.soft_schedule(ratio(k * k, 8 * setting.share * beta), beta, setting)
    return rounded(needs, 1 - 2 * delta)


def mean_square_excess(delta: float) -> float:
    """u > 1 with u − 1 − ln u = 2 ln(1/δ): a mean of squared sub-Gaussians exceeds uσ² with probability at most δ."""
    goal = -2 * math.log(delta)
    return root(lambda u: u - 1 - math.log(u) - goal, 1.0, 4 + 2 * goal)
