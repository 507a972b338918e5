"""One run: its state, its progress while it is at work, what it says, and how to repeat it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import ui

import softlabel as sl
from softlabel.app import widgets
from softlabel.app.panels.runs_list import when
from softlabel.app.panels.runs_parts import RunDetails, show_page, show_status
from softlabel.app.state import Explorer
from softlabel.app.tab_work import TabWork
from softlabel.app.widgets import text
from softlabel.app.work.runs import export_run, show_run
from softlabel.errors import counted, short
from softlabel.printable import printable

MOST_FIGURES = 12


class RunView:
    """One run, read by a process of its own; it is read again when `refresh` is called.

    alone       whether it has the width of the page for itself; else what two runs have in common is left out
    on_state    called with its state whenever that has changed
    """

    def __init__(
        self,
        explorer: Explorer,
        name: str,
        *,
        alone: bool = True,
        on_state: Callable[[sl.RunState], None] | None = None,
    ) -> None:
        self.name = name
        self.state: sl.RunState | None = None
        self._explorer, self._on_state = explorer, on_state
        self._run_dir = explorer.runs / name
        self._again = False
        with ui.element("section").classes("run-view") as self._root:
            text("h2", name if name != "." else self._run_dir.name)
            self._about = text("p", "").classes("muted")
            self._state_place = ui.element("div")
            with ui.element("div").classes("run-progress") as self._progress_place:
                self._stage = text("p", "").props("role=status")
                self._bar = ui.linear_progress(value=0, show_value=False, size="10px")
                self._bar.props["aria-label"] = "Progress of the run"
            self._progress_place.set_visibility(False)
            self._actions = ui.element("div").classes("buttons")
            self._result = ui.element("div")
            with self._result, widgets.busy("Reading the run …"):
                pass
            self._details = RunDetails(self._run_dir) if alone else None
            self._reading = TabWork(explorer, self._handle)
            self._exporting = TabWork(explorer, self._handle_export)
        self._read()

    def close(self) -> None:
        """End its processes."""
        self._reading.stop()
        self._exporting.stop()

    def refresh(self) -> None:
        """Read the run again, as soon as it has been read."""
        if self._reading.busy:
            self._again = True
        else:
            self._read()

    def _read(self) -> None:
        self._again = False
        self._reading.request(show_run, self._run_dir)

    def _handle(self, kind: str, content: Any) -> None:
        if kind == "state":
            self._show_state(content)
        elif kind == "progress":
            self._show_progress(content)
        elif kind == "page":
            with self._filled(self._result):
                show_page(content, self._details)
        elif kind == "nothing":
            with self._filled(self._result):
                self._show_lack(content)
        elif kind == "document":
            with self._result:
                self._show_document(*content)
        elif kind in ("error", "lost"):
            with self._filled(self._result):
                widgets.problem(content)
        if kind in ("done", "error", "lost") and self._again:
            self.refresh()

    @contextmanager
    def _filled(self, place: ui.element) -> Iterator[None]:
        place.clear()
        with place:
            yield

    def _show_state(self, state: sl.RunState) -> None:
        before, self.state = self.state, state
        parts = [state.study or "unknown study"]
        if state.data:
            parts.append(short(state.data, 120))
        if state.cells is not None:
            parts.append(counted(state.cells, "training"))
        self._about.set_text(printable(" · ".join([*parts, f"changed {when(state.changed)}"])))
        with self._filled(self._state_place):
            show_status(state)
        if before is None or before.report != state.report or before.has_ledger != state.has_ledger:
            with self._filled(self._actions):
                self._show_actions(state)
        if self._details is not None:
            self._details.show(state)
        if state.status != "running":
            if not state.has_ledger:
                self._result.clear()
        elif before is None or before.status != "running":
            with self._filled(self._result):
                widgets.empty("The result appears here when the run is finished.")
        if self._on_state is not None:
            self._on_state(state)

    def _show_actions(self, state: sl.RunState) -> None:
        if state.report is not None:
            address = self._explorer.files.address(state.report)
            link = ui.link("Open the report", address, new_tab=True).classes("button-link")
            link.props('rel="noopener noreferrer"')
        if state.has_ledger:
            self._export = ui.button("Download the cells (CSV)", on_click=self._download)
            self._export.props("outline dense")

    def _download(self) -> None:
        self._export.props("loading")
        self._exporting.request(export_run, self._run_dir)

    def _handle_export(self, kind: str, content: Any) -> None:
        if kind == "csv":
            name = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in Path(self.name).name)
            ui.download(content, f"{name.strip('.') or 'run'}-cells.csv", "text/csv")
        elif kind in ("error", "lost"):
            ui.notify(printable(content), type="negative", multi_line=True, close_button="Close")
        self._export.props(remove="loading")

    def _show_progress(self, progress: sl.Progress | None) -> None:
        self._progress_place.set_visibility(progress is not None)
        if progress is None:
            return
        self._bar.set_value(round(progress.share, 4))
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        of = f"{progress.done:,} of {counted(progress.bundles, 'bundle')}{failed}" if progress.bundles else "at work"
        least = "at least" if progress.at_most else "about"
        share = f" · {least} {progress.share:.0%} of the run" if progress.bundles else ""
        self._stage.set_text(f"Stage “{printable(progress.stage)}”: {of}{share}")

    def _show_lack(self, reason: str) -> None:
        """Why there is no result."""
        state = self.state
        if state is not None and state.status in ("unfinished", "failed"):
            widgets.empty("There is no result yet: the run is not finished.")
        else:
            widgets.remark(f"The result cannot be rebuilt: {reason}")

    def _show_document(self, answer: str, values: list[tuple[str, str]]) -> None:
        """What a run that cannot be rebuilt has written."""
        text("h3", "What the run has written")
        if answer:
            widgets.sentence(answer).classes("lead run-answer")
        figures = () if self.state is None else self.state.figures
        for path in figures[:MOST_FIGURES]:
            image = ui.element("img").classes("run-figure").props("loading=lazy")
            image.props["src"] = self._explorer.files.address(path)
            image.props["alt"] = f"Figure {printable(path.stem)}"
        with ui.element("div").classes("wide prose-table").props('tabindex=0 role=region aria-label="Values"'):
            widgets.plain_table(["name", "value"], values)
