"""Settings of the study of the mechanism, and three presets."""

from typing import Self

from pydantic import Field, PositiveFloat, model_validator

from softlabel.networks.initialization import check_init
from softlabel.studies.conditions.problem import check_condition_data
from softlabel.studies.conditions.settings import Condition
from softlabel.studies.paper_settings import PaperSettings

LABELS = ("hard", "soft", "overconfident", "underconfident", "corrupted", "kernel limit")
EASY = "easy data"
ALL = "all digits"


class MechanismSettings(PaperSettings):
    """Settings of the study of the mechanism.

    Parameters
    ----------
    data, task : str
        The data set, and the rule that makes it binary.
    easy_leave_out : tuple of str
        Classes that the easier data set leaves out.
    rows, teacher_rows : int
        Training rows of the students, and of their teachers, which are networks of 512 neurons.
    width : int
        Neurons of the students.
    radius : float
        Radius of the ball of the students that have one.
    learning_rate, iterations : float and int
        Learning rate and number of full-batch steps, the same for all labels.
    checkpoints : int
        Number of times at which students are measured after the first step.
    label_scale : float
        Root mean square of the logits of the soft labels.
    miscalibration : float
        Factor by which an overconfident teacher's logits are larger, and an underconfident teacher's smaller.
    corrupted : float
        Share of a corrupted teacher's labels whose sign is changed.
    matched_error : float
        Training error at which displacements are compared, too.
    work_limit : float
        Limit on operations of the search for the kernel-limit teacher.
    runs, seed : int
        Number of seeds, and the first of them.
    confidence : float
        Confidence of the intervals.
    """

    data: str = "mnist"
    task: str = "label>4"
    easy_leave_out: tuple[str, ...] = ("1", "7", "4", "9")
    rows: int = Field(default=300, ge=20)
    teacher_rows: int = Field(default=12_000, ge=100)
    width: int = Field(default=128, ge=2)
    radius: PositiveFloat = 25.0
    learning_rate: PositiveFloat = 10.0
    iterations: int = Field(default=4000, ge=2)
    checkpoints: int = Field(default=8, ge=2)
    label_scale: PositiveFloat = 2.0
    miscalibration: float = Field(default=4.0, gt=1)
    corrupted: float = Field(default=0.2, gt=0, lt=0.5)
    matched_error: float = Field(default=0.05, gt=0, lt=0.5)
    work_limit: PositiveFloat = 1e11

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        check_init("symmetric", self.width)
        if self.rows > self.teacher_rows * 5 / 6:
            raise ValueError(f"`rows` ({self.rows}) must not exceed 5/6 of `teacher_rows` ({self.teacher_rows})")
        if self.iterations % self.checkpoints:
            raise ValueError(
                f"`iterations` ({self.iterations}) must be a multiple of `checkpoints` ({self.checkpoints})"
            )
        return self

    def condition(self, dataset: str) -> Condition:
        """The rows of a data set that teachers learn from."""
        leave_out = self.easy_leave_out if dataset == EASY else ()
        return Condition(name=dataset, data=self.data, task=self.task, leave_out=leave_out, rows=self.teacher_rows)

    def check_data(self) -> None:
        """Raise unless both data sets are available with enough rows."""
        for dataset in (ALL, EASY):
            check_condition_data(self.condition(dataset))

    def on_digits(self) -> Self:
        """The same study on scikit-learn's digits."""
        return self.model_copy(update={"data": "digits", "rows": 150, "teacher_rows": 600})


PRESETS = {
    "quick": MechanismSettings(
        rows=100, teacher_rows=3000, width=64, iterations=400, checkpoints=4, work_limit=1e10, runs=3
    ),
    "standard": MechanismSettings(runs=20),
    "paper": MechanismSettings(rows=1000, width=512, iterations=20_000, work_limit=1e13, runs=30),
}
