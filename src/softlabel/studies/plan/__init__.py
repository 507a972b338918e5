"""How small can the student be? The smallest width at which fresh students reach a target."""

from softlabel.studies.plan.asking import Plan, plan
from softlabel.studies.plan.cells import study
from softlabel.studies.plan.judging import Judgement
from softlabel.studies.plan.page import document, page, summary
from softlabel.studies.plan.settings import PlanSettings as Settings

__all__ = ["Judgement", "Plan", "Settings", "document", "page", "plan", "study", "summary"]
