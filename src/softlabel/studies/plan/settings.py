"""Settings of a plan."""

from typing import Literal

from pydantic import Field

from softlabel.lab import Settings
from softlabel.studies.students.recipe import Recipe

Family = Literal["two-layer", "vgg", "resnet"]
LADDERS: dict[str, tuple[int, ...]] = {
    "two-layer": (2, 4, 8, 16, 32, 64, 128, 256, 512),
    "vgg": (4, 8, 16, 32, 64),
    "resnet": (2, 4, 8, 16),
}
NETWORKS = {"vgg": ("vgg2+3", 64), "resnet": ("resnet8", 16)}  # student, and its first channels at full width


class PlanSettings(Settings):
    """Settings of one plan.

    source      identity of the problem and its teacher; `data` and `teacher` describe them
    widths      the ladder: neurons, or for deep students the channels of the first layer
    seeds       students at each width of the search
    share       probability with which a fresh student must reach the target
    confirm     fresh students that confirm a width; 0: the tolerance limit of the search alone
    frequent    share of the most frequent class among the test rows
    rival       whether to train larger hard-label students for 8-bit weights of the same size
    """

    source: str
    data: str
    teacher: str
    family: Family = "two-layer"
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
