"""Families of students behind one interface: two-layer, trees, networks, and a user's own."""

from softlabel.studies.students.families.family import FamilyStudent, StudentFamily
from softlabel.studies.students.families.registry import FAMILIES, check_travels, family_of

__all__ = ["FAMILIES", "FamilyStudent", "StudentFamily", "check_travels", "family_of"]
