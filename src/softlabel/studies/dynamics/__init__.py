"""`softlabel dynamics`: one student predicted and simulated, or a sweep along widths, λ, distances or choices."""

from softlabel.studies.dynamics.choices import choice_sweep
from softlabel.studies.dynamics.comparison import DynamicsOutcome, compare_dynamics, document
from softlabel.studies.dynamics.sweeps import Student, Sweep, distance_sweep, strength_sweep, width_sweep

__all__ = [
    "DynamicsOutcome",
    "Student",
    "Sweep",
    "choice_sweep",
    "compare_dynamics",
    "distance_sweep",
    "document",
    "strength_sweep",
    "width_sweep",
]
