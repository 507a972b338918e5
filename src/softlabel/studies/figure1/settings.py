"""Settings of Figure 1 (Mandal, section 4), and three presets."""

from typing import Literal, Self

from pydantic import Field, model_validator

from softlabel.data.loading import load_raw
from softlabel.data.rules import class_pair
from softlabel.errors import require
from softlabel.lab import Settings
from softlabel.studies.paper_settings import PaperSettings

FAMILIES = {"vgg": ("vgg8+3", "vgg2+3"), "resnet": ("resnet20", "resnet8")}  # teacher, student


class TeacherTraining(Settings):
    """A way to train a teacher; the rest is as for students."""

    epochs: int = Field(ge=1)
    learning_rate: float = Field(gt=0)
    schedule: Literal["constant", "cosine"] = "constant"
    augment: bool = False

    def __str__(self) -> str:
        augmented = ", augmented images" if self.augment else ""
        return f"{self.epochs} epochs, learning rate {self.learning_rate:g}, {self.schedule} schedule{augmented}"


class Figure1Settings(PaperSettings):
    """Settings of the study of Figure 1.

    Parameters
    ----------
    data, classes : str
        The data set, and the two classes of it.
    rows : int, optional
        Number of training and validation images. Default: all of both classes.
    families : tuple of {"vgg", "resnet"}
        The families of networks.
    levels : tuple of float
        Standard deviations of the noise, for pixels from 0 to 1.
    width_multiplier : float
        Multiplier of the channels and units of every network.
    epochs, patience : int
        Maximum number of epochs of a student, and epochs without improvement after which a training stops.
    teachers : tuple of TeacherTraining
        Ways to train the teacher; each family uses the one with the best validation accuracy on tuning seeds. Default:
        teachers are trained like students.
    tuning_seeds : int
        Number of seeds with which the training of teachers is chosen.
    batch_size : int
        Batch size.
    learning_rate : float
        Learning rate of Adam.
    vgg_weight_decay, resnet_weight_decay : float
        Weight decay (L2 penalty) of each family, as in the papers that introduced it.
    temperature : float
        Temperature of the soft labels.
    temperature_on : {"both", "labels"}
        Whether the student's logits are divided by the temperature too.
    soft_share : float
        Weight of the soft term; the hard term has the rest.
    started : float
        Validation accuracy in per cent that a network must reach to count as one that started to learn.
    precision : {"auto", "float32", "bfloat16"}
        Precision of the training.
    device : str
        PyTorch device.
    runs, resnet_runs, seed : int
        Number of seeds, that of residual networks (default: the same), and the first of them.
    confidence : float
        Confidence of the intervals.
    """

    data: str = "cifar10"
    classes: str = "cat,dog"
    rows: int | None = Field(default=None, ge=20)
    families: tuple[Literal["vgg", "resnet"], ...] = ("vgg", "resnet")
    levels: tuple[float, ...]
    width_multiplier: float = Field(gt=0)
    epochs: int = Field(default=100, ge=1)
    patience: int = Field(default=20, ge=1)
    teachers: tuple[TeacherTraining, ...] = ()
    tuning_seeds: int = Field(default=1, ge=1)
    batch_size: int = Field(default=128, ge=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    vgg_weight_decay: float = Field(default=5e-4, ge=0)
    resnet_weight_decay: float = Field(default=1e-4, ge=0)
    temperature: float = Field(default=4.0, gt=0)
    temperature_on: Literal["both", "labels"] = "both"
    soft_share: float = Field(default=1.0, gt=0, le=1)
    resnet_runs: int | None = Field(default=None, ge=2)
    started: float = Field(default=53.0, gt=50, lt=100)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    device: str = "cpu"

    @model_validator(mode="after")
    def _levels(self) -> Self:
        if len(self.levels) < 2 or list(self.levels) != sorted(set(self.levels)):
            raise ValueError(f"levels must be at least two increasing numbers, got {self.levels}")
        if self.levels[0] < 0 or self.levels[-1] > 1:
            raise ValueError(f"levels must lie between 0 and 1, as pixels do, got {self.levels}")
        if not self.families or len(set(self.families)) != len(self.families):
            raise ValueError(f"families must name one or both families, each once; got {self.families}")
        if self.resnet_runs is not None and self.resnet_runs > self.runs:
            raise ValueError(f"`resnet_runs` ({self.resnet_runs}) must not exceed `runs` ({self.runs})")
        if len(set(self.teachers)) < len(self.teachers):
            raise ValueError("`teachers` must be different ways to train a teacher")
        return self

    def check_data(self) -> None:
        """Raise unless both classes are available as images."""
        dataset = load_raw(self.data, classes=self.classes)
        require(dataset.image_shape is not None, f"data '{self.data}' are not images; choose another data set")
        class_pair(self.classes, dataset.classes)

    def weight_decay(self, family: str) -> float:
        """Weight decay of a family."""
        return self.vgg_weight_decay if family == "vgg" else self.resnet_weight_decay

    def seeds_of(self, family: str) -> range:
        """The seeds of a family."""
        runs = self.resnet_runs if family == "resnet" and self.resnet_runs is not None else self.runs
        return range(self.seed, self.seed + runs)

    @property
    def teacher_trainings(self) -> tuple[TeacherTraining, ...]:
        """Ways to train the teacher, at least one."""
        return self.teachers or (TeacherTraining(epochs=self.epochs, learning_rate=self.learning_rate),)


TEACHERS = (
    TeacherTraining(epochs=40, learning_rate=1e-3, schedule="cosine"),
    TeacherTraining(epochs=40, learning_rate=3e-3, schedule="cosine"),
    TeacherTraining(epochs=40, learning_rate=3e-3, schedule="cosine", augment=True),
)
PRESETS = {
    "quick": Figure1Settings(rows=2000, levels=(0.0, 0.3), width_multiplier=0.125, epochs=10, patience=5, runs=2),
    "standard": Figure1Settings(  # as many seeds as decide a slope of 1 point: `python -m benchmarks.seeds_needed`
        levels=(0.0, 0.4), width_multiplier=0.25, epochs=50, teachers=TEACHERS, runs=32, resnet_runs=12
    ),
    "paper": Figure1Settings(
        levels=(0.0, 0.05, 0.1, 0.2, 0.3, 0.4), width_multiplier=1.0, teachers=TEACHERS, tuning_seeds=3, runs=32
    ),
}
