"""Settings of studies whose students belong to a family."""

from typing import Any, Self

from pydantic import PrivateAttr, model_validator

from softlabel.lab import Settings
from softlabel.studies.students.families import FAMILIES, StudentFamily, family_of


class FamilySettings(Settings):
    """Settings with the name of a family; a family that a program defined is carried along, but not stored.

    student     name of the family
    """

    student: str = "two-layer"
    _family: StudentFamily | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _earlier_name(cls, values: Any) -> Any:
        """Runs of earlier versions record the family under another name."""
        if isinstance(values, dict) and "family" in values:
            values = {**values, "student": values["family"]}
            del values["family"]
        return values

    @property
    def family(self) -> StudentFamily:
        """The family of the students."""
        return self._family or family_of(self.student)

    def with_family(self, family: StudentFamily) -> Self:
        """The same settings, carrying a family that is not registered by its name."""
        if family.name not in FAMILIES:
            self._family = family
        return self
