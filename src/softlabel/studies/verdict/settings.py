"""What a verdict is asked with."""

from pydantic import Field

from softlabel.lab import Settings
from softlabel.lab.scores import unseen
from softlabel.studies.practice import Arm, Recipe


class VerdictSettings(Settings):
    """Settings of one verdict; `held` is the identity of data and teacher, `teacher` a name of the latter.

    class_rows  test rows of each class
    margin      half of the range, in points (hundredths of the metric), within which a gap does not matter
    seeds       at most so many for each arm, beginning with `seed`
    """

    held: str
    data: str
    teacher: str
    arms: tuple[Arm, ...]
    width: int = Field(ge=1)
    metric: str
    margin: float = Field(ge=0)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    seeds: int = Field(ge=2)
    seed: int = Field(default=0, ge=0)
    class_rows: tuple[int, ...]
    recipe: Recipe

    @property
    def test_rows(self) -> int:
        return sum(self.class_rows)

    def hidden(self, failure: float) -> float:
        """Points that test rows which were not met may hide."""
        return unseen(self.metric, self.class_rows, failure)
