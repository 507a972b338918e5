"""The options of `bounds` in groups: the numbers of the theorems, and the search for the margin of data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from softlabel.cli import options
from softlabel.cli.groups import DataChoice
from softlabel.cli.options import EXECUTION, option

if TYPE_CHECKING:
    from softlabel.studies.margin import DatasetMargin

GAMMA, ROWS, NORM = 0.05, 1000, 1.0  # without data


@dataclass(frozen=True)
class OptionalDataChoice(DataChoice):
    """Data that may be left out."""

    data: options.OptionalData = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Numbers:
    """The numbers of the theorems; three of them may be those of data."""

    gamma: Annotated[
        float | None, option(f"Margin γ of the kernel-limit teacher, 0 < γ ≤ 0.5. Default: {GAMMA}, or that of DATA.")
    ] = None
    epsilon: Annotated[float, option("Target error ε, averaged over the iterations.")] = 0.1
    n: Annotated[
        int | None, option(f"Number of training examples. Default: {ROWS:,}, or that of DATA.", None, "--n")
    ] = None
    delta: Annotated[float, option("Failure probability is 2δ (3δ as printed), δ < 1/3.")] = 0.05
    c: Annotated[
        float | None, option(f"Smallest norm of an input, 0 < c ≤ 1. Default: {NORM:g}, or that of DATA.", None, "--c")
    ] = None
    kappa: Annotated[float, option("Inverse temperature κ of the soft labels.")] = 1.0
    alpha: Annotated[float, option("Output scale α: the logit is αf.")] = 1.0

    @property
    def complete(self) -> dict[str, Any]:
        """All numbers, with their defaults without data."""
        defaults = {"gamma": GAMMA, "n": ROWS, "c": NORM}
        return {name: defaults.get(name) if value is None else value for name, value in vars(self).items()}

    @property
    def besides(self) -> dict[str, float]:
        """The numbers that data do not have."""
        return {name: getattr(self, name) for name in ("epsilon", "delta", "kappa", "alpha")}


@dataclass(frozen=True)
class MarginSearch:
    """How the margin of data is searched."""

    rows: options.Rows = None
    rtol: Annotated[
        float | None, option("Relative width at which the interval of γ is narrow enough. Default: 0.05.", EXECUTION)
    ] = None
    time_limit: options.TimeLimit = None
    work_limit: options.WorkLimit = None

    def certified(self, data: DataChoice, seed: int) -> "DatasetMargin":
        """The margin of the data."""
        from softlabel.studies.margin import margin

        chosen = {name: value for name, value in vars(self).items() if value is not None}
        return margin(data.loader(seed=seed), seed=seed, **chosen)
