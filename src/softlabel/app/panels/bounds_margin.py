"""The margin of a data set, certified in a process of its own, for the panel of the bounds."""

import shlex
import time
from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

import softlabel as sl
from softlabel.app.children import Child, Line
from softlabel.app.state import Explorer
from softlabel.app.widgets import busy, command, problem, sentence, show_in, text
from softlabel.data import CATALOGUE


def certify(line: Line, name: str, rows: int | None) -> None:
    """The work of the process: the margin of a named data set, and the numbers that the bounds take from it."""

    def report(at: sl.MarginProgress) -> None:
        line.send("progress", f"γ* lies in [{at.lower:.4g}, {at.upper:.4g}] so far: {at.stage}")

    result = sl.margin(name, rows=rows, options=sl.MarginOptions(progress=report))
    interval = (
        f"γ* of {name} lies in [{result.lower:.4g}, {result.upper:.4g}] with confidence {result.confidence:.0%}; its "
        f"teacher has a margin of at least {result.teacher_lower:.4g}."
    )
    line.send("interval", interval)
    inputs = result.bounds().inputs
    line.send("numbers", {key: inputs[key] for key in ("gamma", "n", "c")})


class MarginOfData:
    """Controls that certify the margin of a data set, and give `use` the numbers of the bounds.

    use     called with gamma, n and c, which `softlabel bounds` takes from the same data
    """

    def __init__(self, explorer: Explorer, use: Callable[[Mapping[str, Any]], None]) -> None:
        self.explorer, self.use = explorer, use
        self.child: Child | None = None

    def build(self) -> None:
        """The choice of the data, the buttons, and the place of the answer."""
        with ui.element("div").classes("panel controls"):
            text("h2", "Use the γ of a data set")
            self.data = ui.select(list(CATALOGUE), value="digits", label="Data set").props("outlined dense")
            about = text("p", "").classes("muted")
            self.data.on_value_change(lambda event: show_in(about, _about(event.value)))
            show_in(about, _about("digits"))
            self.rows = ui.number("Rows (default: all)", min=2, precision=0).props("outlined dense clearable")
            with ui.element("div").classes("buttons"):
                self.start_button = ui.button("Certify γ", on_click=self.start).props("no-caps unelevated")
                self.cancel_button = ui.button("Cancel", on_click=self.cancel).props("no-caps outline")
            self.cancel_button.set_visibility(False)
            self.progress = ui.element("div")
            self.answer = ui.element("div").props("aria-live=polite")
        self.timer = ui.timer(0.2, self.poll, active=False)
        ui.context.client.on_delete(self.close)

    def start(self) -> None:
        """Begin the search in a process of its own."""
        self.close()
        name, rows = self.data.value, None if self.rows.value is None else max(2, int(self.rows.value))
        self.command = shlex.join(["softlabel", "margin", name, *([] if rows is None else ["--rows", str(rows)])])
        self.child = self.explorer.children.start(certify, name, rows)
        self.began, self.stage = time.monotonic(), "The data are loaded"
        self.answer.clear()
        with self.progress, busy(""):
            self.status = text("span", "")
        self._working(True)
        self.poll()

    def cancel(self) -> None:
        """End the search."""
        self.close()
        self._working(False)
        with self.answer:
            sentence("Canceled; the numbers have not changed.")

    def close(self) -> None:
        """End the process, if there is one."""
        if self.child is not None:
            self.child.close()
            self.child = None

    def poll(self) -> None:
        """Show what the process has sent."""
        if self.child is None:
            return
        for kind, content in self.child.messages():
            with self.answer:
                self._receive(kind, content)
        if self.child.ended:
            self.child = None
            self._working(False)
        else:
            show_in(self.status, f"{self.stage} ({time.monotonic() - self.began:.0f} s)")

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
        self.timer.active = working


def _about(name: str) -> str:
    entry = CATALOGUE[name]
    fetched = "; it is downloaded where it is not in the cache" if entry.files else ""
    return f"{entry.description}{fetched}."
