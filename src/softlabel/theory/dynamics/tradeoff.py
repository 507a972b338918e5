"""What λ trades (Rahbar, section 2.7): larger λ learns faster and keeps more of what the teacher gets wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from softlabel.errors import require
from softlabel.theory.dynamics.limits import limit, printed_limit
from softlabel.theory.dynamics.prediction import kernel_dynamics
from softlabel.theory.dynamics.problem import KernelProblem


@dataclass(frozen=True)
class Trade:
    """At one λ: what is left at the end, ‖f − y‖, by f_lim and as printed, and the slowest pole that matters."""

    strength: float
    error: float
    printed_error: float
    slowest_active: float


def strength_tradeoff(
    problem: KernelProblem, strengths: Sequence[float], active: float = 0.01, vectors: int = 200
) -> list[Trade]:
    """The trade along λ. A pole is active if what f still has to move along it is more than this share of all of it."""
    require(0 < active < 1, f"active must lie in (0, 1), got {active}")
    found = []
    for strength in strengths:
        here = replace(problem, strength=float(strength))
        dynamics = kernel_dynamics(here, vectors)
        moving = dynamics.poles > 1e-12 * dynamics.poles.max()
        poles = dynamics.poles[moving]
        lengths = np.linalg.norm(dynamics.modes[moving] / poles[:, None], axis=1)
        slowest = float(poles[lengths > active * lengths.sum()].min()) if len(poles) and lengths.sum() > 0 else 0.0
        left, printed = (float((f - here.y).norm()) for f in (limit(here), printed_limit(here)))
        found.append(Trade(float(strength), left, printed, slowest))
    return found
