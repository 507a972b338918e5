"""How students are trained, and the settings that each arm chooses from on validation data.

Every arm has the same number of settings to choose from: a learning rate and, for the soft arms, a temperature, for the
smoothing arm a smoothing; the hard arm has more learning rates instead.
"""

import math
from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from pydantic import Field

from softlabel.lab import Settings
from softlabel.networks.softening import Softening
from softlabel.numerics import has_bfloat16
from softlabel.numerics.threads import threads_worth
from softlabel.ranges import check_count

Arm = Literal["hard", "soft", "smooth", "transfer"]
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # below 1: for teachers that are too uncertain, as forests are
SMOOTHINGS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
LEARNING_RATES = (0.02, 0.1)
RADII = (5.0, 20.0, 80.0)
MIN_STEPS = 800
TUNING_SEEDS_FROM = 1_000_000  # first of the seeds on which settings are chosen
TOGETHER = 4  # seeds that share one order of batches; their results correlate by a few per cent
MANY_ROWS = 20_000


class Recipe(Settings):
    """Adam with a cosine schedule, biases and a trainable output layer.

    radii       radii B to choose from as well (the papers' projection)
    precision   of matrix products; "bfloat16" if the processor supports it and there are many rows
    """

    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    init: str = "he"
    train_output: bool = True
    biases: bool = True
    learning_rates: tuple[float, ...] = LEARNING_RATES
    temperatures: tuple[float, ...] = TEMPERATURES
    smoothings: tuple[float, ...] = SMOOTHINGS
    radii: tuple[float, ...] = ()
    tuning_seeds: int = Field(default=2, ge=1)
    precision: Literal["float32", "bfloat16"] = "float32"

    @property
    def all_radii(self) -> tuple[float | None, ...]:
        return (None, *self.radii)


class StudentCell(Settings):
    """One student: its stage, its arm, and the settings of its training."""

    stage: str
    arm: Arm
    width: int
    seed: int
    learning_rate: float
    temperature: float = 1.0
    smoothing: float = 0.0
    radius: float | None = None

    @property
    def softening(self) -> Softening:
        """Softening of the labels that a two-layer student imitates: the temperature is applied to the labels alone."""
        return Softening(self.temperature, self.smoothing)

    @property
    def choice(self) -> tuple[float, float, float, float | None]:
        """Its chosen settings: learning rate, temperature, smoothing, radius."""
        return self.learning_rate, self.temperature, self.smoothing, self.radius


def check_training(epochs: int | None, batch_size: int | None) -> None:
    """Refuse numbers of epochs or rows that are impossible; None stands for the default."""
    for name, value in (("epochs", epochs), ("batch_size", batch_size)):
        if value is not None:
            check_count(value, name)


def recipe_for(
    rows: int, epochs: int | None = None, batch_size: int | None = None, search_radius: bool = False
) -> Recipe:
    """Batch size and epochs for a number of training rows: at least 8 epochs and 800 steps."""
    batch_size = batch_size or (64 if rows < 5_000 else 256)
    epochs = epochs or max(8, math.ceil(MIN_STEPS / math.ceil(rows / batch_size)))
    return Recipe(
        epochs=epochs, batch_size=batch_size, radii=RADII if search_radius else (),
        tuning_seeds=4 if rows < 5_000 else 2,
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
    return threads_worth(6.0 * recipe.batch_size * inputs * neurons, torch.get_num_threads())


def choices(recipe: Recipe, arm: Arm) -> list[dict[str, float | None]]:
    """Settings that an arm chooses from; every arm has equally many."""
    count, rates = max(len(recipe.temperatures), 1), recipe.learning_rates
    if arm == "hard":
        more = np.geomspace(rates[-1] * 3, rates[0] / 3, (count - 1) * len(rates))
        options = [{"learning_rate": rate} for rate in (*rates, *(float(f"{rate:.2g}") for rate in more))]
    elif arm == "smooth":
        smoothings = [recipe.smoothings[k % len(recipe.smoothings)] for k in range(count)]
        options = [{"learning_rate": rate, "smoothing": smoothing} for smoothing in smoothings for rate in rates]
    else:
        options = [{"learning_rate": rate, "temperature": heat} for heat in recipe.temperatures for rate in rates]
    return [{**option, "radius": radius} for radius in recipe.all_radii for option in options]
