"""Settings of a plan."""

from pydantic import Field

from softlabel.studies.students.family_settings import FamilySettings
from softlabel.studies.students.recipe import Recipe


class PlanSettings(FamilySettings):
    """Settings of one plan.

    source      identity of the problem and its teacher; `data` and `teacher` describe them
    widths      the ladder of sizes, in the unit of the family
    seeds       students at each width of the search
    share       probability with which a fresh student must reach the target
    confirm     fresh students that confirm a width; 0: the tolerance limit of the search alone
    frequent    share of the most frequent class among the test rows
    rival       whether to train larger hard-label students for 8-bit weights of the same size
    """

    source: str
    data: str
    teacher: str
    target: float
    widths: tuple[int, ...]
    seeds: int = Field(ge=3)
    share: float = Field(default=0.9, gt=0.5, lt=1)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    bisections: int = Field(default=3, ge=0)
    confirm: int = Field(ge=0)
    rival: bool = True
    seed: int = Field(default=0, ge=0)
    test_rows: int
    inputs: int
    classes: int
    frequent: float
    recipe: Recipe

    @property
    def outputs(self) -> int:
        return 1 if self.classes == 2 else self.classes

    @property
    def limit(self) -> int:
        return self.widths[-1]
