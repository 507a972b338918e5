"""One self-contained HTML page per result: it needs no network, no server and no other file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softlabel.numerics.files import write_text
from softlabel.report.charts import Chart
from softlabel.report.drawing import draw
from softlabel.report.interactive import plotly_json, plotly_script

if TYPE_CHECKING:
    from jinja2 import Environment

NEGATIVE = re.compile(r"(?<![^\s(])-(?=\d+\.\d)")


@dataclass(frozen=True)
class Cell:
    """A table cell: its text, lines in small print below it, and a tone (good, bad, muted)."""

    text: str
    small: str | Sequence[str] = ()
    tone: str = ""

    @property
    def lines(self) -> Sequence[str]:
        """The lines in small print."""
        return [self.small] if isinstance(self.small, str) else self.small


@dataclass(frozen=True)
class Table:
    """A table with its title and a sentence on how to read it; `prose` aligns its columns left."""

    title: str
    about: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    prose: bool = False

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows with every value as a `Cell`."""
        return [[value if isinstance(value, Cell) else Cell(value) for value in row] for row in self.rows]


@dataclass(frozen=True)
class Page:
    """The content of a report; `command` reproduces the run.

    answer      what the result says; the first sentence stands alone, above the picture
    picture     one chart that shows the answer
    advice      what to do, and `costs` what that costs
    warnings    shown below the advice
    notes       longer remarks, folded
    """

    title: str
    question: str
    answer: Sequence[str]
    tables: Sequence[Table]
    charts: Sequence[Chart]
    extra_tables: Sequence[Table]
    method: Sequence[str]
    settings: Mapping[str, Any]
    environment: Mapping[str, Any] | None = None
    command: str = ""
    citations: Sequence[str] = field(default_factory=tuple)
    picture: Chart | None = None
    advice: Sequence[str] = ()
    costs: Table | None = None
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()


def write_page(page: Page, run_dir: Path) -> Path:
    """Write report.html and figures/ into the run directory; returns the path of the page."""
    from markupsafe import Markup

    charts, pictures = [], [] if page.picture is None else [page.picture]
    for chart in [*pictures, *page.charts]:
        files = draw(chart, run_dir / "figures")
        charts.append({"chart": chart, "json": Markup(plotly_json(chart)), "files": [path.name for path in files]})
    text = (
        template_environment()
        .get_template("page.html")
        .render(
            page=page,
            charts=charts,
            picture=charts[: len(pictures)],
            figures=charts[len(pictures) :],
            script=Markup(plotly_script()),
        )
    )
    path = run_dir / "report.html"
    write_text(path, text.encode("utf-8", "backslashreplace").decode())  # file names need not be valid UTF-8
    return path


def template_environment() -> "Environment":
    """The Jinja environment of the templates; every value is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("softlabel.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["typeset"] = typeset
    return environment


def typeset(text: str) -> str:
    """The text with real minus signs before decimal numbers."""
    return NEGATIVE.sub("−", text)
