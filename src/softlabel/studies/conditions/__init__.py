"""Hard and soft labels compared under conditions: what the studies of the papers' open questions share."""

from softlabel.studies.conditions.result import ConditionsResult, Endpoint
from softlabel.studies.conditions.settings import Condition, ConditionsSettings, ConditionTeacher, Recipe
from softlabel.studies.conditions.study import ConditionsStudy

__all__ = [
    "Condition",
    "ConditionTeacher",
    "ConditionsResult",
    "ConditionsSettings",
    "ConditionsStudy",
    "Endpoint",
    "Recipe",
]
