"""Runs: every run below the explorer's directory, one of them or two side by side; nothing is ever written to them."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Literal

from fastapi import Response
from nicegui import app, ui
from pydantic import Field

import softlabel as sl
from softlabel.app import run_files
from softlabel.app.links import LinkSettings, settings_from
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.panels.runs_list import RunList, Status
from softlabel.app.panels.runs_parts import show_differences
from softlabel.app.panels.runs_view import RunView
from softlabel.app.state import Explorer
from softlabel.app.widgets import empty, problem, remark, shared_link
from softlabel.app.work.runs import ListedRun
from softlabel.errors import short

PATH = "/runs"
NARROW = "(max-width: 56rem)"  # where the list stands above the run
Name = Annotated[str, Field(max_length=400)]


class RunsLink(LinkSettings):
    """Which runs are shown, by their names below the directory of runs, and which are listed."""

    run: Name = ""
    beside: Name = ""
    text: Annotated[str, Field(max_length=100)] = ""
    study: Annotated[str, Field(max_length=60)] = ""
    state: Literal[""] | Status = ""


class RunsPage:
    """The panel in one tab."""

    def __init__(self, explorer: Explorer, link: RunsLink) -> None:
        self._explorer = explorer
        self._views: list[RunView] = []
        with ui.element("div").classes("sides"):
            with ui.element("div").classes("controls"):
                filters = {"text": link.text, "study": link.study, "state": link.state}
                self._list = RunList(explorer, filters, self._choose, self._changed, self._link)
            self._place = ui.element("div").classes("run-place")
        with self._place:
            names = [name for name in (link.run, link.beside) if self._possible(name)]
        self._show([PurePosixPath(name).as_posix() for name in names], keep=True)
        if names:
            ui.timer(0, self._scroll, once=True)

    def _possible(self, name: str) -> bool:
        """Whether a name of the address names a run; a remark says why not."""
        if not name:
            return False
        path = PurePosixPath(name)
        inside = not path.is_absolute() and ".." not in path.parts and "\0" not in name
        if not inside or not run_files.is_inside(self._explorer.runs, self._explorer.runs / name):
            remark(f"“{short(name, 60)}” in the address leads out of the directory of runs; it is not opened.")
            return False
        return True

    def _choose(self, name: str, beside: bool) -> None:
        """A run was chosen in the list."""
        try:
            name.encode()
        except UnicodeEncodeError:
            ui.notify("The name of this directory is not valid UTF-8: rename it to open it here.", type="warning")
            return
        self._show([*self._names[:1], name] if beside else [name])
        self._link()
        self._scroll()

    def _scroll(self) -> None:
        """Where the list stands above the run, show the run."""
        ui.run_javascript(f"if (matchMedia('{NARROW}').matches) getHtmlElement({self._place.id}).scrollIntoView()")

    def _changed(self, run: ListedRun) -> None:
        for view in self._views:
            if view.name == run.name and view.state is not None and view.state.version != run.version:
                view.refresh()

    @property
    def _names(self) -> list[str]:
        return [view.name for view in self._views]

    def _show(self, names: list[str], keep: bool = False) -> None:
        """Show these runs, at most two; `keep` leaves the remarks that are there."""
        names = list(dict.fromkeys(names))
        for view in self._views:
            view.close()
        if not keep:
            self._place.clear()
        self._views = []
        with self._place:
            if not names:
                empty("Choose a run in the list. Runs are made by the commands verdict, plan, reproduce, train and "
                      "distill, or by “Try your own”.")  # fmt: skip
            elif len(names) == 1:
                self._views = [RunView(self._explorer, names[0])]
            else:
                ui.button("Show one run", on_click=lambda: self._choose(names[0], False)).props("outline dense")
                self._differences = ui.element("div")
                with ui.element("div").classes("two run-pair"):
                    self._views = [RunView(self._explorer, name, alone=False, on_state=self._compare) for name in names]
        self._list.mark(*names)

    def _compare(self, _: sl.RunState) -> None:
        """Show what differs, once both states are known."""
        states = [view.state for view in self._views]
        if len(states) < 2 or states[0] is None or states[1] is None:
            return
        self._differences.clear()
        with self._differences:
            show_differences(states[0], states[1], (self._names[0], self._names[1]))

    def _link(self) -> None:
        run, beside = [*self._names, "", ""][:2]
        link, _ = settings_from(
            RunsLink, {"run": run, "beside": beside, **self._list.filters}
        )  # without what is too long
        shared_link(PATH, link)


def build(explorer: Explorer, query: Mapping[str, str]) -> None:
    """The list of runs, and those that the address names."""
    link, problems = settings_from(RunsLink, query)
    for message in problems:
        remark(message)
    if explorer.runs.exists() and not explorer.runs.is_dir():
        problem(f"'{explorer.runs}' is not a directory")
        return
    RunsPage(explorer, link)


def add_files(explorer: Explorer) -> None:
    """The address of pages and figures of runs."""

    @app.get(run_files.ADDRESS)
    def send(key: str) -> Response:
        return explorer.files.response(key)


PANEL = ExplorerPanel(
    PATH,
    "Runs",
    "Every run below the directory of runs: its answer, tables, figures and settings, two runs side by side, and the "
    "progress of those at work. Nothing here changes a run.",
    build,
    add_files,
)
