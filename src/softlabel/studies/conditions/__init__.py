"""Hard and soft labels compared under conditions: what the studies of the papers' open questions share."""

from softlabel.studies.conditions.result import ConditionsResult, Endpoint
from softlabel.studies.conditions.settings import (
    Condition,
    ConditionRecipe,
    ConditionsSettings,
    ConditionTeacher,
    MarginsOfRows,
)
from softlabel.studies.conditions.study import ConditionsStudy

__all__ = [
    "Condition",
    "ConditionRecipe",
    "ConditionTeacher",
    "ConditionsResult",
    "ConditionsSettings",
    "ConditionsStudy",
    "Endpoint",
    "MarginsOfRows",
]
