"""The margin of a data set, certified in a process of its own, for the panel of the bounds."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from softlabel.app.state import Explorer
from softlabel.app.tab_work import TabWork
from softlabel.app.widgets import busy, command, problem, sentence, show_in, text
from softlabel.app.work.margin import certify
from softlabel.data import CATALOGUE


class MarginOfData:
    """Controls that certify the margin of a data set, and give `use` the numbers of the bounds.

    use     called with gamma, n and c, which `softlabel bounds` takes from the same data
    """

    def __init__(self, explorer: Explorer, use: Callable[[Mapping[str, Any]], None]) -> None:
        self.use = use
        self.work = TabWork(explorer, self._handle, self._show_time)

    def build(self) -> None:
        """The choice of the data, the buttons, and the place of the answer."""
        with ui.element("div").classes("panel controls"):
            text("h2", "Use the γ of a data set")
            self.data = ui.select(list(CATALOGUE), value="digits", label="Data set")
            about = text("p", "").classes("muted")
            self.data.on_value_change(lambda event: show_in(about, _about(event.value)))
            show_in(about, _about("digits"))
            self.rows = ui.number("Rows (default: all)", min=2, precision=0).props("clearable")
            with ui.element("div").classes("buttons"):
                self.start_button = ui.button("Certify γ", on_click=self.start).props("unelevated")
                self.cancel_button = ui.button("Cancel", on_click=self.cancel).props("outline")
            self.cancel_button.set_visibility(False)
            self.progress = ui.element("div")
            self.answer = ui.element("div").props("aria-live=polite")

    def start(self) -> None:
        """Begin the search in a process of its own."""
        name, rows = self.data.value, None if self.rows.value is None else max(2, int(self.rows.value))
        self.command = shlex.join(["softlabel", "margin", name, *([] if rows is None else ["--rows", str(rows)])])
        self.work.request(certify, name, rows)
        self.stage = "The data are loaded"
        self.answer.clear()
        with self.progress, busy(""):
            self.status = text("span", "")
        self._working(True)

    def cancel(self) -> None:
        """End the search."""
        self.work.stop()
        self._working(False)
        with self.answer:
            sentence("Canceled; the numbers have not changed.")

    def _show_time(self, seconds: float) -> None:
        show_in(self.status, f"{self.stage} ({seconds:.0f} s)")

    def _handle(self, kind: str, content: Any) -> None:
        with self.answer:
            self._receive(kind, content)
        if kind in ("done", "error", "lost"):
            self._working(False)

    def _receive(self, kind: str, content: Any) -> None:
        if kind == "progress":
            self.stage = content
        elif kind == "interval":
            sentence(content)
        elif kind == "numbers":
            self.use(content)
            shown = f"γ = {content['gamma']:.4g}, n = {content['n']:,} and c = {content['c']:.4g}"
            sentence(f"The sliders now show {shown}.")
            command(self.command)
        elif kind in ("error", "lost"):
            problem(content)

    def _working(self, working: bool) -> None:
        if not working:
            self.progress.clear()
        self.start_button.set_enabled(not working)
        self.cancel_button.set_visibility(working)


def _about(name: str) -> str:
    entry = CATALOGUE[name]
    fetched = "; it is downloaded where it is not in the cache" if entry.files else ""
    return f"{entry.description}{fetched}."
