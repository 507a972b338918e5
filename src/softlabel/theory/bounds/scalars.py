"""Constants and scalar functions of the neuron requirements.

a = √(2/π)                                        `MEAN_ABSOLUTE`, E|N(0, 1)|
ψ(z) = KL(μ(z) ‖ ½) = (z/2)tanh(z/2) − ln cosh(z/2)    `coin_divergence`
ρ = max_w (1 − e^{−w})²/w                         `RHO`
ℓ = √ln(2n/δ)                                     √`log_share(2, n, delta)`
K = a/c + 3ℓ                                      `spread`            (Mandal, equations 6 and 10)
K_r = aκ/α + √(2 ln(2n/δ)) + √ln(n/δ)             `refined_spread`
"""

import math
from typing import Any

import numpy as np
from scipy.special import lambertw

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)

# (1 − e^{−w})²/w is stationary where e^w = 1 + 2w, that is at w = −½ − W₋₁(−e^{−½}/2); there it equals 4w/(1 + 2w)².
_WORST_LOSS = -0.5 - float(lambertw(-0.5 * math.exp(-0.5), -1).real)
RHO = 4 * _WORST_LOSS / (1 + 2 * _WORST_LOSS) ** 2


def _series(terms: int) -> np.ndarray:
    """Coefficients of z², z⁴, … in ψ(z) = ∫₀^z (u/4) sech²(u/2) du: 1/8, −1/64, 1/576, …

    tanh y = Σ t_k y^{2k+1} and tanh' = 1 − tanh² give (2k + 1)t_k = −Σ_i t_i t_{k−1−i}, a sum without cancellation.
    """
    tanh, slopes = [1.0], [1.0]
    for k in range(1, terms):
        slopes.append(-sum(tanh[i] * tanh[k - 1 - i] for i in range(k)))
        tanh.append(slopes[k] / (2 * k + 1))
    return np.array([slope / (4 * 4.0**k * (2 * k + 2)) for k, slope in enumerate(slopes)])


_COEFFICIENTS = _series(20)  # the series converges for |z| < π and is used for |z| < 1
_SERIES_BELOW = 1.0


def coin_divergence(z: Any) -> Any:
    """ψ(z) = KL(μ(z) ‖ ½), the divergence of the soft label μ(z) from a fair coin; z²/8 near 0, ln 2 for large z.

    Returns a float for a number and an array of the same shape for an array.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.coin_divergence(1.0), 4)
    0.1109
    """
    size = np.abs(np.asarray(z, dtype=np.float64))
    with np.errstate(under="ignore"):
        near = np.minimum(size, _SERIES_BELOW)
        square = near * near
        small = square * np.polynomial.polynomial.polyval(square, _COEFFICIENTS)
        far = np.maximum(size, _SERIES_BELOW)
        tail = np.exp(-far)
        entropy = np.log1p(tail) + np.where(tail > 0, far, 0.0) * tail / (1 + tail)
    value = np.where(size < _SERIES_BELOW, small, math.log(2) - entropy)
    return float(value) if value.ndim == 0 else value


def divergence(z: Any, f: Any) -> Any:
    """KL(μ(z) ‖ μ(f)) of two logits, the Bregman divergence of ln(1 + e^f).

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> round(bounds.divergence(1.0, 0.0), 4)
    0.1109
    """
    z, f = np.asarray(z, dtype=np.float64), np.asarray(f, dtype=np.float64)
    value = np.logaddexp(0, f) - np.logaddexp(0, z) - (f - z) / (1 + np.exp(-z))
    value = np.maximum(value, 0.0)
    return float(value) if value.ndim == 0 else value


def log_share(factor: float, n: int, delta: float) -> float:
    """ln(factor·n/δ), the logarithm of a union bound over n points, without overflow."""
    return math.log(factor) + math.log(n) - math.log(delta)


def spread(n: int, delta: float, c: float) -> float:
    """K = a/c + 3√ln(2n/δ), the bracket of equations (6) and (10)."""
    return MEAN_ABSOLUTE / c + 3 * math.sqrt(log_share(2, n, delta))


def refined_spread(n: int, delta: float, kappa: float = 1.0, alpha: float = 1.0) -> float:
    """K_r = aκ/α + √(2 ln(2n/δ)) + √ln(n/δ): the mean of the flips, the features, the deviation of the flips."""
    drift = MEAN_ABSOLUTE * kappa / alpha
    return drift + math.sqrt(2 * log_share(2, n, delta)) + math.sqrt(log_share(1, n, delta))


def safe_margin_for_loss(beta: float, share: float) -> float:
    """M = −ln(e^{θβ} − 1): at margin M the logistic loss is θβ."""
    loss = share * beta
    return -math.log(math.expm1(loss)) if loss > 1e-15 else -math.log(share) - math.log(beta)


def ratio(above: float, below: float) -> float:
    """above/below for above > 0, infinite where the denominator has underflowed to 0."""
    return above / below if below > 0 else math.inf
