"""Distillation with privileged knowledge in the kernel regime: outputs f(t), limit and poles (Rahbar et al.)."""

from softlabel.theory.dynamics.assumptions import Assumption, check_assumptions
from softlabel.theory.dynamics.drift import LIPSCHITZ, Drift, MeanDeviation, drift, mean_deviation
from softlabel.theory.dynamics.limits import limit, printed_limit, ranks
from softlabel.theory.dynamics.prediction import (
    Dynamics,
    exact_dynamics,
    extreme_poles,
    kernel_dynamics,
)
from softlabel.theory.dynamics.problem import KernelProblem
from softlabel.theory.dynamics.tradeoff import Trade, strength_tradeoff

__all__ = [
    "LIPSCHITZ",
    "Assumption",
    "Drift",
    "Dynamics",
    "KernelProblem",
    "MeanDeviation",
    "Trade",
    "check_assumptions",
    "drift",
    "exact_dynamics",
    "extreme_poles",
    "kernel_dynamics",
    "limit",
    "mean_deviation",
    "printed_limit",
    "ranks",
    "strength_tradeoff",
]
