"""The first page: what the other panels are for."""

from collections.abc import Mapping

from nicegui import ui

from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.state import Explorer
from softlabel.app.widgets import text
from softlabel.printable import printable


def build(explorer: Explorer, query: Mapping[str, str]) -> None:
    """One card for each of the other panels."""
    from softlabel.app.panels import PANELS

    with ui.element("div").classes("cards"):
        for panel in PANELS:
            if panel is not PANEL:
                with ui.link(target=panel.path).classes("panel card-link"):
                    ui.label(panel.title).classes("card-title")
                    ui.label(panel.about).classes("muted")
    runs = printable(explorer.runs)
    text("p", f"Runs are read from and written to “{runs}”. No data leave this machine; named data sets are downloaded "
              "where they are not in the cache.").classes("muted")  # fmt: skip


PANEL = ExplorerPanel(
    "/",
    "Overview",
    "Should a student model learn from a teacher's soft labels or from hard labels, how small can it be, and what can "
    "be proved about it?",
    build,
)
