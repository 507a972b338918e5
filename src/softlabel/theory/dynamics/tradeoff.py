"""The trade-off of λ (Rahbar, section 2.7): larger λ learns faster and keeps more of the teacher's errors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from softlabel.errors import require
from softlabel.theory.dynamics.limits import limit, printed_limit
from softlabel.theory.dynamics.prediction import Dynamics, kernel_dynamics
from softlabel.theory.dynamics.problem import KernelProblem

LEFT = 0.1  # share of the way that remains when f counts as settled


@dataclass(frozen=True)
class Trade:
    """At one λ: the final error ‖f − y‖, for f_lim and for the printed limit, and how fast it is reached.

    slowest_active  the pole below which little of the movement of f lies
    settled         time after which less than a tenth of the way remains (λt for λ = ∞)
    """

    strength: float
    error: float
    printed_error: float
    slowest_active: float
    settled: float


def strength_tradeoff(
    problem: KernelProblem, strengths: Sequence[float], active: float = 0.05, vectors: int = 200
) -> list[Trade]:
    """The trade-off for every λ in `strengths`; slower poles than the slowest active one have at most the share
    `active` of the movement.
    """
    require(0 < active < 1, f"`active` must lie in (0, 1), got {active}")
    trades = []
    for strength in strengths:
        here = replace(problem, strength=float(strength))
        dynamics = kernel_dynamics(here, vectors)
        left, printed = (float((f - here.y).norm()) for f in (limit(here), printed_limit(here)))
        trades.append(Trade(float(strength), left, printed, _slowest(dynamics, active), _settled(dynamics)))
    return trades


def _slowest(dynamics: Dynamics, active: float) -> float:
    moving = dynamics.poles > 1e-12 * dynamics.poles.max()
    order = np.argsort(dynamics.poles[moving])
    poles = dynamics.poles[moving][order]
    lengths = np.linalg.norm(dynamics.modes[moving][order] / poles[:, None], axis=1)
    if lengths.sum() == 0:
        return 0.0
    return float(poles[np.argmax(np.cumsum(lengths) > active * lengths.sum())])


def _settled(dynamics: Dynamics) -> float:
    """By bisection on a logarithmic scale between the fastest and the slowest pole."""
    end, initial = dynamics(None), dynamics(0.0)
    way = float(np.linalg.norm(end - initial))
    if way == 0:
        return 0.0
    low, high = np.log(1e-4 / dynamics.poles.max()), np.log(1e16 / dynamics.poles.max())
    for _ in range(60):
        middle = (low + high) / 2
        near = np.linalg.norm(dynamics(float(np.exp(middle))) - end) < LEFT * way
        low, high = (low, middle) if near else (middle, high)
    return float(np.exp(high))
