"""How many neurons soft and hard labels really need, against the margin of the data."""

from softlabel.studies.width_scaling.result import WidthScalingResult
from softlabel.studies.width_scaling.settings import PRESETS, WidthScalingSettings
from softlabel.studies.width_scaling.study import WidthScalingStudy

__all__ = ["PRESETS", "WidthScalingResult", "WidthScalingSettings", "WidthScalingStudy"]
