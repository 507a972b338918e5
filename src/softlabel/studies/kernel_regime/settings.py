"""What Figures 1 to 6 are run with (Rahbar, section 4), in three sizes of run."""

from typing import Self

from pydantic import Field, model_validator

from softlabel.data import load
from softlabel.data.rules import class_pair
from softlabel.lab import Settings


class KernelRegime(Settings):
    """Settings of the study.

    early       iteration at which the imperfect teacher is taken
    landmarks   of the kernel embedding; `kernels` Gaussian kernels are aligned with the labels
    top         eigenvectors of H^∞ that overlaps are taken with
    rows        training images to use; None: all
    """

    data: str = "cifar10"
    classes: str = "airplane,automobile"
    rows: int | None = Field(default=None, ge=20)
    teacher_width: int = Field(default=100, ge=2)
    student_width: int = Field(default=20, ge=1)
    start_scale: float = Field(default=0.01, gt=0)
    step: float = Field(default=2e-4, gt=0)
    strength: float = Field(default=0.01, gt=0)
    iterations: int = Field(ge=2)
    early: int = Field(ge=1)
    records: int = Field(default=50, ge=2)
    kernels: int = Field(default=7, ge=1)
    landmarks: int = Field(default=500, ge=2)
    top: int = Field(default=10, ge=1)
    runs: int = Field(ge=2)
    seed: int = Field(default=0, ge=0)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)

    @model_validator(mode="after")
    def _order(self) -> Self:
        if self.early >= self.iterations:
            raise ValueError(f"early ({self.early}) must be below iterations ({self.iterations})")
        if self.student_width > self.teacher_width:
            raise ValueError(
                f"student_width ({self.student_width}) must not exceed the teacher's ({self.teacher_width})"
            )
        return self

    def check_data(self) -> None:
        """Raise unless both classes can be had."""
        class_pair(self.classes, load(self.data, classes=self.classes).classes)

    @property
    def record_every(self) -> int:
        return max(1, self.iterations // self.records)


PRESETS = {
    "quick": KernelRegime(rows=1000, iterations=400, early=40, landmarks=200, runs=2),
    "standard": KernelRegime(iterations=1500, early=100, runs=5),
    "paper": KernelRegime(iterations=10_000, early=500, runs=10),
}
