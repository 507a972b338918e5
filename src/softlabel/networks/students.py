"""What is to be trained: the settings of one student."""

from dataclasses import dataclass
from typing import Literal

from softlabel.errors import require
from softlabel.networks.activations import activation
from softlabel.networks.starts import check_start
from softlabel.ranges import DOUBLES, LARGEST, SMALLEST, TEMPERATURES, check_positive


@dataclass(frozen=True, kw_only=True)
class Student:
    """One two-layer student and how it learns; students of one run may differ in all of this.

    width           neurons m
    seed            of its start
    labels          the name of its label array in the run
    temperature     T; of the labels alone, or of both sides (`temperature_on`)
    smoothing       share of the target spread evenly over the classes
    radius          B: each neuron stays within B/√m of its start; None trains without projection
    step            η
    start           symmetric, gaussian, he or glorot
    activation      relu, softplus, tanh, erf or gelu
    train_output    whether the output layer learns too (it starts at its signs)
    biases          hidden biases (projected together with their neuron's weights) and an output bias
    """

    width: int
    seed: int = 0
    labels: str = "hard"
    temperature: float = 1.0
    temperature_on: Literal["labels", "both"] = "labels"
    smoothing: float = 0.0
    radius: float | None = 1.0
    step: float = 1.0
    start: str = "symmetric"
    activation: str = "relu"
    train_output: bool = False
    biases: bool = False

    def __post_init__(self) -> None:
        require(
            isinstance(self.width, int) and self.width >= 1,
            f"width must be a whole number of neurons ≥ 1, got {self.width}",
        )
        check_start(self.start, self.width)
        activation(self.activation)
        check_positive(self.temperature, "temperature", *TEMPERATURES)
        self.check_sizes(*DOUBLES)
        require(0 <= self.smoothing < 1, f"smoothing must lie in [0, 1), got {self.smoothing}")
        require(
            self.temperature_on in ("labels", "both"),
            f"temperature_on must be 'labels' or 'both', got '{self.temperature_on}'",
        )
        require(
            isinstance(self.seed, int) and self.seed >= 0,
            f"seed must be a whole number ≥ 0, got {self.seed}",
        )

    def check_sizes(self, least: float = SMALLEST, most: float = LARGEST) -> None:
        """Raise unless step and radius lie in this range, by default what float32 holds."""
        check_positive(self.step, "step", least, most)
        if self.radius is not None:
            remedy = "use radius=None to train without projection"
            check_positive(self.radius, "radius", least, most, remedy=remedy)
