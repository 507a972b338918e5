"""How students are trained, and the settings that each arm chooses from on validation data.

Every arm has the same number of settings to choose from: a learning rate and, for the soft arms, a temperature (on the
labels alone, or on both sides of the loss with its factor T²), for the smoothing arm a smoothing; the hard arm has more
learning rates instead.
"""

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from pydantic import Field

from softlabel.lab import Settings
from softlabel.networks.softening import Softening
from softlabel.numerics import has_bfloat16
from softlabel.numerics.threads import threads_worth, usable_threads
from softlabel.ranges import check_count

Arm = Literal["hard", "soft", "smooth", "transfer", "augmented"]
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # below 1: for teachers that are too uncertain, as forests are
BOTH_SIDES = (2.0, 4.0)  # temperatures that are tried on both sides of the loss as well
SMOOTHINGS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.15, 0.4)
LEARNING_RATES = (0.02, 0.1)
RADII = (5.0, 20.0, 80.0)
CHOSEN: tuple[str, ...] = (
    "learning_rate",
    "temperature",
    "smoothing",
    "radius",
    "both_sides",
    "setting",
)  # what is tuned of a cell
MIN_STEPS, MOST_STEPS = 800, 13_000
TUNING_SEEDS_FROM = 1_000_000  # first of the seeds on which settings are chosen
TOGETHER = 4  # most seeds that are trained together
MANY_ROWS = 20_000


class Recipe(Settings):
    """Adam with a cosine schedule, biases and a trainable output layer.

    both_sides  temperatures that are tried on labels and logits, with the factor T², beside those on labels alone
    settings    values of the family's own hyperparameter to choose from (scikit-learn students)
    radii       radii B to choose from as well (the papers' projection)
    doublings   how often the number of epochs may be doubled while students gain by it; 0: it is fixed
    precision   of matrix products; "bfloat16" if the processor supports it and there are many rows
    """

    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    init: str = "he"
    train_output: bool = True
    biases: bool = True
    learning_rates: tuple[float, ...] = LEARNING_RATES
    temperatures: tuple[float, ...] = TEMPERATURES
    both_sides: tuple[float, ...] = ()
    settings: tuple[float, ...] = ()
    smoothings: tuple[float, ...] = SMOOTHINGS
    radii: tuple[float, ...] = ()
    tuning_seeds: int = Field(default=2, ge=1)
    doublings: int = Field(default=0, ge=0)
    precision: Literal["float32", "bfloat16"] = "float32"

    @property
    def all_radii(self) -> tuple[float | None, ...]:
        return (None, *self.radii)


class StudentCell(Settings):
    """One student: its stage, its arm, and the settings of its training.

    width           size in the unit of the student's family: neurons, leaves, trees, channels
    learning_rate   None for families without one
    both_sides      whether the temperature is applied to the student's logits too, with the factor T²
    setting         the family's own hyperparameter, such as the smallest share of rows in a leaf; None without one
    epochs          passes over the training rows; None: those of the recipe
    fold            the fold whose rows test it, where every row is tested
    """

    stage: str
    arm: Arm
    width: int
    seed: int
    learning_rate: float | None = None
    temperature: float = 1.0
    smoothing: float = 0.0
    radius: float | None = None
    both_sides: bool = False
    setting: float | None = None
    epochs: int | None = None
    fold: int = 0

    @property
    def learns_from_teacher(self) -> bool:
        """Whether its labels are the teacher's."""
        return self.arm == "soft" or self.has_more_rows

    @property
    def has_more_rows(self) -> bool:
        """Whether it learns from rows that only the teacher labels, too."""
        return self.arm in ("transfer", "augmented")

    @property
    def label_temperature(self) -> float:
        """Temperature of the labels that its outputs imitate: 1 where it is applied to both sides."""
        return 1.0 if self.both_sides else self.temperature

    @property
    def softening(self) -> Softening:
        """Softening of the labels that its outputs imitate before it is calibrated."""
        return Softening(self.label_temperature, self.smoothing)

    @property
    def choice(self) -> tuple[float | bool | None, ...]:
        """Its chosen settings: everything that is tuned."""
        return tuple(getattr(self, name) for name in CHOSEN)


def check_training(epochs: int | None, batch_size: int | None) -> None:
    """Refuse numbers of epochs or rows that are impossible; None stands for the default."""
    for name, value in (("epochs", epochs), ("batch_size", batch_size)):
        if value is not None:
            check_count(value, name)


def recipe_for(
    rows: int, epochs: int | None = None, batch_size: int | None = None, search_radius: bool = False
) -> Recipe:
    """Batch size and epochs for a number of training rows: at least 8 epochs and 800 steps, and more if that helps."""
    batch_size = batch_size or (64 if rows < 5_000 else 256)
    steps, doublings = math.ceil(rows / batch_size), 0
    if epochs is None:
        epochs = max(8, math.ceil(MIN_STEPS / steps))
        doublings = max(0, math.floor(math.log2(MOST_STEPS / (epochs * steps))))
    return Recipe(
        epochs=epochs, batch_size=batch_size, radii=RADII if search_radius else (), both_sides=BOTH_SIDES,
        tuning_seeds=4 if rows < 5_000 else 2, doublings=doublings,
        precision="bfloat16" if rows >= MANY_ROWS and has_bfloat16() else "float32",
    )  # fmt: skip


def best_choice(tried: Iterable[tuple[StudentCell, float]]) -> StudentCell:
    """The cell whose settings have the best mean score over seeds; the first of several."""
    scores: dict[tuple, list[float]] = {}
    cells: dict[tuple, StudentCell] = {}
    for cell, score in tried:
        scores.setdefault(cell.choice, []).append(score)
        cells[cell.choice] = cell
    return cells[max(scores, key=lambda choice: np.mean(scores[choice]))]


def threads_of(recipe: Recipe, inputs: int, neurons: int) -> int:
    """Number of threads, of those available, that pays off for a step of this many neurons."""
    return threads_worth(6.0 * recipe.batch_size * inputs * neurons, usable_threads())


def choices(recipe: Recipe, arm: Arm) -> list[dict[str, Any]]:
    """Settings that an arm chooses from; every arm has equally many."""
    heats = [{"temperature": heat} for heat in recipe.temperatures]
    heats += [{"temperature": heat, "both_sides": True} for heat in recipe.both_sides]
    count, rates = max(len(heats), 1), recipe.learning_rates
    if arm == "hard":
        more = np.geomspace(rates[-1] * 3, rates[0] / 3, (count - 1) * len(rates))
        options = [{"learning_rate": rate} for rate in (*rates, *(float(f"{rate:.2g}") for rate in more))]
    elif arm == "smooth":
        smoothings = [recipe.smoothings[k % len(recipe.smoothings)] for k in range(count)]
        options = [{"learning_rate": rate, "smoothing": smoothing} for smoothing in smoothings for rate in rates]
    else:
        options = [{"learning_rate": rate, **heat} for heat in heats for rate in rates]
    return [{**option, "radius": radius} for radius in recipe.all_radii for option in options]
