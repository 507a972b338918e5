"""The parts that a run is shown in: its status, what its result says, its bundles, settings and commands."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nicegui import ui

import softlabel as sl
from softlabel.app import widgets
from softlabel.app.panels.runs_list import TONES
from softlabel.app.widgets import text
from softlabel.app.work.runs import MOST_ROWS
from softlabel.errors import counted, short
from softlabel.printable import printable
from softlabel.report.page import Page

FEW = 8  # differences that are shown at once


class RunDetails:
    """What stands below the result of a run, folded: bundles, settings, environment, commands."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self.more = ui.element("div")
        self._bundles = fold("Bundles of trainings")
        self._settings = fold("Settings")
        self._environment = fold("Environment")
        self._commands = ui.element("div")
        self._shown: dict[str, Any] = {}

    def show(self, state: sl.RunState) -> None:
        """Show the state; what has not changed stays as it is."""
        if not self._shown and state.status != "finished":
            _around(self._bundles).props("open")
        self._update(self._bundles, "bundles", state.bundles, lambda: show_bundles(state))
        threads = {} if state.threads is None else {"threads": state.threads}
        self._update(self._settings, "settings", state.settings, lambda: show_values(state.settings))
        environment = {**(state.environment or {}), **threads}
        self._update(self._environment, "environment", environment, lambda: show_values(environment))
        self._update(self._commands, "commands", (state.command, state.status), lambda: self._show_commands(state))

    def _update(self, place: ui.element, name: str, content: Any, show: Callable[[], None]) -> None:
        if name in self._shown and self._shown[name] == content:
            return
        self._shown[name] = content
        if place is not self._commands:
            _around(place).set_visibility(bool(content))
        place.clear()
        with place:
            show()

    def _show_commands(self, state: sl.RunState) -> None:
        resumed = state.has_ledger and state.status in ("unfinished", "failed", "damaged")
        if resumed:
            words = shlex.join(["softlabel", "results", "resume", str(self._run_dir)])
            widgets.command(printable(words), title="The command that goes on with this run")
        if state.command:
            widgets.command(printable(state.command))
        elif state.status == "finished" and state.has_ledger:
            words = f"sl.read_run({str(self._run_dir)!r}, rewrite=False)"
            widgets.command(printable(words), title="The result in Python (import softlabel as sl)")


def show_status(state: sl.RunState) -> None:
    """The status of a run, and what is wrong with it."""
    with ui.element("p"):
        text("span", "State: ")
        text("strong", state.status).classes(TONES.get(state.status, ""))
        counts = [f"{counted(number, 'bundle')} {name}" for name, number in
                  (("done", state.done), ("failed", state.failed), ("damaged", state.damaged)) if number]  # fmt: skip
        if counts:
            text("span", f" · {', '.join(counts)}")
    failures = [bundle for bundle in state.bundles if bundle.status == "failed"]
    if failures:
        first = failures[0]
        widgets.problem(f"{counted(len(failures), 'bundle')} failed; the first, “{first.name}”: {first.reason}. The "
                        "next run of the same command tries them again.")  # fmt: skip
    if state.problem:
        (widgets.problem if state.status in ("damaged", "unreadable") else widgets.remark)(state.problem)
    if not state.checksums:
        widgets.remark("This ledger is of version 1, without checksums, so changes to it cannot be detected.")


def show_page(page: Page, details: RunDetails | None) -> None:
    """What a result says; its lesser parts go to `details`, and are left out where there are none."""
    widgets.sentence(" ".join(page.answer[:1])).classes("lead run-answer")
    for line in page.answer[1:] if details else ():
        widgets.sentence(line)
    for line in page.warnings:
        widgets.remark(line)
    charts = list(page.charts)
    for chart in charts[:1]:
        widgets.chart(chart)
        widgets.sentence(chart.caption).classes("muted")
    for table in page.tables if details else page.tables[:1]:
        widgets.table(table)
    if details is None:
        return
    if page.advice or page.costs:
        text("h3", "What to do, and what it costs")
        for line in page.advice:
            widgets.sentence(line)
        if page.costs:
            widgets.table(page.costs)
    for chart in charts[1:]:
        text("h3", chart.title)
        widgets.chart(chart)
        widgets.sentence(chart.caption).classes("muted")
    details.more.clear()
    with details.more:
        for table in page.extra_tables:
            with fold(table.title):
                widgets.table(table)
        if page.method or page.notes:
            with fold("How the numbers were made"):
                for line in (*page.notes, *page.method):
                    widgets.sentence(line)


def show_bundles(state: sl.RunState) -> None:
    """The bundles of a run as a table."""
    rows = [
        [one.stage, one.name, one.status, f"{one.cells:,}", f"{one.attempts:,}", f"{one.seconds:.1f} s"]
        for one in state.bundles[:MOST_ROWS]
    ]
    if len(state.bundles) > MOST_ROWS:
        text("p", f"The first {MOST_ROWS} of {len(state.bundles):,} bundles.").classes("muted")
    remarks = [["", one.reason or "", "", "", "", ""] for one in state.bundles[:MOST_ROWS]]
    with ui.element("div").classes("wide prose-table").props('tabindex=0 role=region aria-label="Bundles"'):
        header = ["stage", "bundle", "state", "trainings", "attempts", "time"]
        widgets.plain_table(header, rows, small=remarks)


def show_values(values: Mapping[str, Any] | None) -> None:
    """Settings by their names."""
    rows = [[name, value] for name, value in flat(values or {}).items()]
    with ui.element("div").classes("wide prose-table").props('tabindex=0 role=region aria-label="Values"'):
        widgets.plain_table(["name", "value"], rows[:MOST_ROWS])


def show_differences(first: sl.RunState, second: sl.RunState, names: tuple[str, str]) -> None:
    """What differs in the settings of two runs, and in what they were computed with."""
    one, other = (
        flat({"study": state.study, **(state.settings or {}), "environment": state.environment or {}})
        for state in (first, second)
    )
    rows = [
        [name, one.get(name, "–"), other.get(name, "–")]
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]
    if not rows:
        text("p", "The settings and environments of the two runs are equal.").props("role=status")
        return
    place = fold(f"What differs: {counted(len(rows), 'setting')}")
    if len(rows) <= FEW:
        _around(place).props("open")
    with place, ui.element("div").classes("wide prose-table").props('tabindex=0 role=region aria-label="What differs"'):
        widgets.plain_table(["setting", *names], rows[:MOST_ROWS])


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested values by names such as "recipe.epochs", each as text."""
    result: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value and prefix.count(".") < 8:
            result |= flat(value, f"{prefix}{name}.")
        else:
            result[short(f"{prefix}{name}", 200)] = short("none" if value is None else value, 300)
    return result


def fold(title: str) -> ui.element:
    """A part that is folded until a reader opens it."""
    with ui.element("details").classes("fold"):
        text("summary", title)
        return ui.element("div")


def _around(place: ui.element) -> ui.element:
    """The part that can be folded, around its content."""
    assert place.parent_slot is not None
    return place.parent_slot.parent
