"""Soft-label requirement for K classes, which the paper leaves open; docs/concepts/bounds.md has the proof.

student   f_c(x) = (1/√m) Σ_j A_cj σ(w_j·x), random and fixed signs A (K × m), A_{c,j+m/2} = −A_cj: f(W(0)) = 0
teacher   v_c with ‖v_c(z)‖ ≤ 1 for each class, z_ic = E⟨φ_i, v_c⟩, p_i = softmax(κz_i)
margin    γ = min_i min_{k≠y_i} (z_{i,y_i} − z_ik), 0 < γ ≤ 1;  a tie is a mistake
target    U_j = (κ/(α√m)) Σ_c A_cj v_c(w_j(0)), ‖U_j‖ ≤ B/√m with B = κK/α
"""

import math

from softlabel.errors import require
from softlabel.theory.bounds.needs import Needs, Requirement, rounded
from softlabel.theory.bounds.scalars import MEAN_ABSOLUTE, coin_divergence, log_share, ratio
from softlabel.theory.bounds.setting import Setting, check_epsilon, check_gamma, is_integer


def soft_for_classes(
    classes: int,
    gamma: float,
    epsilon: float,
    n: int,
    delta: float = 0.05,
    kappa: float = 1.0,
    alpha: float = 1.0,
    share: float = 0.5,
) -> Requirement:
    """A sufficient condition for a mean error ε of soft-label training with several classes.

    m ≥ κ²(√((4K − 2) ln(2nK/δ)) + K(aκK/α + √ln(n/δ)))²/(2θβ),   β = εΨ_K(κγ)
    η = (1 − θ)/(2α²),   T ≥ 2κ²K²/(β(1 − θ)²),   B = κK/α

    Parameters
    ----------
    classes : int
        Number of classes K, at least 2.
    gamma : float
        Margin: the smallest difference between the teacher's logit of the true class and of another, 0 < γ ≤ 1.
    epsilon, n, delta, kappa, alpha, share
        See `softlabel.theory.bounds`.

    Returns
    -------
    Requirement

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.soft_for_classes(3, gamma=0.2, epsilon=0.1, n=1000).iterations
    209869
    """
    require(
        is_integer(classes, 2),
        f"`classes` must be a whole number ≥ 2, got {classes}; a single class leaves nothing to learn",
    )
    gamma, epsilon = check_gamma(gamma, largest=1.0), check_epsilon(epsilon)
    setting = Setting(n=n, delta=delta, kappa=kappa, alpha=alpha, share=share)
    return rounded(class_needs(int(classes), gamma, epsilon, setting), 1 - 2 * delta)


def class_needs(classes: int, gamma: float, epsilon: float, setting: Setting) -> Needs:
    """The requirement before rounding."""
    kappa, alpha, rest = setting.kappa, setting.alpha, 1 - setting.share
    beta = epsilon * class_divergence(classes, kappa * gamma)
    k = kappa * (class_feature_spread(classes, setting) + class_flip_spread(classes, setting))
    reach = kappa * classes
    return Needs(
        ratio(k * k, 2 * setting.share * beta),
        rest / 2 / alpha / alpha,
        ratio(2 * reach * reach, beta * rest * rest),
        reach / alpha,
    )


def class_divergence(classes: int, z: float) -> float:
    """Ψ_K(z) = ψ(z)(1 + e^{−z})/(1 + (K − 1)e^{−z}), the least KL of a point misclassified at margin z; Ψ_2 = ψ.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.class_divergence(3, 0.2), 6)
    0.003431
    """
    tail = math.exp(-z)
    return coin_divergence(z) * (1 + tail) / (1 + (classes - 1) * tail)


def class_feature_spread(classes: int, setting: Setting) -> float:
    """√((4K − 2) ln(2nK/δ)): with probability 1 − δ every |αf_ic⁰(U) − κz_ic| is at most κ/√m times this."""
    log = math.log(classes) + log_share(2, setting.n, setting.delta)
    return math.sqrt((4 * classes - 2) * log)


def class_flip_spread(classes: int, setting: Setting) -> float:
    """K(aκK/α + √ln(n/δ)): with probability 1 − δ flips move every logit by at most κ/√m times this."""
    drift = MEAN_ABSOLUTE * setting.kappa * classes / setting.alpha
    return classes * (drift + math.sqrt(log_share(1, setting.n, setting.delta)))
