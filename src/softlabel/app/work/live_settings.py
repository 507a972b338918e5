"""What the panel of live training trains, and the commands that repeat it."""

from typing import Literal

from pydantic import Field

from softlabel.app.links import LinkSettings

DataName = Literal["circles", "moons", "xor", "digits", "mnist"]
PLANES = ("circles", "moons", "xor")  # two input columns: their decision boundaries are drawn
LENGTHS = {"circles": (1000, 0), "moons": (1000, 0), "xor": (1000, 0), "digits": (500, 0), "mnist": (5, 128)}
ALL_ROWS = 100_000  # a batch size that no data set of this panel exceeds
ARM_NAMES = {"hard": "hard labels", "soft": "soft labels"}


class LiveSettings(LinkSettings):
    """The settings of a live training; 0 stands for no ball, and for batches of all rows."""

    data: DataName = "circles"
    labels: Literal["both", "hard", "soft"] = "both"
    width: int = Field(8, ge=2, le=512)
    radius: float = Field(10.0, ge=0, le=1000, allow_inf_nan=False)
    temperature: float = Field(1.0, ge=0.1, le=100, allow_inf_nan=False)
    learning_rate: float = Field(1.0, ge=0.001, le=1000, allow_inf_nan=False)
    epochs: int = Field(1000, ge=1, le=100_000)
    batch_size: int = Field(0, ge=0, le=ALL_ROWS)
    seed: int = Field(0, ge=0, le=10_000)

    @property
    def arms(self) -> tuple[str, ...]:
        """The students that are trained, by their labels."""
        return ("hard", "soft") if self.labels == "both" else (self.labels,)

    @property
    def planar(self) -> bool:
        """Whether the inputs are points in the plane."""
        return self.data in PLANES

    def commands(self) -> dict[str, str]:
        """By its labels, the command that trains a student and prints its errors."""
        words = ["softlabel", "train", self.data, "--width", f"{self.width}", "--seeds", "1", "--seed", f"{self.seed}"]
        words += ["--radius", f"{self.radius!r}"] if self.radius else []
        words += ["--learning-rate", f"{self.learning_rate!r}", "--epochs", f"{self.epochs}"]
        words += ["--batch-size", f"{self.batch_size or ALL_ROWS}"]
        words += ["--biases"] if self.planar else []
        soft = ["--soft-labels", "network", "--temperature", f"{self.temperature!r}"]
        return {arm: " ".join([*words, *(soft if arm == "soft" else [])]) for arm in self.arms}
