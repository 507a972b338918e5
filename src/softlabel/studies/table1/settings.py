"""Settings of Table 1: the paper's task and sizes, everything the paper leaves open, and three presets."""

import math
from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from softlabel.data.loading import load_raw
from softlabel.data.rules import binary_rule
from softlabel.lab import Settings
from softlabel.networks.initialization import check_init
from softlabel.studies.paper_settings import PaperSettings, learning_rates

PRIMARY = "pgd"
RADII = (12.5, 25.0, 50.0, 100.0, 200.0, 400.0)
TEMPERATURES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class Protocol(Settings):
    """How students are trained, and the settings from which each arm chooses on validation data.

    Both arms choose from the same number of settings: the soft arm's temperatures are matched by additional learning
    rates of the hard arm. Both arms keep the weights of the epoch with the smallest validation error.
    """

    name: str
    about: str
    optimizer: Literal["gradient", "adam"] = "gradient"
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    epochs: int = Field(ge=1)
    inits: tuple[str, ...] = Field(default=("symmetric",), min_length=1)
    train_output: bool = False
    biases: bool = False
    radii: tuple[PositiveFloat, ...]
    without_projection: bool = True
    temperatures: tuple[PositiveFloat, ...] = Field(min_length=1)
    soft_learning_rates: tuple[PositiveFloat, ...] = Field(min_length=1)
    hard_learning_rates: tuple[PositiveFloat, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _equal_choices(self) -> Self:
        soft, hard = len(self.temperatures) * len(self.soft_learning_rates), len(self.hard_learning_rates)
        if soft != hard:
            raise ValueError(
                f"protocol '{self.name}': the soft arm has {soft} settings (`temperatures` × `soft_learning_rates`), "
                f"the hard arm {hard} (`hard_learning_rates`); both must have the same number"
            )
        for name in ("radii", "temperatures", "soft_learning_rates", "hard_learning_rates"):
            if len(set(values := getattr(self, name))) < len(values):
                raise ValueError(f"protocol '{self.name}': `{name}` must be different numbers, got {list(values)}")
        if not self.radii and not self.without_projection:
            raise ValueError(f"protocol '{self.name}': no radius to train with; set `radii` or `without_projection`")
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
    learning_rate: float = Field(default=0.03, gt=0)
    init: str = "he"
    train_output: bool = True
    biases: bool = True

    @model_validator(mode="after")
    def _check_init(self) -> Self:
        check_init(self.init, self.width)
        return self


class Table1Settings(PaperSettings):
    """Settings of the study of Table 1.

    Parameters
    ----------
    data, task : str
        The data set, and the rule that makes it binary.
    leave_out : tuple of tuple of int
        One data set per entry, without the classes of the entry.
    widths : tuple of int
        Neurons of the students.
    batch_size : int
        Batch size of all trainings.
    seed : int
        First seed of the test; the others follow.
    validation_share : float
        Share of the training images that is used for validation.
    test_share : float
        Share of the images that is used for the test, for data without a test set.
    tuning_seeds : int
        Number of seeds with which every setting is tried.
    shortlist, confirmation_seeds : int
        The best settings of each arm, as many as `shortlist`, are tried with this many more seeds, so that a setting
        with which students collapse now and then is not chosen. Default: the best setting is chosen at once.
    runs : int
        Number of seeds of the test.
    teacher : Teaching
        How the teachers are trained.
    protocols : tuple of Protocol
        How the students are trained; one of them is named "pgd".
    bundle_neurons : int
        Approximate number of neurons that are trained together.
    confidence : float
        Confidence of the intervals.
    equivalence : float
        A gap within ± this number of percentage points does not matter.
    """

    data: str = "mnist"
    task: str = "label>4"
    leave_out: tuple[tuple[int, ...], ...] = Field(default=((1, 7, 4, 9), ()), min_length=1)
    widths: tuple[PositiveInt, ...] = Field(default=(8, 6, 4), min_length=1)
    batch_size: int = Field(default=128, ge=1)
    validation_share: float = Field(default=1 / 6, gt=0, lt=1)
    test_share: float = Field(default=0.2, gt=0, lt=1)
    tuning_seeds: int = Field(ge=1)
    shortlist: int = Field(default=1, ge=1)
    confirmation_seeds: int = Field(default=0, ge=0)
    teacher: Teaching = Teaching()
    protocols: tuple[Protocol, ...]
    bundle_neurons: int = Field(default=1500, ge=8)
    equivalence: float = Field(default=0.5, ge=0)

    @model_validator(mode="after")
    def _primary(self) -> Self:
        names = [protocol.name for protocol in self.protocols]
        if PRIMARY not in names or len(set(names)) < len(names):
            raise ValueError(f"protocols must have different names and one of them must be '{PRIMARY}', got {names}")
        return self

    @model_validator(mode="after")
    def _shortlist(self) -> Self:
        if (self.shortlist > 1) != (self.confirmation_seeds > 0):
            raise ValueError(
                f"`shortlist` ({self.shortlist}) above 1 and `confirmation_seeds` ({self.confirmation_seeds}) above 0 "
                "go together"
            )
        return self

    @model_validator(mode="after")
    def _students(self) -> Self:
        for name, values in (("widths", self.widths), ("leave_out", self.leave_out)):
            if len(set(values)) < len(values):
                raise ValueError(f"{name} must not contain duplicates, got {list(values)}")
        for init in {init for protocol in self.protocols for init in protocol.inits}:
            for width in self.widths:
                check_init(init, width)
        return self

    def check_data(self) -> None:
        """Raise unless the data are available and contain both sides of the task, whatever classes are left out."""
        for names in self.leave_out:
            dataset = load_raw(self.data, leave_out=list(names) or None)
            binary_rule(self.task, dataset.labels, dataset.classes)

    def on_digits(self) -> Self:
        """The same study on scikit-learn's digits, a fortieth of the images: smaller batches, more epochs."""
        return self.model_copy(
            update={
                "data": "digits",
                "batch_size": 32,
                "teacher": self.teacher.model_copy(update={"epochs": 10 * self.teacher.epochs}),
                "protocols": tuple(p.model_copy(update={"epochs": 10 * p.epochs}) for p in self.protocols),
            }
        )

    @property
    def cases(self) -> list[tuple[tuple[int, ...], int]]:
        """Every data set, by the classes it leaves out, with every width."""
        return [(leave_out, width) for leave_out in self.leave_out for width in self.widths]

    def protocol(self, name: str) -> Protocol:
        """The protocol of this name."""
        return next(protocol for protocol in self.protocols if protocol.name == name)


def primary(
    epochs: int, radii: tuple[float, ...], temperatures: tuple[float, ...], soft_learning_rates: tuple[float, ...]
) -> Protocol:
    """The model and method of the paper: output signs fixed, no biases, projected gradient descent."""
    return Protocol(
        name=PRIMARY,
        about="the model of the theory (no biases, output signs fixed, symmetric initialization), mini-batch projected "
        "gradient descent",
        epochs=epochs,
        radii=radii,
        temperatures=temperatures,
        soft_learning_rates=soft_learning_rates,
        hard_learning_rates=learning_rates(
            soft_learning_rates[0] / 10, soft_learning_rates[-1], len(temperatures) * len(soft_learning_rates)
        ),
    )


def other_protocols(epochs: int) -> tuple[Protocol, ...]:
    """Other ways to train, to see how close any of them comes to the paper's numbers."""
    grid = {
        "temperatures": (1.0, 4.0, 8.0, 16.0),
        "soft_learning_rates": (50.0, 150.0),
        "hard_learning_rates": learning_rates(10.0, 300.0, 8),
    }
    adam = {"soft_learning_rates": (0.03, 0.1), "hard_learning_rates": learning_rates(0.005, 0.3, 8)}
    radii = (200.0,)
    return (
        Protocol(
            name="longer",
            about=f"as pgd, {4 * epochs} epochs instead of {epochs}",
            epochs=4 * epochs,
            radii=radii,
            **grid,
        ),
        Protocol(
            name="schedule",
            about=f"as pgd, {2 * epochs} epochs, cosine schedule of the learning rate",
            schedule="cosine",
            epochs=2 * epochs,
            radii=radii,
            **grid,
        ),
        Protocol(
            name="initializations",
            about="as schedule, with unpaired initializations (gaussian, he, glorot; chosen on validation data)",
            schedule="cosine",
            epochs=2 * epochs,
            inits=("gaussian", "he", "glorot"),
            radii=(),
            **grid,
        ),
        Protocol(
            name="adam",
            about=f"the model of the theory without projection, Adam, {2 * epochs} epochs, cosine schedule",
            optimizer="adam",
            schedule="cosine",
            epochs=2 * epochs,
            radii=(),
            **{**grid, **adam},
        ),
        Protocol(
            name="trainable-output",
            about="not the model of the paper: output layer and biases are trained too; Adam as above",
            optimizer="adam",
            schedule="cosine",
            epochs=2 * epochs,
            inits=("symmetric", "he"),
            train_output=True,
            biases=True,
            radii=(),
            **{**grid, **adam},
        ),
    )


PRESETS = {
    "quick": Table1Settings(
        tuning_seeds=1,
        runs=5,
        teacher=Teaching(epochs=5),
        protocols=(primary(10, (25.0, 50.0, 100.0), (4.0, 16.0), (30.0, 100.0)),),
    ),
    "standard": Table1Settings(
        tuning_seeds=2,
        shortlist=4,
        confirmation_seeds=12,
        runs=20,
        seed=1000,  # version 1 used the seeds from 0
        protocols=(primary(20, RADII, TEMPERATURES, (30.0, 100.0, 300.0)),),
    ),
    "paper": Table1Settings(
        tuning_seeds=5,
        shortlist=4,
        confirmation_seeds=20,
        runs=30,
        protocols=(
            primary(60, RADII, TEMPERATURES, (10.0, 30.0, 100.0, 300.0)),
            *other_protocols(60),
        ),
    ),
}


def cost(neurons: int, epochs: int) -> float:
    """Relative cost of training a bundle of this many neurons."""
    return epochs * math.sqrt(neurons**2 + 100.0**2)
