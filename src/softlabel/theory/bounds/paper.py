"""Family `paper`: the requirements as printed, including those with errors (see docs/papers/errata-mandal.md).

Theorem 2 (6), Corollary 4 (10), Proposition 5 (13) and its classification form (42)–(44). There is no temperature and
no output scale in the paper.
"""

import math

from softlabel.theory.bounds.needs import Needs
from softlabel.theory.bounds.scalars import MEAN_ABSOLUTE, log_share, ratio, spread
from softlabel.theory.bounds.setting import Setting

FAILURES = 3  # the guarantee holds with probability 1 − 3δ
LOSS_CONSTANT = 96 / (1 + math.e**2)  # C_1
ERROR_CONSTANT = 32 * LOSS_CONSTANT  # C_2


def soft_for_loss(beta: float, setting: Setting) -> Needs:
    """Theorem 2: m ≥ (C_1/β)K², η ≤ β/3, T ≥ 9/β², B = 1 for mean R^KL ≤ β."""
    k = spread(setting.n, setting.delta, setting.c)
    return Needs(LOSS_CONSTANT * k * k / beta, beta / 3, ratio(9, beta * beta), 1.0)


def soft(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """Corollary 4: m ≥ (C_2/(γ²ε))K², η ≤ γ²ε/3, T ≥ 9/(γ⁴ε²), B = 1 for mean R ≤ ε."""
    k, target = spread(setting.n, setting.delta, setting.c), gamma * gamma * epsilon
    return Needs(ratio(ERROR_CONSTANT * k * k, target), target / 3, ratio(9, target * target), 1.0)


def hard_for_loss(gamma: float, beta: float, setting: Setting) -> Needs:
    """Proposition 5: L = ln(2/(ln2·β)), B = 2L/γ, m ≥ (16/γ⁴)(2aL/c + 3ℓ)², η ≤ 1, T ≥ 8L²/(γ²η ln2·β)."""
    return hard(gamma, beta, setting)


def hard(gamma: float, epsilon: float, setting: Setting) -> Needs:
    """Equations (42)–(44): Proposition 5's formulas with ε in the place of β, for mean R ≤ ε."""
    margin = math.log(2) - math.log(math.log(2)) - math.log(epsilon)
    bracket = 2 * MEAN_ABSOLUTE * margin / setting.c + 3 * math.sqrt(log_share(2, setting.n, setting.delta))
    root = ratio(4 * bracket, gamma * gamma)
    radius = 2 * margin / gamma
    return Needs(root * root, 1.0, ratio(2 * radius * radius, math.log(2) * epsilon), radius)
