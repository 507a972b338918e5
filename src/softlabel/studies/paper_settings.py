"""What the settings of all studies of the papers share."""

from abc import abstractmethod
from typing import ClassVar, Self

from pydantic import Field

from softlabel.lab import Settings


class PaperSettings(Settings):
    """Settings of a study of the papers: its data set, its seeds, and the confidence of its intervals."""

    one_data_set: ClassVar[bool] = True  # so that it can be replaced by another

    data: str
    runs: int = Field(ge=2)
    seed: int = Field(default=0, ge=0)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)

    @property
    def seeds(self) -> range:
        """The seeds of the runs."""
        return range(self.seed, self.seed + self.runs)

    def adjusted(self, comparisons: int) -> float:
        """The confidence of each of several intervals that all hold with the stated confidence (Bonferroni)."""
        return 1 - (1 - self.confidence) / comparisons

    @abstractmethod
    def check_data(self) -> None:
        """Raise unless the data are available, with the classes of the study."""

    def on_digits(self) -> Self | None:
        """The same study on scikit-learn's digits; None where it has its meaning on its own data only."""
        return None


def learning_rates(low: float, high: float, count: int) -> tuple[float, ...]:
    """A geometric sequence of `count` learning rates from low to high, to two digits."""
    if count == 1:
        return (low,)
    ratio = (high / low) ** (1 / (count - 1))
    return tuple(float(f"{low * ratio**k:.2g}") for k in range(count))
