"""Family `tight`: the refined argument with Bernstein's inequality for the flips, solved numerically.

With q(m) = erf(B/√(2m)), L = ln(n/δ) and F(m, B) = B(q + 2√(qL/m) + 2L/(3m)) (`lemmas.flip_deviation`):

    soft   least m with  κ√(2 ln(2n/δ)/m) + αF(m, κ/α) ≤ √(8θβ)
    hard   least m with  α(Bγ − B√(2L/m) − F(m, B)) ≥ M  for some B

Every term decreases as m grows, so both conditions are monotone in m and have one root. Learning rate, iterations and
probability are those of `refined`, with this B.
"""

import math
from collections.abc import Callable

from scipy.special import erf, erfinv

from softlabel.theory.bounds import refined
from softlabel.theory.bounds.lemmas import feature_deviation, flip_deviation
from softlabel.theory.bounds.needs import Needs
from softlabel.theory.bounds.roots import root
from softlabel.theory.bounds.scalars import log_share, safe_margin_for_loss
from softlabel.theory.bounds.setting import Setting

FAILURES = 2
_LARGEST = math.log(1e306)


def soft_for_loss(beta: float, setting: Setting) -> Needs:
    """The smallest width at which the loss of the comparison point is θβ, for mean R^KL ≤ β."""
    allowed = math.sqrt(8 * setting.share * beta)

    def spare(width: float) -> float:
        return allowed - logit_deviation(width, setting)

    return refined.soft_schedule(least_width(spare), beta, setting)


def soft(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """β = εψ(κγ), for mean R ≤ ε. As κ → 0 the width tends to 2 ln(2n/δ)/(θεγ²), up to the term 2L/(3m)."""
    return soft_for_loss(refined.loss_for_error(gamma, epsilon, setting.kappa), setting)


def logit_deviation(width: float, setting: Setting) -> float:
    """How far the comparison point's logits αf_i^t(W̄) may be from κz_i: features, then flips."""
    kappa, alpha = setting.kappa, setting.alpha
    features = feature_deviation(width, setting.n, setting.delta, kappa)
    return features + alpha * flip_deviation(width, kappa / alpha, setting.n, setting.delta, sharp=True)


def hard_for_loss(gamma: float, beta: float, setting: Setting) -> Needs:
    """The smallest width at which some radius gives margin M = −ln(e^{θβ} − 1), for mean R^h ≤ β."""
    margin = safe_margin_for_loss(beta, setting.share)

    def spare(width: float) -> float:
        return setting.alpha * best_margin(width, gamma, setting)[0] - margin

    width = least_width(spare)
    radius = math.inf if math.isinf(width) else best_margin(width, gamma, setting)[1]
    return refined.hard_schedule(width, setting.alpha * radius, beta, setting)


def hard(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """β = ln2·ε, since a misclassified point has logistic loss at least ln 2."""
    return hard_for_loss(gamma, math.log(2) * epsilon, setting)


def best_margin(width: float, gamma: float, setting: Setting) -> tuple[float, float]:
    """The largest margin max_B Bγ − B√(2L/m) − F(m, B) of the comparison point's f^t, and its B; (0, 0) if none.

    In u = B/√(2m) this is √(2m)·u(g − erf u − 2r√erf u), r = √(L/m), g = γ − √2 r − 2r²/3: the product of u and a
    falling function, concave while erf u < g ≤ ½, so the derivative has one root.
    """
    r = math.sqrt(log_share(1, setting.n, setting.delta) / width)
    g = gamma - math.sqrt(2) * r - 2 * r * r / 3
    if g <= 0:
        return 0.0, 0.0

    def left(u: float) -> float:
        q = float(erf(u))
        return g - q - 2 * r * math.sqrt(q)

    def slope(u: float) -> float:
        root_q, density = math.sqrt(float(erf(u))), 2 / math.sqrt(math.pi) * math.exp(-u * u)
        return left(u) - u * density * (1 + r / root_q)

    high = float(erfinv(g))
    low = high * 1e-3
    while slope(low) <= 0:
        low *= 1e-3
        if low < 1e-300:
            return 0.0, 0.0
    u = root(slope, low, high)
    scale = math.sqrt(2) * math.sqrt(width)
    return scale * u * left(u), scale * u


def least_width(spare: Callable[[float], float]) -> float:
    """The real m ≥ 2 at which an increasing `spare` reaches 0; infinite beyond 10³⁰⁶."""
    if spare(2.0) >= 0:
        return 2.0
    low, high = math.log(2.0), math.log(2.0) + 4
    while spare(math.exp(high)) < 0:
        low, high = high, high + 4
        if high > _LARGEST:
            return math.inf
    return math.exp(root(lambda size: spare(math.exp(size)), low, high))
