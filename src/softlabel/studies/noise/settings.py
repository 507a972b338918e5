"""What Figure 1 is run with (Mandal, section 4), in three sizes of run."""

from typing import Literal, Self

from pydantic import Field, model_validator

from softlabel.data import load
from softlabel.data.rules import class_pair
from softlabel.errors import require
from softlabel.lab import Settings

FAMILIES = {"vgg": ("vgg8+3", "vgg2+3"), "resnet": ("resnet20", "resnet8")}  # teacher, student


class Noise(Settings):
    """Settings of the study.

    levels      standard deviations of the noise, in pixels from 0 to 1
    width       multiplies channels and units of every network
    rows        images to use; None: all of both classes
    soft_share  weight of the soft term; the hard one has the rest
    …_decay     L2, as the papers that introduced the networks have it
    """

    data: str = "cifar10"
    classes: str = "cat,dog"
    rows: int | None = Field(default=None, ge=20)
    families: tuple[Literal["vgg", "resnet"], ...] = ("vgg", "resnet")
    levels: tuple[float, ...]
    width: float = Field(gt=0)
    epochs: int = Field(default=100, ge=1)
    patience: int = Field(default=20, ge=1)
    batch: int = Field(default=128, ge=1)
    rate: float = Field(default=1e-3, gt=0)
    vgg_decay: float = Field(default=5e-4, ge=0)
    resnet_decay: float = Field(default=1e-4, ge=0)
    temperature: float = Field(default=4.0, gt=0)
    temperature_on: Literal["both", "labels"] = "both"
    soft_share: float = Field(default=1.0, gt=0, le=1)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    device: str = "cpu"
    runs: int = Field(ge=2)
    seed: int = Field(default=0, ge=0)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)

    @model_validator(mode="after")
    def _levels(self) -> Self:
        if len(self.levels) < 2 or list(self.levels) != sorted(set(self.levels)) or self.levels[0] < 0:
            raise ValueError(f"levels must be at least two numbers from 0 on, rising; got {self.levels}")
        if not self.families or len(set(self.families)) != len(self.families):
            raise ValueError(f"families must be named once each, got {self.families}")
        return self

    def check_data(self) -> None:
        """Raise unless both classes can be had, as images."""
        dataset = load(self.data, classes=self.classes)
        require(dataset.image_shape is not None, f"data '{self.data}' are no images; choose another set")
        class_pair(self.classes, dataset.classes)

    def decay(self, family: str) -> float:
        return self.vgg_decay if family == "vgg" else self.resnet_decay

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.runs)


PRESETS = {
    "quick": Noise(rows=2000, levels=(0.0, 0.3), width=0.125, epochs=10, patience=5, runs=2),
    "standard": Noise(levels=(0.0, 0.1, 0.2, 0.4), width=0.25, epochs=24, patience=6, runs=5),
    "paper": Noise(levels=(0.0, 0.05, 0.1, 0.2, 0.3, 0.4), width=1.0, runs=10),
}
