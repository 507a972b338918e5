"""The settings of one two-layer student."""

from dataclasses import dataclass
from typing import Literal

from softlabel.errors import require
from softlabel.networks.activations import activation
from softlabel.networks.initialization import check_init
from softlabel.ranges import DOUBLES, LARGEST, SMALLEST, TEMPERATURES, check_positive


@dataclass(frozen=True, kw_only=True)
class Student:
    """Settings of a two-layer student; the students of one `train_students` call may differ in all of them.

    Parameters
    ----------
    width : int
        Number of hidden neurons m.
    seed : int, default=0
        Seed of the initialization.
    labels : str, default="hard"
        Name of the label array that the student learns from.
    temperature : float, default=1.0
        Temperature T of soft labels.
    temperature_on : {"labels", "both"}, default="labels"
        Whether the temperature is applied to the labels only, or to the labels and the student's logits with the
        factor T².
    smoothing : float, default=0.0
        Label smoothing: fraction of every target that is spread evenly over the classes.
    radius : float or None, default=1.0
        Projection radius B: each neuron stays within B/√m of its initial weights. None means no projection.
    learning_rate : float, default=1.0
        Learning rate η.
    init : {"symmetric", "gaussian", "he", "glorot", "torch"}, default="symmetric"
        Initialization; "torch" is PyTorch's default for linear layers.
    activation : {"relu", "softplus", "tanh", "erf", "gelu"}, default="relu"
        Activation function.
    output_scale : float, default=1.0
        Factor α of the output: f(x) = (α/√m) Σ_j a_j σ(w_j·x + b_j) + b. The weights of a trained network contain it.
    train_output : bool, default=False
        Whether the output weights, initially ±1, are trained too.
    biases : bool, default=False
        Whether there are hidden biases (projected together with the weights of their neuron) and output biases.

    See Also
    --------
    train_students : Train a list of students.

    Examples
    --------
    >>> import softlabel as sl
    >>> student = sl.Student(width=8, labels="teacher", temperature=4.0, learning_rate=0.5)
    >>> student.init, student.radius
    ('symmetric', 1.0)
    """

    width: int
    seed: int = 0
    labels: str = "hard"
    temperature: float = 1.0
    temperature_on: Literal["labels", "both"] = "labels"
    smoothing: float = 0.0
    radius: float | None = 1.0
    learning_rate: float = 1.0
    init: str = "symmetric"
    activation: str = "relu"
    output_scale: float = 1.0
    train_output: bool = False
    biases: bool = False

    def __post_init__(self) -> None:
        require(
            isinstance(self.width, int) and self.width >= 1,
            f"width must be an integer ≥ 1, got {self.width}",
        )
        check_init(self.init, self.width)
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
            f"seed must be an integer ≥ 0, got {self.seed}",
        )

    def check_sizes(self, least: float = SMALLEST, most: float = LARGEST) -> None:
        """Raise unless learning rate and radius lie in this range, by default that of float32."""
        check_positive(self.learning_rate, "learning_rate", least, most)
        check_positive(self.output_scale, "output_scale", least, most)
        if self.radius is not None:
            remedy = "use `radius` None to train without projection"
            check_positive(self.radius, "radius", least, most, remedy=remedy)
