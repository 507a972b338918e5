"""Kernel-regime prediction against simulation: one student, or a sweep along widths, λ, distances or choices."""

from softlabel.studies.dynamics.choices import choice_sweep
from softlabel.studies.dynamics.comparison import DynamicsResult, compare_dynamics
from softlabel.studies.dynamics.dynamics import DynamicsOptions, dynamics
from softlabel.studies.dynamics.sweeps import Sweep, SweepStudent, distance_sweep, strength_sweep, width_sweep

__all__ = [
    "DynamicsOptions",
    "DynamicsResult",
    "Sweep",
    "SweepStudent",
    "choice_sweep",
    "compare_dynamics",
    "distance_sweep",
    "dynamics",
    "strength_sweep",
    "width_sweep",
]
