"""What Table 1 is run with: the paper's task and sizes, and everything it leaves open, in three sizes of run."""

import math
from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from softlabel.data import load
from softlabel.data.rules import binary_rule
from softlabel.lab import Settings
from softlabel.networks.starts import check_start

PRIMARY = "pgd"
RADII = (12.5, 25.0, 50.0, 100.0, 200.0, 400.0)
TEMPERATURES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class Protocol(Settings):
    """How students are trained, and the settings each arm may choose from on validation data.

    Both arms have the same number of settings to choose from: the soft arm's temperatures are matched by further steps
    of the hard arm. Weights kept are those of the epoch with the smallest validation error, in both arms.
    """

    name: str
    about: str
    optimiser: Literal["gradient", "adam"] = "gradient"
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    epochs: int = Field(ge=1)
    starts: tuple[str, ...] = Field(default=("symmetric",), min_length=1)
    train_output: bool = False
    biases: bool = False
    radii: tuple[PositiveFloat, ...]
    without_projection: bool = True
    temperatures: tuple[PositiveFloat, ...] = Field(min_length=1)
    soft_steps: tuple[PositiveFloat, ...] = Field(min_length=1)
    hard_steps: tuple[PositiveFloat, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _equal_budgets(self) -> Self:
        soft, hard = len(self.temperatures) * len(self.soft_steps), len(self.hard_steps)
        if soft != hard:
            raise ValueError(
                f"protocol '{self.name}': the soft arm has {soft} settings (temperatures × soft_steps), the hard arm "
                f"{hard} (hard_steps); both must have the same number"
            )
        if not self.radii and not self.without_projection:
            raise ValueError(f"protocol '{self.name}': no radius to train with; give radii or without_projection")
        return self

    @property
    def all_radii(self) -> tuple[float | None, ...]:
        """Radii, None (no projection) last."""
        return (*self.radii, *((None,) if self.without_projection else ()))


class Teaching(Settings):
    """How the teacher is trained: Adam on hard labels, early stopping on validation data."""

    width: int = Field(default=512, ge=1)
    epochs: int = Field(default=15, ge=1)
    patience: int = Field(default=15, ge=1)
    step: float = Field(default=0.03, gt=0)
    start: str = "he"
    train_output: bool = True
    biases: bool = True

    @model_validator(mode="after")
    def _start(self) -> Self:
        check_start(self.start, self.width)
        return self


class Table1(Settings):
    """Settings of the study."""

    data: str = "mnist"
    task: str = "label>4"
    leave_out: tuple[tuple[int, ...], ...] = Field(default=((1, 7, 4, 9), ()), min_length=1)
    widths: tuple[PositiveInt, ...] = Field(default=(8, 6, 4), min_length=1)
    batch_size: int = Field(default=128, ge=1)
    seed: int = Field(default=0, ge=0)
    validation_share: float = Field(default=1 / 6, gt=0, lt=1)
    test_share: float = Field(default=0.2, gt=0, lt=1)
    tuning_seeds: int = Field(ge=1)
    runs: int = Field(ge=2)
    teacher: Teaching = Teaching()
    protocols: tuple[Protocol, ...]
    bundle_neurons: int = Field(default=1500, ge=8)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    equivalence: float = Field(default=0.5, ge=0)

    @model_validator(mode="after")
    def _primary(self) -> Self:
        names = [protocol.name for protocol in self.protocols]
        if PRIMARY not in names or len(set(names)) < len(names):
            raise ValueError(f"protocols must have different names and one of them must be '{PRIMARY}', got {names}")
        return self

    @model_validator(mode="after")
    def _students(self) -> Self:
        for name, values in (("widths", self.widths), ("leave_out", self.leave_out)):
            if len(set(values)) < len(values):
                raise ValueError(f"{name} must be different from each other, got {list(values)}")
        for start in {start for protocol in self.protocols for start in protocol.starts}:
            for width in self.widths:
                check_start(start, width)
        return self

    def check_data(self) -> None:
        """Raise unless the data can be had and both sides of the task are among them, whatever is left out."""
        for names in self.leave_out:
            dataset = load(self.data, leave_out=list(names) or None)
            binary_rule(self.task, dataset.labels, dataset.classes)

    def on_digits(self) -> "Table1":
        """The same study on scikit-learn's digits: fortieth part of the images, so more passes over them."""
        return self.model_copy(
            update={
                "data": "digits",
                "batch_size": 32,
                "teacher": self.teacher.model_copy(update={"epochs": 10 * self.teacher.epochs}),
                "protocols": tuple(p.model_copy(update={"epochs": 10 * p.epochs}) for p in self.protocols),
            }
        )

    def protocol(self, name: str) -> Protocol:
        return next(protocol for protocol in self.protocols if protocol.name == name)


def steps(low: float, high: float, count: int) -> tuple[float, ...]:
    """So many steps from low to high, each as many times the last, to two digits."""
    if count == 1:
        return (low,)
    ratio = (high / low) ** (1 / (count - 1))
    return tuple(float(f"{low * ratio**k:.2g}") for k in range(count))


def primary(
    epochs: int, radii: tuple[float, ...], temperatures: tuple[float, ...], soft_steps: tuple[float, ...]
) -> Protocol:
    """The paper's own model and method: output signs fixed, no biases, projected gradient descent."""
    return Protocol(
        name=PRIMARY,
        about="theory's model (no biases, output signs fixed, symmetric start), mini-batch projected gradient descent",
        epochs=epochs,
        radii=radii,
        temperatures=temperatures,
        soft_steps=soft_steps,
        hard_steps=steps(soft_steps[0] / 10, soft_steps[-1], len(temperatures) * len(soft_steps)),
    )


def further(epochs: int) -> tuple[Protocol, ...]:
    """Other ways to train, each named, to see how near the paper's cells any of them comes."""
    grid = {
        "temperatures": (1.0, 4.0, 8.0, 16.0),
        "soft_steps": (50.0, 150.0),
        "hard_steps": steps(10.0, 300.0, 8),
    }
    adam = {"soft_steps": (0.03, 0.1), "hard_steps": steps(0.005, 0.3, 8)}
    radii = (200.0,)
    return (
        Protocol(
            name="longer",
            about=f"as pgd, {4 * epochs} epochs in place of {epochs}",
            epochs=4 * epochs,
            radii=radii,
            **grid,
        ),
        Protocol(
            name="schedule",
            about=f"as pgd, {2 * epochs} epochs, the step falls to 0 by a cosine",
            schedule="cosine",
            epochs=2 * epochs,
            radii=radii,
            **grid,
        ),
        Protocol(
            name="starts",
            about="as schedule, from unpaired starts (gaussian, he, glorot; chosen on validation data)",
            schedule="cosine",
            epochs=2 * epochs,
            starts=("gaussian", "he", "glorot"),
            radii=(),
            **grid,
        ),
        Protocol(
            name="adam",
            about=f"theory's model without projection, Adam, {2 * epochs} epochs, the step falls to 0 by a cosine",
            optimiser="adam",
            schedule="cosine",
            epochs=2 * epochs,
            radii=(),
            **{**grid, **adam},
        ),
        Protocol(
            name="trainable-output",
            about="not the paper's model: output layer and biases learn too; Adam as above",
            optimiser="adam",
            schedule="cosine",
            epochs=2 * epochs,
            starts=("symmetric", "he"),
            train_output=True,
            biases=True,
            radii=(),
            **{**grid, **adam},
        ),
    )


PRESETS = {
    "quick": Table1(
        tuning_seeds=1,
        runs=3,
        teacher=Teaching(epochs=5),
        protocols=(primary(10, (25.0, 50.0, 100.0), (4.0, 16.0), (30.0, 100.0)),),
    ),
    "standard": Table1(
        tuning_seeds=2,
        runs=10,
        protocols=(
            primary(20, RADII, TEMPERATURES, (30.0, 100.0, 300.0)),
            *further(20),
        ),
    ),
    "paper": Table1(
        tuning_seeds=5,
        runs=30,
        protocols=(
            primary(60, RADII, TEMPERATURES, (10.0, 30.0, 100.0, 300.0)),
            *further(60),
        ),
    ),
}


def cost(neurons: int, epochs: int) -> float:
    """Relative cost of training so many neurons; a bundle has a fixed part too."""
    return epochs * math.sqrt(neurons**2 + 100.0**2)
