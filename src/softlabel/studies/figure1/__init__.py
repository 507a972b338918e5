"""Mandal, Figure 1: hard against soft labels for deep students on noisy images."""

from softlabel.studies.figure1.result import Figure1Result
from softlabel.studies.figure1.settings import PRESETS, Figure1Settings
from softlabel.studies.figure1.study import Figure1Study

__all__ = ["PRESETS", "Figure1Result", "Figure1Settings", "Figure1Study"]
