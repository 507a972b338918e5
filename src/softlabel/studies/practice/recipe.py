"""How practical students are trained, and what each arm may choose from on validation data.

Every arm has the same number of settings to choose from: a step and, for the soft arms, a temperature, for the
smoothing arm a smoothing; the hard arm has finer steps instead.
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
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # below 1: a teacher less sure than it may be, as forests are
SMOOTHINGS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
STEPS = (0.02, 0.1)
RADII = (5.0, 20.0, 80.0)
LEAST_STEPS = 800
TUNING_SEEDS_FROM = 1_000_000  # seeds on which settings are chosen
TOGETHER = 4  # seeds that share one order of batches, which makes them alike by a few per cent of their spread
MANY_ROWS = 20_000


class Recipe(Settings):
    """Adam with a step that falls to 0 by a cosine, biases and a trainable output layer, unless a radius is searched.

    radii       radii B to choose from as well (the papers' projection); none: no projection
    precision   of the matrix products; "bfloat16" where the processor has it and rows are many
    """

    epochs: int = Field(ge=1)
    batch: int = Field(ge=1)
    start: str = "he"
    train_output: bool = True
    biases: bool = True
    steps: tuple[float, ...] = STEPS
    temperatures: tuple[float, ...] = TEMPERATURES
    smoothings: tuple[float, ...] = SMOOTHINGS
    radii: tuple[float, ...] = ()
    tuning_seeds: int = Field(default=2, ge=1)
    precision: Literal["float32", "bfloat16"] = "float32"

    @property
    def all_radii(self) -> tuple[float | None, ...]:
        return (None, *self.radii)


class StudentCell(Settings):
    """One student: the stage it belongs to, its arm, and what it is trained with."""

    stage: str
    arm: Arm
    width: int
    seed: int
    step: float
    temperature: float = 1.0
    smoothing: float = 0.0
    radius: float | None = None

    @property
    def softening(self) -> Softening:
        """Of the labels that a two-layer student imitates: the temperature is on the labels alone."""
        return Softening(self.temperature, self.smoothing)

    @property
    def choice(self) -> tuple[float, float, float, float | None]:
        """What was chosen for it: step, temperature, smoothing, radius."""
        return self.step, self.temperature, self.smoothing, self.radius


def check_training(epochs: int | None, batch: int | None) -> None:
    """Refuse numbers that no training can have; None is a default's."""
    for name, value in (("epochs", epochs), ("batch", batch)):
        if value is not None:
            check_count(value, name)


def recipe_for(rows: int, epochs: int | None = None, batch: int | None = None, search_radius: bool = False) -> Recipe:
    """Batches and epochs by the number of training rows: at least 8 epochs and 800 steps."""
    batch = batch or (64 if rows < 5_000 else 256)
    epochs = epochs or max(8, math.ceil(LEAST_STEPS / math.ceil(rows / batch)))
    return Recipe(
        epochs=epochs, batch=batch, radii=RADII if search_radius else (), tuning_seeds=4 if rows < 5_000 else 2,
        precision="bfloat16" if rows >= MANY_ROWS and has_bfloat16() else "float32",
    )  # fmt: skip


def best_choice(tried: Iterable[tuple[StudentCell, float]]) -> StudentCell:
    """The cell whose settings have the best mean score over seeds; the first among equals."""
    scores: dict[tuple, list[float]] = {}
    cells: dict[tuple, StudentCell] = {}
    for cell, score in tried:
        scores.setdefault(cell.choice, []).append(score)
        cells[cell.choice] = cell
    return cells[max(scores, key=lambda choice: np.mean(scores[choice]))]


def threads_of(recipe: Recipe, inputs: int, neurons: int) -> int:
    """Threads that a step of so many neurons is worth, of those that this process may use."""
    return threads_worth(6.0 * recipe.batch * inputs * neurons, torch.get_num_threads())


def choices(recipe: Recipe, arm: Arm) -> list[dict[str, float | None]]:
    """Settings that an arm may choose from; every arm has as many."""
    spread = max(len(recipe.temperatures), 1)
    if arm == "hard":
        further = np.geomspace(recipe.steps[-1] * 3, recipe.steps[0] / 3, (spread - 1) * len(recipe.steps))
        found = [{"step": step} for step in (*recipe.steps, *(float(f"{step:.2g}") for step in further))]
    elif arm == "smooth":
        kinds = [recipe.smoothings[k % len(recipe.smoothings)] for k in range(spread)]
        found = [{"step": step, "smoothing": smoothing} for smoothing in kinds for step in recipe.steps]
    else:
        found = [{"step": step, "temperature": heat} for heat in recipe.temperatures for step in recipe.steps]
    return [{**choice, "radius": radius} for radius in recipe.all_radii for choice in found]
