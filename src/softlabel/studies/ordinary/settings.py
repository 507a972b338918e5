"""Settings of Table 1 with ordinary training, and three presets."""

from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from softlabel.data.loading import load_raw
from softlabel.data.rules import binary_rule
from softlabel.lab import Settings
from softlabel.networks.initialization import check_init
from softlabel.studies.paper_settings import PaperSettings

Pixels = Literal["standardized", "unit"]


class Way(Settings):
    """How a student is trained: its labels, its learning rate, its initialization, and the scale of its pixels.

    temperature     of the soft labels; None: hard labels
    on              whether the student's logits are divided by it too
    """

    temperature: PositiveFloat | None
    on: Literal["both", "labels"] = "both"
    learning_rate: PositiveFloat = 1e-2
    init: str = "torch"
    pixels: Pixels = "standardized"

    @property
    def arm(self) -> str:
        """Hard or soft."""
        return "hard" if self.temperature is None else "soft"

    @property
    def labels(self) -> str:
        """The labels in words."""
        if self.temperature is None:
            return "hard"
        return f"T = {self.temperature:g}" + (" on the labels only" if self.on == "labels" else "")


class OrdinarySettings(PaperSettings):
    """Settings of the study of Table 1 with ordinary training.

    Parameters
    ----------
    data, task : str
        The data set, and the rule that makes it binary.
    leave_out : tuple of tuple of int
        One data set per entry, without the classes of the entry.
    widths : tuple of int
        Neurons of the students.
    epochs, batch_size : int
        Epochs and batch size of the students.
    temperature, learning_rate : float
        Temperature (on both sides) and learning rate of the primary comparison.
    temperatures, label_temperatures : tuple of float
        Other temperatures, on both sides and on the labels only.
    learning_rates : tuple of float
        Other learning rates.
    inits : tuple of str
        Other initializations than PyTorch's default.
    other_pixels : bool
        Whether pixels in [0, 1] are tried beside standardized ones.
    runs, other_runs, seed : int
        Number of seeds of the primary comparison and of the others, and the first of them.
    teacher_width, teacher_epochs : int
        Neurons and epochs of the teachers.
    confidence : float
        Confidence of the intervals.
    """

    data: str = "mnist"
    task: str = "label>4"
    leave_out: tuple[tuple[int, ...], ...] = Field(default=((1, 7, 4, 9), ()), min_length=1)
    widths: tuple[PositiveInt, ...] = Field(default=(8, 6, 4), min_length=1)
    epochs: int = Field(default=20, ge=1)
    batch_size: int = Field(default=128, ge=1)
    temperature: PositiveFloat = 2.0
    learning_rate: PositiveFloat = 1e-2
    temperatures: tuple[PositiveFloat, ...] = (1.0, 4.0, 8.0, 20.0)
    label_temperatures: tuple[PositiveFloat, ...] = (2.0, 8.0)
    learning_rates: tuple[PositiveFloat, ...] = (1e-3, 3e-3, 3e-2)
    inits: tuple[str, ...] = ("he", "glorot")
    other_pixels: bool = True
    other_runs: int = Field(ge=2)
    teacher_width: int = Field(default=512, ge=1)
    teacher_epochs: int = Field(default=8, ge=1)
    test_share: float = Field(default=0.2, gt=0, lt=1)

    @model_validator(mode="after")
    def _seeds(self) -> Self:
        if self.other_runs > self.runs:
            raise ValueError(f"`other_runs` ({self.other_runs}) must not exceed `runs` ({self.runs})")
        return self

    @model_validator(mode="after")
    def _students(self) -> Self:
        for name, values in (("widths", self.widths), ("leave_out", self.leave_out), ("inits", self.inits)):
            if len(set(values)) < len(values):
                raise ValueError(f"{name} must not contain duplicates, got {list(values)}")
        ways = self.ways("standardized")
        if len(set(ways)) < len(ways):
            raise ValueError(
                "`temperatures`, `label_temperatures`, `learning_rates` and `inits` must be different from each other "
                "and from the primary way of training"
            )
        for init in self.inits:
            for width in self.widths:
                check_init(init, width)
        return self

    def check_data(self) -> None:
        """Raise unless the data are available and contain both sides of the task, whatever classes are left out."""
        for names in self.leave_out:
            dataset = load_raw(self.data, leave_out=list(names) or None)
            binary_rule(self.task, dataset.labels, dataset.classes)

    def on_digits(self) -> Self:
        """The same study on scikit-learn's digits, with smaller batches."""
        return self.model_copy(update={"data": "digits", "batch_size": 32})

    @property
    def primary(self) -> dict[str, Way]:
        """The two arms of the primary comparison."""
        hard = Way(temperature=None, learning_rate=self.learning_rate)
        return {"hard": hard, "soft": hard.model_copy(update={"temperature": self.temperature})}

    def ways(self, pixels: Pixels, *, all_seeds: bool = False) -> list[Way]:
        """Every way in which students on these pixels are trained, or those of all seeds."""
        pair = [way.model_copy(update={"pixels": pixels}) for way in self.primary.values()]
        if pixels == "unit":
            return [] if all_seeds or not self.other_pixels else pair
        soft = pair[1]
        ways = [
            *pair,
            *(soft.model_copy(update={"temperature": t}) for t in self.temperatures),
            *(soft.model_copy(update={"temperature": t, "on": "labels"}) for t in self.label_temperatures),
        ]
        if all_seeds:
            return ways
        changes = [{"learning_rate": rate} for rate in self.learning_rates] + [{"init": init} for init in self.inits]
        return ways + [way.model_copy(update=change) for change in changes for way in pair]


PRESETS = {
    "quick": OrdinarySettings(
        epochs=2, teacher_epochs=1, temperatures=(8.0,), label_temperatures=(), learning_rates=(1e-3,), inits=(),
        other_pixels=False, runs=6, other_runs=2,
    ),
    "standard": OrdinarySettings(runs=100, other_runs=40, seed=5000),
    "paper": OrdinarySettings(epochs=30, runs=400, other_runs=100, seed=5000),
}  # fmt: skip
