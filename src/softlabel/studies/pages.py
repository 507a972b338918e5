"""What the results of all studies share: a page, from which a figure and a notebook's view are made."""

import inspect
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from softlabel.lab.statistics import Estimate
from softlabel.report.charts import Chart
from softlabel.report.page import Cell, Page, Table
from softlabel.report.result import ReportedResult

COSTS = ("score on test rows", "parameters", "size", "time per row", "time to train")
TONES = {"holds": "good", "does not hold": "bad"}


class StudyResult(ReportedResult):
    """A result with a page: its first chart and its first table are shown in notebooks."""

    @abstractmethod
    def page(self) -> Page:
        """Its page."""

    @property
    def chart(self) -> Chart:
        """The picture of the page, or its first chart."""
        page = self.page()
        return page.charts[0] if page.picture is None else page.picture

    @property
    def table(self) -> Table:
        """The first table of the page."""
        return self.page().tables[0]


def written_before(study: object) -> str:
    """What the docstring of a study says about its endpoint and analysis, which stood there before the run."""
    text = (inspect.getdoc(study) or "").partition("Parameters\n")[0]
    return "Written down before the run: " + " ".join(text.split())


def interval_cell(mean: float, low: float, high: float, digits: str = ".2f") -> Cell:
    """A number with its interval in small print."""
    return Cell(f"{mean:{digits}}", f"{low:{digits}} … {high:{digits}}")


def accuracy_cell(estimate: Estimate, confidence: float) -> Cell:
    """An accuracy in per cent with its interval, which ends at 0 and 100."""
    low, high = estimate.interval(confidence)
    return interval_cell(estimate.mean, max(low, 0.0), min(high, 100.0))


def claim_cell(verdict: str) -> Cell:
    """Whether a claim of a paper holds."""
    return Cell(verdict, "", TONES.get(verdict, "muted"))


def kilobytes(parameters: float | None) -> str:
    """Size of parameters as 4-byte numbers."""
    return "–" if not parameters else f"{4 * parameters / 1000:,.1f} kB"


def milliseconds(value: float | None) -> str:
    """A time for one row."""
    return "–" if value is None else f"{value:.3f} ms"


def seconds_of(value: float | None) -> str:
    """A time of training."""
    return "–" if value is None else f"{value:.1f} s" if value < 100 else f"{value / 60:.1f} min"


def cost_table(about: str, columns: Sequence[tuple[str, str, Sequence[str]]]) -> Table:
    """What models cost, one column for each: its name, a remark, and a value for each of `COSTS`."""
    rows = [[name, *(values[k] for _, _, values in columns)] for k, name in enumerate(COSTS)]
    remarks = [Cell("", remark) for _, remark, _ in columns]
    return Table("Cost", about, ["", *(name for name, _, _ in columns)], [["", *remarks], *rows])


def teacher_costs(facts: Mapping[str, Any]) -> list[str]:
    """Parameters, size, time per row and time to train of a teacher, as far as they are known."""
    parameters = facts.get("parameters")
    return [
        f"{parameters:,}" if parameters else "–",
        kilobytes(parameters),
        milliseconds(facts.get("milliseconds")),
        seconds_of(facts.get("seconds")),
    ]


def column_tables(facts: Mapping[str, Any]) -> list[Table]:
    """What was done to every column of a table; none where columns have no names."""
    columns = facts.get("columns") or []
    if not columns:
        return []
    rows: list[list[Cell | str]] = [
        [one["column"], "left out: " + one["done"] if one["kind"] == "dropped" else one["done"], str(one["features"])]
        for one in columns
    ]
    about = "Decided from types and values, learned from training rows; part of every exported student."
    return [Table("The columns", about, ["column", "what was done", "inputs"], rows)]


def signed(value: float) -> str:
    """A difference with one digit and a real minus sign."""
    return f"{value:+.1f}".replace("-", "−")


def sorted_remarks(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sentences of a summary that are warnings, without that word, and the others."""
    word = "Warning: "
    warnings = [line.removeprefix(word) for line in lines if line.startswith(word)]
    return [line[:1].upper() + line[1:] for line in warnings], [line for line in lines if not line.startswith(word)]
