"""One self-contained page for an outcome: it needs no network, no server and no other file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softlabel.numerics.files import write_text
from softlabel.report.charts import Chart
from softlabel.report.drawing import draw
from softlabel.report.interactive import plotly_json, plotly_script


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it says, lines below it in small, and a tone (good, bad, muted)."""

    text: str
    small: str | Sequence[str] = ()
    tone: str = ""

    @property
    def lines(self) -> Sequence[str]:
        return [self.small] if isinstance(self.small, str) else self.small


@dataclass(frozen=True)
class Table:
    """A table with its heading and a sentence on how to read it."""

    title: str
    about: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]


@dataclass(frozen=True)
class Page:
    """What a report says, in the order in which it is read."""

    title: str
    question: str
    answer: Sequence[str]
    tables: Sequence[Table]
    charts: Sequence[Chart]
    further_tables: Sequence[Table]
    method: Sequence[str]
    settings: Mapping[str, Any]
    environment: Mapping[str, Any]
    again: str
    citations: Sequence[str] = field(default_factory=tuple)


def write_page(page: Page, folder: Path) -> Path:
    """Write report.html and figures/ into the folder; returns the page's path."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("softlabel.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    charts = []
    for chart in page.charts:
        files = draw(chart, folder / "figures")
        figure = Markup(plotly_json(chart))
        charts.append({"chart": chart, "json": figure, "files": [path.name for path in files]})
    text = environment.get_template("page.html").render(
        page=page,
        charts=charts,
        script=Markup(plotly_script()),
        is_cell=lambda value: isinstance(value, Cell),
    )
    path = folder / "report.html"
    write_text(path, text.encode("utf-8", "backslashreplace").decode())  # names of files may be no UTF-8
    return path
