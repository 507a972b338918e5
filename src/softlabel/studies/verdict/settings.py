"""Settings of a verdict."""

from pydantic import Field

from softlabel.lab import Settings
from softlabel.lab.scores import unseen
from softlabel.lab.sequential import Look, planned_looks
from softlabel.studies.students.recipe import Arm, Recipe


class VerdictSettings(Settings):
    """Settings of one verdict.

    source          identity of the problem and its teacher; `data` and `teacher` describe them
    class_rows      number of test rows of each class
    equivalence     a gap within ± this many points (hundredths of the metric) does not matter
    seeds           maximum number of seeds per arm, beginning with `seed`
    """

    source: str
    data: str
    teacher: str
    arms: tuple[Arm, ...]
    width: int = Field(ge=1)
    metric: str
    equivalence: float = Field(ge=0)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    seeds: int = Field(ge=2)
    seed: int = Field(default=0, ge=0)
    class_rows: tuple[int, ...]
    recipe: Recipe

    @property
    def looks(self) -> tuple[Look, ...]:
        """The looks that are planned."""
        return planned_looks(self.seeds, self.confidence)

    @property
    def test_rows(self) -> int:
        return sum(self.class_rows)

    def metric_value(self, score: float) -> float:
        """The metric as users know it, from a score: scores of the log loss are its negative."""
        return 0.0 - score if self.metric == "log loss" else score

    def hidden(self, failure: float) -> float:
        """Points that test rows which were not met may hide."""
        return unseen(self.metric, self.class_rows, failure)
