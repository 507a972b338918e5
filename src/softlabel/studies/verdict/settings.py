"""Settings of a verdict."""

import numpy as np
from pydantic import Field

from softlabel.lab.scores import Unmet
from softlabel.lab.sequential import Look, planned_looks
from softlabel.studies.students.family_settings import FamilySettings
from softlabel.studies.students.recipe import Arm, Recipe


class VerdictSettings(FamilySettings):
    """Settings of one verdict.

    source          identity of the problem and its teacher; `data` and `teacher` describe them
    width           size of the students, in the unit of their family
    class_rows      number of test rows of each class
    fold_rows       number of test rows of each fold, where every row is tested; empty for one test part
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
    fold_rows: tuple[int, ...] = ()
    recipe: Recipe

    @property
    def fold_count(self) -> int:
        """Number of folds; 1 for one test part."""
        return max(1, len(self.fold_rows))

    @property
    def folds(self) -> np.ndarray | None:
        """The fold that tests each row, as scores are ordered; None for one test part."""
        return np.repeat(np.arange(len(self.fold_rows)), self.fold_rows) if self.fold_rows else None

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

    @property
    def hidden(self) -> Unmet:
        """Kinds of test rows that were not met."""
        return Unmet(self.metric, self.class_rows)
