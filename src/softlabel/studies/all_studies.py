"""The results of all studies of the papers together."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softlabel.lab import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AllStudies(Result):
    """The results of all studies.

    Attributes
    ----------
    results : dict of str to Result
        The results by name of the study.

    Examples
    --------
    >>> import softlabel as sl
    >>> everything = sl.reproduce("all", preset="quick", out="runs/all")  # doctest: +SKIP
    >>> everything.results["table1"].summary[0]  # doctest: +SKIP
    """

    def __init__(self, results: Mapping[str, Result], run_dir: Path) -> None:
        self.results, self.run_dir = dict(results), run_dir

    def to_dict(self) -> dict[str, Any]:
        """The documents of all studies, by name."""
        return {
            "studies": {
                name: result.to_dict() | {"report": None if result.report is None else str(result.report)}
                for name, result in self.results.items()
            }
        }

    @property
    def summary(self) -> list[str]:
        """The answer of every study."""
        return [f"{name}: {result.answer}" for name, result in self.results.items()]

    def plot(self) -> "Figure":
        """The figure of the first study; the others have their own."""
        return next(iter(self.results.values())).plot()
