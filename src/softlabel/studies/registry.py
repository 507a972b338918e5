"""The studies by name."""

from typing import Any

from softlabel.errors import unknown
from softlabel.lab import Study
from softlabel.studies.figure1 import Figure1Study
from softlabel.studies.kernel_regime import KernelRegimeStudy
from softlabel.studies.mechanism import MechanismStudy
from softlabel.studies.ordinary import OrdinaryStudy
from softlabel.studies.plan.study import PlanStudy
from softlabel.studies.questions import QUESTIONS
from softlabel.studies.table1 import Table1Study
from softlabel.studies.verdict.study import VerdictStudy
from softlabel.studies.width_scaling import WidthScalingStudy

PAPER_STUDIES: dict[str, type[Study[Any, Any]]] = {
    study.name: study
    for study in (
        Table1Study,
        OrdinaryStudy,
        Figure1Study,
        KernelRegimeStudy,
        MechanismStudy,
        WidthScalingStudy,
        *QUESTIONS,
    )
}
STUDIES: dict[str, type[Study[Any, Any]]] = PAPER_STUDIES | {study.name: study for study in (PlanStudy, VerdictStudy)}


def find_study(name: str, studies: dict[str, type[Study[Any, Any]]] = STUDIES) -> type[Study[Any, Any]]:
    """The class of the study with this name."""
    if name not in studies:
        raise unknown("study", name, PAPER_STUDIES)
    return studies[name]
