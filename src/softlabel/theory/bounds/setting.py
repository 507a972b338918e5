"""The quantities that the bounds depend on, and their ranges.

γ   gamma    margin of the kernel-limit teacher, 0 < γ ≤ ½ (a point's margin is at most ‖x‖/2)
ε   epsilon  classification error averaged over the iterations, 0 < ε < 1
β   beta     surrogate loss averaged over the iterations, 0 < β < 1
n   n        training examples
δ   delta    the failure probability is 2δ (3δ as printed), 0 < δ < ⅓
c   c        smallest norm of an input, 0 < c ≤ 1
κ   kappa    inverse temperature of the soft labels, p = μ(κz)
α   alpha    output scale, the logit is αf
θ   share    share of the target loss for the comparison point W̄; the rest is for the iterations
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real

from softlabel.errors import require


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The quantities n, δ, c, κ, α, θ of a bound, checked on construction; see `softlabel.theory.bounds`.

    Examples
    --------
    >>> from softlabel.theory import bounds
    >>> bounds.Setting(n=1000, kappa=2.0).unit
    False
    """

    n: int
    delta: float = 0.05
    c: float = 1.0
    kappa: float = 1.0
    alpha: float = 1.0
    share: float = 0.5

    def __post_init__(self) -> None:
        require(
            isinstance(self.n, Integral) and not isinstance(self.n, bool) and self.n >= 1,
            f"n must be a whole number of examples ≥ 1, got {self.n}; pass the size of the training set",
        )
        _check("delta", self.delta, "0 < δ < ⅓", 0 < _number(self.delta) < 1 / 3, "0.05 is usual")
        _check("c", self.c, "0 < c ≤ 1", 0 < _number(self.c) <= 1, "inputs must be scaled to norms between c and 1")
        _check("kappa", self.kappa, "a finite κ > 0", 0 < _number(self.kappa) < math.inf, "κ = 1/temperature")
        _check("alpha", self.alpha, "a finite α > 0", 0 < _number(self.alpha) < math.inf, "1 is the papers' scale")
        _check("share", self.share, "0 < θ < 1", 0 < _number(self.share) < 1, "½ is the default")
        object.__setattr__(self, "n", int(self.n))
        for name in ("delta", "c", "kappa", "alpha", "share"):  # a NumPy number would warn on overflow
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def unit(self) -> bool:
        """Whether κ = 1 and α = 1, the only case in the paper."""
        return self.kappa == 1 and self.alpha == 1


def check_gamma(gamma: float, largest: float = 0.5) -> float:
    """The margin, if it is in range."""
    remedy = "a margin beyond that cannot occur for inputs of norm ≤ 1; softlabel.margin computes it"
    _check("gamma", gamma, f"0 < γ ≤ {largest:g}", 0 < _number(gamma) <= largest, remedy)
    return float(gamma)


def check_epsilon(epsilon: float) -> float:
    """The target error, if it is in range."""
    _check("epsilon", epsilon, "0 < ε < 1", 0 < _number(epsilon) < 1, "it is the share of misclassified examples")
    return float(epsilon)


def check_beta(beta: float) -> float:
    """The target loss, if it is in range."""
    _check("beta", beta, "0 < β < 1", 0 < _number(beta) < 1, "it is a mean loss")
    return float(beta)


def check_width(width: int) -> int:
    """The width, if it suits the symmetric initialization."""
    require(
        isinstance(width, Integral) and not isinstance(width, bool) and width >= 2 and width % 2 == 0,
        f"width must be an even whole number ≥ 2 (neurons come in pairs), got {width}; use the next even number",
    )
    return int(width)


def _number(value: object) -> float:
    """The value as a float; NaN, which fails every comparison, if it is not a number."""
    return float(value) if isinstance(value, Real) else math.nan


def _check(name: str, value: object, constraint: str, holds: bool, remedy: str) -> None:
    require(holds, f"{name} must satisfy {constraint}, got {value}; {remedy}")
