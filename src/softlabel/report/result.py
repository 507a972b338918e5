"""Base class of results that are shown as sentences, a figure and a table."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from softlabel.lab.study import Result
from softlabel.report.charts import Chart
from softlabel.report.page import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ReportedResult(Result):
    """A result with a chart and a table, which notebooks show below its sentences.

    headlines   number of sentences of the summary that a notebook shows; None: all of them
    """

    headlines: ClassVar[int | None] = None

    @property
    @abstractmethod
    def chart(self) -> Chart:
        """The figure of the result, independent of how it is drawn."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The numbers of the result."""

    def plot(self) -> "Figure":
        """The chart as a Matplotlib figure."""
        from softlabel.report.drawing import chart_figure

        return chart_figure(self.chart)

    def _repr_html_(self) -> str:
        from softlabel.report.notebook import result_html

        return result_html(self.summary[: self.headlines], self.plot(), self.table)
