"""Table 1 with ordinary training: where the printed numbers lie among many runs, and why runs differ."""

from softlabel.studies.ordinary.result import OrdinaryResult
from softlabel.studies.ordinary.settings import PRESETS, OrdinarySettings
from softlabel.studies.ordinary.study import OrdinaryStudy

__all__ = ["PRESETS", "OrdinaryResult", "OrdinarySettings", "OrdinaryStudy"]
