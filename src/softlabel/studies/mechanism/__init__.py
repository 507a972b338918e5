"""How training moves the weights: displacement, flipped activations, drift of the kernel, and direction."""

from softlabel.studies.mechanism.result import MechanismResult
from softlabel.studies.mechanism.settings import PRESETS, MechanismSettings
from softlabel.studies.mechanism.study import MechanismStudy

__all__ = ["PRESETS", "MechanismResult", "MechanismSettings", "MechanismStudy"]
