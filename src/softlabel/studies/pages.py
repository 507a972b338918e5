"""What the results of all studies share: a page, from which a figure and a notebook's view are made."""

from abc import abstractmethod

from softlabel.report.charts import Chart
from softlabel.report.page import Cell, Page, Table
from softlabel.report.result import ReportedResult

TONES = {"holds": "good", "does not hold": "bad"}


class StudyResult(ReportedResult):
    """A result with a page: its first chart and its first table are shown in notebooks."""

    @abstractmethod
    def _page(self) -> Page:
        """Its page."""

    @property
    def chart(self) -> Chart:
        """The first chart of the page."""
        return self._page().charts[0]

    @property
    def table(self) -> Table:
        """The first table of the page."""
        return self._page().tables[0]


def interval_cell(mean: float, low: float, high: float, digits: str = ".2f") -> Cell:
    """A number with its interval in small print."""
    return Cell(f"{mean:{digits}}", f"{low:{digits}} … {high:{digits}}")


def claim_cell(verdict: str) -> Cell:
    """Whether a claim of a paper holds."""
    return Cell(verdict, "", TONES.get(verdict, "muted"))
