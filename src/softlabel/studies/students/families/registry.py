"""Families by name, and the family of whatever a user calls a student."""

import pickle
from typing import Any

from softlabel.errors import InputError, unknown
from softlabel.studies.students.families.estimator import EstimatorFamily
from softlabel.studies.students.families.family import StudentFamily
from softlabel.studies.students.families.networks import NETWORKS, DeepFamily, TorchFamily
from softlabel.studies.students.families.scikit import BoostedTreesFamily, ForestFamily, LogisticFamily, TreeFamily
from softlabel.studies.students.families.two_layer import TwoLayerFamily

FAMILIES: dict[str, StudentFamily] = {
    family.name: family
    for family in (
        TwoLayerFamily(),
        TreeFamily(),
        BoostedTreesFamily(),
        ForestFamily(),
        LogisticFamily(),
        *(DeepFamily(name) for name in NETWORKS),
    )
}
ALIASES = {network: name for name, (network, *_) in NETWORKS.items()}


def family_of(student: Any) -> StudentFamily:
    """The family that a name, a scikit-learn classifier, a function that builds torch modules, or a family stands for.

    Names of families that a program defined (as a run's settings record them) give a family that can only be described.
    """
    if isinstance(student, StudentFamily):
        return student
    if isinstance(student, str):
        if student.startswith("torch:"):
            return TorchFamily(None, student)
        if student.startswith("sklearn:"):
            return EstimatorFamily(None, student)
        name = ALIASES.get(student, student)
        if name not in FAMILIES:
            raise unknown("student", student, [*FAMILIES, *ALIASES])
        return FAMILIES[name]
    if hasattr(student, "get_params") and hasattr(student, "fit") and not isinstance(student, type):
        return EstimatorFamily.from_estimator(student)
    if callable(student) and not isinstance(student, type) and not hasattr(student, "state_dict"):
        return TorchFamily.from_factory(student)
    raise InputError(
        "`student` must be the name of a family, a scikit-learn classifier, or a function of a seed that builds a "
        f"torch module (lambda seed: MyNet()), got {type(student).__name__}"
    )


def check_travels(family: StudentFamily, executor: str) -> None:
    """Refuse a family that other processes cannot receive."""
    if executor == "serial" or family.name in FAMILIES:
        return
    try:
        pickle.dumps(family)
    except Exception:
        raise InputError(
            f"`executor` '{executor}' cannot send the students '{family.name}' to other processes, because the "
            "function that builds them is local: define it at the top of a module, or use `executor` 'serial'"
        ) from None
