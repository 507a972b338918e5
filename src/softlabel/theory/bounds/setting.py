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
from collections.abc import Callable
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
            is_integer(self.n, 1),
            f"`n` must be a whole number of examples ≥ 1, got {self.n}; pass the size of the training set",
        )
        checked = {  # as Python's own numbers: a NumPy number would warn on overflow
            "n": int(self.n),
            "delta": _in_range("delta", self.delta, "0 < δ < ⅓", lambda delta: 0 < delta < 1 / 3, "0.05 is usual"),
            "c": _in_range("c", self.c, "0 < c ≤ 1", lambda c: 0 < c <= 1, "scale inputs to norms between c and 1"),
            "kappa": _in_range("kappa", self.kappa, "0 < κ < ∞", _positive, "κ = 1/temperature"),
            "alpha": _in_range("alpha", self.alpha, "0 < α < ∞", _positive, "1 is the papers' scale"),
            "share": _in_range("share", self.share, "0 < θ < 1", _fraction, "½ is the default"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def unit(self) -> bool:
        """Whether κ = 1 and α = 1, the only case in the paper."""
        return self.kappa == 1 and self.alpha == 1


def check_gamma(gamma: float, largest: float = 0.5) -> float:
    """The margin, if it is in range."""
    remedy = f"inputs of norm ≤ 1 have margins of at most {largest:g}, and the theorems need a positive one"
    return _in_range("gamma", gamma, f"0 < γ ≤ {largest:g}", lambda value: 0 < value <= largest, remedy)


def check_epsilon(epsilon: float) -> float:
    """The target error, if it is in range."""
    return _in_range("epsilon", epsilon, "0 < ε < 1", _fraction, "it is the share of misclassified examples")


def check_beta(beta: float) -> float:
    """The target loss, if it is in range."""
    return _in_range("beta", beta, "0 < β < 1", _fraction, "it is a mean loss")


def check_width(width: int) -> int:
    """The width, if it suits the symmetric initialization."""
    require(
        is_integer(width, 2) and width % 2 == 0,
        f"`width` must be an even whole number ≥ 2 (neurons come in pairs), got {width}; use the next even number",
    )
    return int(width)


def is_integer(value: object, least: int) -> bool:
    """Whether the value is an integer of at least `least`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _in_range(name: str, value: object, constraint: str, holds: Callable[[float], bool], remedy: str) -> float:
    """The value as a float, if it is a number that satisfies the constraint; NaN satisfies none."""
    number = float(value) if isinstance(value, Real) else math.nan
    require(holds(number), f"`{name}` must satisfy {constraint}, got {value}; {remedy}")
    return number


def _positive(value: float) -> bool:
    return 0 < value < math.inf


def _fraction(value: float) -> bool:
    return 0 < value < 1
