"""The list of runs: filters, and one page of it at a time."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from nicegui import ui

from softlabel.app.state import Explorer
from softlabel.app.tab_work import TabWork
from softlabel.app.widgets import problem, remark, text
from softlabel.app.work.runs import MOST_RUNS, ListedRun, watch_runs
from softlabel.errors import counted
from softlabel.printable import printable

SLOTS = 10
ANY = "any"
Status = Literal["running", "finished", "unfinished", "failed", "damaged", "unreadable"]
TONES = {"running": "run-now", "finished": "good", "failed": "bad", "damaged": "bad", "unreadable": "bad"}


class RunList:
    """The runs below the explorer's directory, those at work and the youngest first.

    on_choose       called with the name of a run that was chosen, and whether it is to be shown beside another
    on_change       called with a run that has changed
    on_filter       called when a filter has changed
    filters         text, study and status that runs must have; empty: any
    """

    def __init__(
        self,
        explorer: Explorer,
        filters: Mapping[str, str],
        on_choose: Callable[[str, bool], None],
        on_change: Callable[[ListedRun], None],
        on_filter: Callable[[], None],
    ) -> None:
        self.filters = dict(filters)
        self._choose, self._on_change, self._on_filter = on_choose, on_change, on_filter
        self._directory = explorer.runs
        self._runs: dict[str, ListedRun] = {}
        self._order: dict[str, tuple[bool, float]] = {}  # at first sight, so that entries do not move about
        self._page, self._listed = 0, False
        self._chosen: tuple[str, ...] = ()
        self._build()
        TabWork(explorer, self._handle).request(watch_runs, explorer.runs)

    def mark(self, *names: str) -> None:
        """Mark the runs that are shown."""
        self._chosen = tuple(name for name in names if name)
        self._refresh()

    def _build(self) -> None:
        with ui.element("section").classes("panel controls").props('aria-label="Filters"'):
            self._text = ui.input("Name, study or data", value=self.filters["text"]).props("clearable")
            self._text.props("debounce=250 maxlength=100")
            self._study = ui.select([ANY], value=ANY, label="Study")
            self._status = ui.select([ANY, *get_args(Status)], value=self.filters["state"] or ANY, label="State")
            self._study.set_options(self._studies(), value=self.filters["study"] or ANY)
            for control in (self._text, self._study, self._status):
                control.on_value_change(self._filter)
        self._count = text("p", "Looking for runs …").classes("muted").props("role=status aria-live=polite")
        self._messages = ui.element("div").classes("run-messages")
        with ui.element("ul").classes("run-list").props('aria-label="Runs"'):
            self._slots = [RunSlot(self._choose) for _ in range(SLOTS)]
        with ui.element("div").classes("buttons") as self._pages:
            self._before = ui.button("Previous", on_click=lambda: self._turn(-1)).props("flat dense")
            self._after = ui.button("Next", on_click=lambda: self._turn(1)).props("flat dense")
        self._pages.set_visibility(False)

    def _studies(self) -> list[str]:
        present = {run.study for run in self._runs.values() if run.study} | {self.filters["study"]}
        return [ANY, *sorted(present - {""})]

    def _filter(self) -> None:
        self.filters = {"text": (self._text.value or "").strip()[:100]} | {
            name: "" if control.value in (None, ANY) else control.value
            for name, control in (("study", self._study), ("state", self._status))
        }
        self._page = 0
        self._refresh()
        self._on_filter()

    def _turn(self, step: int) -> None:
        self._page += step
        self._refresh()

    def _handle(self, kind: str, content: Any) -> None:
        if kind == "runs":
            for run in content:
                known = run.name in self._runs
                self._runs[run.name] = run
                self._order.setdefault(run.name, (run.status != "running", -run.changed))
                if known:
                    self._on_change(run)
        elif kind == "listed":
            names, complete = content
            self._runs = {name: self._runs[name] for name in names if name in self._runs}
            if not complete and not self._listed:
                with self._messages:
                    remark(f"There are more than {MOST_RUNS:,} runs; {MOST_RUNS:,} of them are listed. Open the "
                           "explorer with a directory that has fewer.")  # fmt: skip
            self._listed = True
        elif kind in ("error", "lost"):
            with self._messages:
                problem(f"The runs cannot be listed: {content}")
        if self._studies() != self._study.options:
            self._study.set_options(self._studies())
        self._refresh()

    def _matching(self) -> list[ListedRun]:
        wanted, study, status = self.filters["text"].lower(), self.filters["study"], self.filters["state"]
        return sorted(
            (
                run
                for run in self._runs.values()
                if wanted in f"{run.name} {run.study} {run.data}".lower()
                and study in ("", run.study)
                and status in ("", run.status)
            ),
            key=lambda run: (self._order[run.name], run.name),
        )

    def _refresh(self) -> None:
        runs = self._matching()
        last = max(0, (len(runs) - 1) // SLOTS)
        self._page = min(max(self._page, 0), last)
        first = self._page * SLOTS
        shown = runs[first : first + SLOTS]
        for number, slot in enumerate(self._slots):
            slot.show(shown[number] if number < len(shown) else None, self._chosen)
        self._count.set_text(self._summary(len(runs), first, len(shown)))
        self._pages.set_visibility(last > 0)
        self._before.set_enabled(self._page > 0)
        self._after.set_enabled(self._page < last)

    def _summary(self, matching: int, first: int, shown: int) -> str:
        if not self._listed and not matching:
            return "Looking for runs …"
        if not self._runs:
            return f"There are no runs below “{printable(self._directory)}” yet."
        of = "" if matching == len(self._runs) else f" of {len(self._runs):,}"
        if not matching:
            return f"No run{of} matches the filters."
        place = f"; {first + 1} to {first + shown} are shown" if shown < matching else ""
        return f"{counted(matching, 'run')}{of}{place}"


class RunSlot:
    """One entry of the list; which run it shows changes, so that the focus of the keyboard stays where it is."""

    def __init__(self, on_choose: Callable[[str, bool], None]) -> None:
        self._run: ListedRun | None = None
        self._chosen: tuple[str, ...] = ()
        with ui.element("li").classes("run-entry") as self._entry:
            with ui.element("button").props("type=button").classes("run-choice") as self._button:
                self._name = text("span", "").classes("run-name")
                with ui.element("span").classes("run-about"):
                    self._status = text("span", "")
                    self._about = text("span", "").classes("muted")
                    self._changed = text("span", "").classes("muted run-when")
            self._beside = ui.button(icon="compare_arrows").props("flat dense").tooltip("Show beside the chosen run")
        self._button.on("click", lambda: self._run and on_choose(self._run.name, False))
        self._beside.on_click(lambda: self._run and on_choose(self._run.name, True))
        self._entry.set_visibility(False)

    def show(self, run: ListedRun | None, chosen: tuple[str, ...]) -> None:
        """Show a run, or nothing; `chosen` are the runs that are shown beside the list."""
        if (run, chosen) == (self._run, self._chosen):
            return
        self._run, self._chosen = run, chosen
        self._entry.set_visibility(run is not None)
        if run is None:
            return
        here, name = run.name in chosen, printable(run.name)
        self._name.set_text(name)
        self._status.set_text(run.status)
        self._status.classes(replace=TONES.get(run.status, ""))
        done = "" if run.done is None else f" · {counted(run.done, 'bundle')}"
        self._about.set_text(f" · {printable(run.study or 'unknown study')}{done} · ")
        self._changed.set_text(when(run.changed))
        self._button.classes(add="here" if here else "", remove="" if here else "here")
        self._button.props["aria-pressed"] = "true" if here else "false"
        self._beside.props["aria-label"] = f"Show {name} beside the chosen run"
        self._beside.set_visibility(bool(chosen) and not here)
        self._button.update()
        self._beside.update()


def when(changed: float) -> str:
    """A time of this machine."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(changed)) if changed else "unknown time"
