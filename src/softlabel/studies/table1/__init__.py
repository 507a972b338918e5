"""Mandal, Table 1: very small students trained on hard and on soft labels; MNIST digits above 4."""

from softlabel.studies.table1.result import Table1Result
from softlabel.studies.table1.settings import PRESETS, Table1Settings
from softlabel.studies.table1.study import Table1Study

__all__ = ["PRESETS", "Table1Result", "Table1Settings", "Table1Study"]
