"""Settings of Figures 1 to 6 (Rahbar, section 4), and three presets."""

from typing import Self

from pydantic import Field, model_validator

from softlabel.data.loading import load_raw
from softlabel.data.rules import class_pair
from softlabel.studies.paper_settings import PaperSettings


class KernelRegimeSettings(PaperSettings):
    """Settings of the study of Figures 1 to 6.

    Parameters
    ----------
    data, classes : str
        The data set, and the two classes of it.
    rows : int, optional
        Number of training images. Default: all.
    teacher_width, student_width : int
        Units of the teachers and of the students.
    init_scale : float
        Standard deviation of the initial weights.
    learning_rate : float
        Learning rate of gradient descent.
    strength : float
        λ, the weight of the privileged knowledge.
    iterations, early : int
        Iterations of a training, and the iteration whose weights are the imperfect teacher.
    records : int
        Approximate number of points of a loss curve.
    kernels, landmarks : int
        Number of Gaussian kernels and of landmarks of the kernel embedding.
    top : int
        Number of eigenvectors of H^∞ for the overlaps.
    runs, seed : int
        Number of seeds, and the first of them.
    confidence : float
        Confidence of the intervals.
    """

    data: str = "cifar10"
    classes: str = "airplane,automobile"
    rows: int | None = Field(default=None, ge=20)
    teacher_width: int = Field(default=100, ge=2)
    student_width: int = Field(default=20, ge=1)
    init_scale: float = Field(default=0.01, gt=0)
    learning_rate: float = Field(default=2e-4, gt=0)
    strength: float = Field(default=0.01, gt=0)
    iterations: int = Field(ge=2)
    early: int = Field(ge=1)
    records: int = Field(default=50, ge=2)
    kernels: int = Field(default=7, ge=1)
    landmarks: int = Field(default=500, ge=2)
    top: int = Field(default=10, ge=1)

    @model_validator(mode="after")
    def _order(self) -> Self:
        if self.early >= self.iterations:
            raise ValueError(f"`early` ({self.early}) must be below `iterations` ({self.iterations})")
        if self.student_width > self.teacher_width:
            raise ValueError(
                f"`student_width` ({self.student_width}) must not exceed `teacher_width` ({self.teacher_width})"
            )
        if self.rows is not None and max(self.top + 1, self.landmarks) > self.rows:
            raise ValueError(
                f"`rows` ({self.rows}) must exceed `top` ({self.top}) and not be below `landmarks` ({self.landmarks})"
            )
        return self

    def check_data(self) -> None:
        """Raise unless both classes are available."""
        class_pair(self.classes, load_raw(self.data, classes=self.classes).classes)

    @property
    def record_every(self) -> int:
        """Iterations between two records of the losses."""
        return max(1, self.iterations // self.records)


PRESETS = {
    "quick": KernelRegimeSettings(rows=1000, iterations=400, early=40, landmarks=200, runs=2),
    "standard": KernelRegimeSettings(iterations=1500, early=100, runs=10),
    "paper": KernelRegimeSettings(iterations=10_000, early=500, runs=10),
}
