"""Distillation with privileged knowledge in the kernel regime: outputs f(t), limit and poles (Rahbar et al.)."""

from softlabel.theory.dynamics.assumptions import Assumption, check_assumptions
from softlabel.theory.dynamics.drift import LIPSCHITZ, Drift, MeanDeviation, drift, mean_deviation
from softlabel.theory.dynamics.expansion import Expansion, corrected_expansion, printed_expansion
from softlabel.theory.dynamics.limits import limit, printed_limit, ranks
from softlabel.theory.dynamics.prediction import (
    Dynamics,
    all_poles,
    exact_dynamics,
    extreme_poles,
    kernel_dynamics,
    pole_density,
)
from softlabel.theory.dynamics.problem import KernelProblem, UnseenRows
from softlabel.theory.dynamics.tradeoff import Trade, strength_tradeoff

__all__ = [
    "LIPSCHITZ",
    "Assumption",
    "Drift",
    "Dynamics",
    "Expansion",
    "KernelProblem",
    "MeanDeviation",
    "Trade",
    "UnseenRows",
    "all_poles",
    "check_assumptions",
    "corrected_expansion",
    "drift",
    "exact_dynamics",
    "extreme_poles",
    "kernel_dynamics",
    "limit",
    "mean_deviation",
    "pole_density",
    "printed_expansion",
    "printed_limit",
    "ranks",
    "strength_tradeoff",
]
