"""What a study is: settings, stages of cells, and a result that is computed from those of its cells.

A subclass is one question or one claim. It is registered by name in `softlabel.studies.registry`; a run directory holds
the name and the settings, so that its result can be rebuilt from the directory alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from softlabel.lab.cells import Bundle, CellArrays, Settings, Stage, StageResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

S = TypeVar("S", bound=Settings)
Facts = Mapping[str, Any]


class Result(ABC):
    """Base class of results.

    Attributes
    ----------
    report : Path or None
        Its page; None before the page is written, and for results without a page.
    run_dir : Path or None
        The directory of its run; None if nothing was written.
    summary : list of str
        What the result says in plain sentences.

    Examples
    --------
    >>> import softlabel as sl
    >>> X = [[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]]
    >>> result = sl.audit(X, [1, 1, -1, -1], width=16, iterations=5, options=sl.AuditOptions(work_limit=1e8))
    >>> isinstance(result, sl.Result), result.to_dict()["width"]
    (True, 16)
    """

    report: Path | None = None
    run_dir: Path | None = None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""

    @property
    @abstractmethod
    def summary(self) -> list[str]:
        """What it says in plain sentences, one per line."""

    @property
    def answer(self) -> str:
        """What answers the question, in one line."""
        return self.summary[0]

    @abstractmethod
    def plot(self) -> "Figure":
        """A matplotlib figure of its main numbers."""

    def __str__(self) -> str:
        return "\n".join(self.summary)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary[0] if self.summary else ''}>"


R = TypeVar("R", bound=Result)


class Study(ABC, Generic[S, R]):
    """A question with a grid of cells.

    name            under which it is registered
    settings_type   the class of its settings
    presets         settings by name, for studies of the papers
    artifacts       what the work on every bundle reads: names, and keys in the store of the run
    pace            seconds per unit of cost of a bundle, guessed for the estimate of the time left; None: unknown
    """

    name: ClassVar[str]
    settings_type: ClassVar[type[Settings]]
    presets: ClassVar[Mapping[str, Settings]] = {}

    def __init__(self, settings: S) -> None:
        self.settings = settings
        self.artifacts: Mapping[str, str] = {}
        self.pace: float | None = None

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """The study with settings as a run directory holds them."""
        return cls(cls.settings_type.model_validate(values))  # type: ignore[arg-type]

    @property
    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """Its stages, in order."""

    def cost(self, bundle: Bundle) -> float:
        """Rough cost of a bundle, in any unit."""
        return bundle.cost

    def expected_costs(self, results: StageResults) -> Mapping[str, float]:
        """Rough costs of stages that have not begun, by name; those that may be unnecessary count as well."""
        return {}

    @abstractmethod
    def judge(self, results: StageResults, facts: Facts) -> R:
        """The result; `facts` hold what is known beside the cells' results (an audit, costs)."""

    def afterwards(self, result: R, artifacts: CellArrays, run_dir: Path) -> dict[str, Any]:
        """Facts that a finished run adds, such as files that it exports."""
        return {}
