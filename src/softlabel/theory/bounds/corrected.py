"""Family `corrected`: the paper's own route with the constants its proofs give.

Soft: KL ≤ 2(1 + e²)(z − f)² and |z − f| ≤ 2K/√m ask for 8(1 + e²)K²/m ≤ β/6; the three parts of (27) are β/3 each.
Hard: the loss at margin L is at most e^{−L} = β/4, the margin Bγ is halved by the deviations, the two parts are β/2.
"""

import math

from softlabel.theory.bounds.needs import Needs
from softlabel.theory.bounds.scalars import MEAN_ABSOLUTE, log_share, ratio, spread
from softlabel.theory.bounds.setting import Setting

FAILURES = 2
LOSS_CONSTANT = 48 * (1 + math.e**2)


def soft_for_loss(beta: float, setting: Setting, entropy: float = 1.0) -> Needs:
    """m ≥ 48(1 + e²)K²/β, η = min(1, β/(3H)), T ≥ 3/(ηβ), B = 1 for mean R^KL ≤ β.

    `entropy` H is the mean entropy of the soft labels, at most ln 2; 1 is safe if it is unknown.
    """
    k = spread(setting.n, setting.delta, setting.c)
    learning_rate = min(1.0, ratio(beta, 3 * entropy))
    return Needs(LOSS_CONSTANT * k * k / beta, learning_rate, ratio(3, learning_rate * beta), 1.0)


def soft(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """β = γ²ε/32 by Lemma 3: m ≥ 1536(1 + e²)K²/(γ²ε), η = γ²ε/96, T ≥ 96/(ηγ²ε), B = 1 for mean R ≤ ε."""
    k, target = spread(setting.n, setting.delta, setting.c), gamma * gamma * epsilon
    learning_rate = target / 96
    return Needs(ratio(32 * LOSS_CONSTANT * k * k, target), learning_rate, ratio(96, learning_rate * target), 1.0)


def hard_for_loss(gamma: float, beta: float, setting: Setting) -> Needs:
    """L = ln(4/β), B = 2L/γ, m ≥ (16/γ⁴)(2aL/c + 3γℓ)², η = 1, T ≥ 8L²/(γ²ηβ) for mean R^h ≤ β."""
    margin = math.log(4) - math.log(beta)
    tail = 3 * gamma * math.sqrt(log_share(2, setting.n, setting.delta))
    root = ratio(4 * (2 * MEAN_ABSOLUTE * margin / setting.c + tail), gamma * gamma)
    radius = 2 * margin / gamma
    return Needs(root * root, 1.0, ratio(2 * radius * radius, beta), radius)


def hard(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """β = ln2·ε, since a misclassified point has logistic loss at least ln 2."""
    return hard_for_loss(gamma, math.log(2) * epsilon, setting)
