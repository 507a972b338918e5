"""Settings of the study of widths, and three presets."""

import math
from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from softlabel.lab import Settings
from softlabel.studies.conditions.problem import check_condition_data
from softlabel.studies.conditions.settings import Condition
from softlabel.studies.paper_settings import PaperSettings
from softlabel.studies.width_scaling.data import IMAGE_ROWS

ARMS = ("soft, theorem", "soft, tempered", "hard", "hard, free", "hard, scaled")
Source = Literal["pairs", "xor", "images"]
MOST_DIMENSIONS = 14
DIALS = {"pairs": "angle", "xor": "dimension", "images": "mix"}


class Level(Settings):
    """One setting of the dial: angle of the pairs, dimension of XOR, or share of the other class in the images."""

    source: Source
    dial: float = Field(ge=0)

    def __str__(self) -> str:
        return f"{DIALS[self.source]} {self.dial:g}"


class WidthScalingSettings(PaperSettings):
    """Settings of the study of widths.

    Parameters
    ----------
    data, task : str
        The images, and the rule that makes two classes.
    angles, dimensions, mixes : tuple of float
        Angles of the synthetic pairs in radians, dimensions of 2-XOR, and shares of the other class in the images: the
        dials of the margin.
    pairs, dimension, rows : int
        Number of pairs and dimension of the synthetic data, and training rows of all data sets.
    widths : tuple of int
        Widths that are tried; even numbers.
    narrow : int
        Largest width of the arms other than "soft, theorem".
    epsilons : tuple of float
        Errors that a width must reach.
    epsilon : float
        The error of the primary endpoint.
    steps : float
        Number of iterations times γ² (γ as the search finds it).
    most_iterations, most_work : int and float
        Limits on the iterations, and on iterations × width.
    learning_rate : float
        Learning rate η of all arms, below 4 as in the theorems; that of "hard, scaled" is divided by the square of the
        output scale.
    output_scale : float
        Output scale α of the arm "hard, scaled".
    samples : int
        Number of iterations at which the training error is measured.
    work_limit : float
        Limit on operations of the search for the margin.
    runs, seed : int
        Number of seeds, and the first of them.
    confidence : float
        Confidence of the intervals.
    """

    data: str = "mnist"
    task: str = "label>4"
    angles: tuple[PositiveFloat, ...] = Field(min_length=3)
    dimensions: tuple[PositiveInt, ...] = ()
    mixes: tuple[float, ...] = ()
    pairs: int = Field(default=4, ge=1)
    dimension: int = Field(default=8, ge=2)
    rows: int = Field(default=64, ge=8)
    widths: tuple[PositiveInt, ...] = Field(min_length=2)
    narrow: int = Field(default=128, ge=2)
    epsilons: tuple[PositiveFloat, ...] = (0.3, 0.1, 0.03)
    epsilon: PositiveFloat = 0.1
    steps: PositiveFloat = 12.5
    most_iterations: int = Field(default=600_000, ge=10)
    most_work: PositiveFloat = 3e8
    learning_rate: float = Field(default=1.0, gt=0, lt=4)
    output_scale: float = Field(default=8.0, gt=1)
    samples: int = Field(default=200, ge=10)
    work_limit: PositiveFloat = 1e11

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        if list(self.widths) != sorted(set(self.widths)) or any(width % 2 for width in self.widths):
            raise ValueError(f"widths must be increasing even numbers, got {list(self.widths)}")
        if any(not 0 <= mix < 0.5 for mix in self.mixes):
            raise ValueError(f"mixes must lie in [0, 0.5), got {list(self.mixes)}")
        if any(dimension < 3 for dimension in self.dimensions):
            raise ValueError(f"dimensions must be at least 3, got {list(self.dimensions)}")
        if any(dimension > MOST_DIMENSIONS for dimension in self.dimensions):
            raise ValueError(f"dimensions must be at most {MOST_DIMENSIONS} (2^d points), got {list(self.dimensions)}")
        for name, values in (("angles", self.angles), ("dimensions", self.dimensions), ("mixes", self.mixes)):
            if len(set(values)) < len(values):
                raise ValueError(f"{name} must be different numbers, got {list(values)}")
        if any(angle > math.pi / 2 for angle in self.angles):
            raise ValueError(f"angles must be at most π/2, got {list(self.angles)}")
        if self.epsilon not in self.epsilons or any(epsilon >= 0.5 for epsilon in self.epsilons):
            raise ValueError(f"`epsilons` must be below 0.5 and contain `epsilon` {self.epsilon}, got {self.epsilons}")
        if self.narrow < self.widths[1]:
            raise ValueError(f"`narrow` ({self.narrow}) must be at least the second of the widths ({self.widths[1]})")
        return self

    @property
    def width_step(self) -> float:
        """The largest ratio of neighboring widths."""
        return max(b / a for a, b in pairwise(self.widths))

    @property
    def levels(self) -> list[Level]:
        """All settings of the dial."""
        dials: dict[Source, tuple[float, ...]] = {"pairs": self.angles, "xor": self.dimensions, "images": self.mixes}
        return [Level(source=source, dial=dial) for source, values in dials.items() for dial in values]

    def check_data(self) -> None:
        """Raise unless the images are available, where there are any."""
        if self.mixes:
            check_condition_data(Condition(name="images", data=self.data, task=self.task, rows=IMAGE_ROWS))

    def on_digits(self) -> Self:
        """The synthetic data alone, where the images are unavailable."""
        return self.model_copy(update={"data": "digits", "mixes": ()})


def powers(first: int, last: int) -> tuple[int, ...]:
    """Powers of two from first to last."""
    return tuple(2**k for k in range(int(math.log2(first)), int(math.log2(last)) + 1))


PRESETS = {
    "quick": WidthScalingSettings(
        angles=(1.5, 0.5, 0.18), dimensions=(3, 4, 6), rows=32, widths=powers(2, 256), narrow=64, most_iterations=5000,
        samples=100, work_limit=3e10, runs=3,
    ),
    "standard": WidthScalingSettings(
        angles=(1.5, 0.5, 0.18, 0.07, 0.03, 0.016), dimensions=(3, 4, 6, 8, 10), mixes=(0.0, 0.25, 0.4),
        widths=powers(2, 1024), work_limit=2e12, runs=8,
    ),
    "paper": WidthScalingSettings(
        angles=(1.5, 0.5, 0.18, 0.07, 0.025, 0.01), dimensions=(3, 4, 6, 8, 10, 12), mixes=(0.0, 0.25, 0.4, 0.45),
        widths=powers(2, 65536), narrow=4096, most_iterations=10_000_000, most_work=1e12, runs=30,
    ),
}  # fmt: skip
