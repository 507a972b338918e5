"""Family `refined`: sharper inequalities, still in closed form.

    KL(μ(z) ‖ μ(f)) ≤ (z − f)²/8;  ‖∇R^KL‖² ≤ R^KL/2 (Pinsker);  ‖∇R^h‖² ≤ ρR^h;
    flips counted in pairs by an event about W(0) alone (`lemmas.flip_deviation`), so 1/c drops out;
    a misclassified point has KL ≥ ψ(κγ), or logistic loss ≥ ln 2.

With these each step of projected gradient descent obeys

    (2η − ρ'η²) R(W(t)) ≤ ‖W(t) − W̄‖² − ‖W(t+1) − W̄‖² + 2η R^t(W̄),    ρ' = ½ soft, ρ hard,

so mean R ≤ β if R^t(W̄) ≤ θβ and T is large enough. Logits αf: the loss gradient grows by α, the radius shrinks by α.
"""

import math

from softlabel.theory.bounds.needs import Needs
from softlabel.theory.bounds.scalars import (
    MEAN_ABSOLUTE,
    RHO,
    coin_divergence,
    log_share,
    ratio,
    refined_spread,
    safe_margin_for_loss,
)
from softlabel.theory.bounds.setting import Setting

FAILURES = 2


def soft_for_loss(beta: float, setting: Setting) -> Needs:
    """m ≥ κ²K_r²/(8θβ), η = 2(1 − θ)/α², T ≥ κ²/(2β(1 − θ)²), B = κ/α for mean R^KL ≤ β."""
    k = setting.kappa * refined_spread(setting.n, setting.delta, setting.kappa, setting.alpha)
    return soft_schedule(ratio(k * k, 8 * setting.share * beta), beta, setting)


def soft(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """β = εψ(κγ): m ≥ κ²K_r²/(8θεψ(κγ)), T ≥ 2κ²/(εψ(κγ)) at θ = ½."""
    return soft_for_loss(loss_for_error(gamma, epsilon, setting.kappa), setting)


def loss_for_error(gamma: float, epsilon: float, kappa: float) -> float:
    """β = εψ(κγ): a mean KL of β forces a mean error of at most ε."""
    return epsilon * coin_divergence(kappa * gamma)


def soft_schedule(width: float, beta: float, setting: Setting) -> Needs:
    """Learning rate, iterations and radius for a soft width: T = κ²/(2α²ηβ(1 − θ − α²η/4))."""
    rest = 1 - setting.share
    learning_rate = 2 * rest / setting.alpha / setting.alpha
    iterations = ratio(setting.kappa * setting.kappa, 2 * beta * rest * rest)
    return Needs(width, learning_rate, iterations, setting.kappa / setting.alpha)


def hard_for_loss(gamma: float, beta: float, setting: Setting) -> Needs:
    """m ≥ γ⁻²(√A + √(A + s))⁴, A = aM/(γα), s = (1 + √2)√ln(n/δ), M = −ln(e^{θβ} − 1).

    The margin of αf is at least αB(γ − (aB + s)/√m); αB = (M/γ)(1 + √(1 + s/A)) makes the width least.
    """
    margin = safe_margin_for_loss(beta, setting.share)
    drift = MEAN_ABSOLUTE * margin / gamma / setting.alpha
    tail = (1 + math.sqrt(2)) * math.sqrt(log_share(1, setting.n, setting.delta))
    root = math.sqrt(drift) + math.sqrt(drift + tail)
    square = root * root / gamma
    radius = (margin / gamma) * (1 + math.sqrt(1 + ratio(tail, drift)))
    return hard_schedule(square * square, radius, beta, setting)


def hard(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """β = ln2·ε, since a misclassified point has logistic loss at least ln 2."""
    return hard_for_loss(gamma, math.log(2) * epsilon, setting)


def hard_schedule(width: float, scaled_radius: float, beta: float, setting: Setting) -> Needs:
    """η = (1 − θ)/(ρα²), T = ρ(αB)²/(β(1 − θ)²), B; `scaled_radius` is αB."""
    rest = 1 - setting.share
    learning_rate = rest / RHO / setting.alpha / setting.alpha
    iterations = ratio(RHO * scaled_radius * scaled_radius, beta * rest * rest)
    return Needs(width, learning_rate, iterations, scaled_radius / setting.alpha)
