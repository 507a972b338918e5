"""The paper's lemmas as functions; the printed versions only where they are correct.

Notation: m `width`, B `radius`, δ `delta`, η `learning_rate`, T `iterations`, H `entropy`.
"""

import math
from typing import Any

import numpy as np
from scipy.special import erf

from softlabel.theory.bounds.scalars import MEAN_ABSOLUTE, coin_divergence, log_share, ratio


def error_from_loss(gamma: float, kappa: float = 1.0) -> float:
    """Lemma 3 with its best constant: R ≤ R^KL/ψ(κγ). The paper prints 32/γ² (κ = 1); 8.4/γ² is enough for γ ≤ ½.

    A misclassified point has f on the wrong side of 0 and so KL(μ(κz) ‖ μ(f)) ≥ KL(μ(κz) ‖ ½) = ψ(κ|z|) ≥ ψ(κγ).

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.error_from_loss(0.5), 2)
    33.0
    """
    return ratio(1.0, coin_divergence(kappa * gamma))


def printed_error_from_loss(gamma: float) -> float:
    """Lemma 3 as printed, equation (9): R ≤ (32/γ²) R^KL.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.printed_error_from_loss(0.5)
    128.0
    """
    return ratio(32.0, gamma * gamma)


def error_from_soft_labels(p: Any) -> float:
    """Lemma 9, equation (38): R ≤ R^KL/(2 min_i |p_i − ½|²) for soft labels on the right side of ½.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.error_from_soft_labels([0.25, 0.75, 1.0]), 2)
    8.0
    """
    return ratio(1.0, 2 * float(np.min(np.abs(np.asarray(p, dtype=np.float64) - 0.5))) ** 2)


def feature_deviation(width: float, n: int, delta: float, kappa: float = 1.0) -> float:
    """Lemma 6, equation (15): with probability 1 − δ, |f_i⁰(U) − κz_i| ≤ κ√(2 ln(2n/δ)/m) for every i.

    f_i⁰(U) is κ times the mean of m/2 terms in [−1, 1], each of which is 0 with probability ½; such a term has
    E e^{λ(X − EX)} ≤ e^{λ²/4}, which gives the printed constant (plain Hoeffding would give 4 in place of 2).

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.feature_deviation(10_000, n=1000, delta=0.05), 4)
    0.046
    """
    return kappa * math.sqrt(2 * log_share(2, n, delta) / width)


def band_probability(width: float, radius: float) -> float:
    """P(|w_j(0)·x| ≤ ‖x‖B/√m) = erf(B/√(2m)) ≤ aB/√m: only such a neuron can flip its activation on x (equation 25).

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.band_probability(10_000, radius=1.0), 4)
    0.008
    """
    return float(erf(radius / math.sqrt(2 * width)))


def flip_deviation(width: float, radius: float, n: int, delta: float, sharp: bool = False) -> float:
    """Lemma 8: with probability 1 − δ, |f_i^t(W̄) − f_i⁰(W̄)| ≤ 2BN_i/m for every i and t, bounded here.

    N_i counts the pairs of neurons with |w_j(0)·x_i| ≤ ‖x_i‖B/√m: an event about W(0) alone, hence uniform in t. A pair
    adds at most 2B/m: if both flip, their initial weights cancel and 2‖U_j‖ ≤ 2B/√m remains; if one flips, ‖U_j‖ and
    its initial weights remain. With q = erf(B/√(2m)) and L = ln(n/δ),

        Hoeffding            2BN_i/m ≤ B(aB/√m + √(L/m))
        Bernstein (`sharp`)  2BN_i/m ≤ B(q + 2√(qL/m) + 2L/(3m))

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.flip_deviation(10_000, radius=1.0, n=1000, delta=0.05), 4)
    0.0394
    """
    log = log_share(1, n, delta)
    if sharp:
        q = band_probability(width, radius)
        return radius * (q + 2 * math.sqrt(q * log / width) + 2 * log / (3 * width))
    return radius * (MEAN_ABSOLUTE * radius + math.sqrt(log)) / math.sqrt(width)


def paper_flip_deviation(width: float, radius: float, size: float, n: int, delta: float, c: float) -> float:
    """Lemma 8 as its proof ends: |f_i^t(W') − f_i⁰(W')| ≤ (1/√m)(aBD/c + 2D√ln(2n/δ)) where ‖W'_j‖ ≤ D/√m.

    Equations (22) and (23) print √(ln(2n/δ)·D) as the second term; D (`size`) belongs outside the root.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.paper_flip_deviation(10_000, radius=1.0, size=1.0, n=1000, delta=0.05, c=1.0), 4)
    0.0731
    """
    drift = MEAN_ABSOLUTE * radius * size / c
    return (drift + 2 * size * math.sqrt(log_share(2, n, delta))) / math.sqrt(width)


def paper_mean_loss(
    learning_rate: float, iterations: float, radius: float, comparison: float, entropy: float = 1.0
) -> float:
    """Lemma 7, equation (18), η ≤ 1: mean R^KL ≤ B²/(ηT) + 2·R^t(W̄) + ηH, R^t(W̄) `comparison`.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.paper_mean_loss(0.1, 1000, radius=1.0, comparison=0.01), 4)
    0.13
    """
    return radius * radius / (learning_rate * iterations) + 2 * comparison + learning_rate * entropy


def mean_loss(
    learning_rate: float, iterations: float, radius: float, comparison: float, curvature: float = 0.5
) -> float:
    """Lemma 7 refined: mean R ≤ (B²/(ηT) + 2·R^t(W̄))/(2 − ρ'η), where ‖∇R‖² ≤ ρ'R (`curvature`: ½ soft, ρ hard).

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.mean_loss(0.1, 1000, radius=1.0, comparison=0.01), 4)
    0.0154
    """
    return (radius * radius / (learning_rate * iterations) + 2 * comparison) / (2 - curvature * learning_rate)
