"""How small can the student be? The smallest width at which fresh students reach a target."""

from softlabel.studies.plan.plan import PlanOptions, plan
from softlabel.studies.plan.result import Plan, PlannedArm, Point, Rival
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.plan.study import PlanStudy

__all__ = ["Plan", "PlanOptions", "PlanSettings", "PlanStudy", "PlannedArm", "Point", "Rival", "plan"]
