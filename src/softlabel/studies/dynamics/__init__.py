"""Kernel-regime prediction against simulation: one student, or a sweep along widths, λ, distances or choices."""

from softlabel.studies.dynamics.comparison import DynamicsResult
from softlabel.studies.dynamics.dynamics import DynamicsOptions, dynamics
from softlabel.studies.dynamics.forecast import DynamicsPrediction, DynamicsProgress
from softlabel.studies.dynamics.sweeps import Sweep

__all__ = ["DynamicsOptions", "DynamicsPrediction", "DynamicsProgress", "DynamicsResult", "Sweep", "dynamics"]
