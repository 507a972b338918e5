"""What the processes of the panel of runs do: they read runs, and never write to them.

It stands outside of `panels`, so that these processes need not load the web framework.
"""

import json
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import softlabel as sl
from softlabel.app.children import Line
from softlabel.errors import require, short
from softlabel.printable import printable
from softlabel.report.charts import Chart
from softlabel.report.page import Page, Table

MOST_RUNS = 5_000
EVERY, SHOWN_EVERY = 1.0, 0.5  # seconds between two looks at all runs, and at the run that is shown
REST = 4.0  # a look is followed by a pause of at least this many times its length
BATCH = 0.2  # seconds between two messages about runs that were read
MOST_ROWS, MOST_POINTS, MOST_VALUES = 200, 50_000, 100  # of a table, of a chart, of a document
DEEPEST, LONGEST_ANSWER = 12, 3_000  # levels of a document, and characters of its answer
LARGEST_PAGE, LARGEST_EXPORT = 32 * 2**20, 32 * 2**20  # bytes


@dataclass(frozen=True)
class ListedRun:
    """What the list shows of a run; `name` is its directory below that of all runs."""

    name: str
    status: str
    version: str
    changed: float
    study: str | None
    data: str | None
    done: int | None

    @classmethod
    def from_state(cls, state: sl.RunState, directory: Path) -> "ListedRun":
        study, data = (value and printable(short(value, 120)) for value in (state.study, state.data))
        return cls(state.run_dir.relative_to(directory).as_posix(), state.status, state.version, state.changed,
                   study, data, state.done)  # fmt: skip


def watch_runs(line: Line, directory: Path) -> None:
    """Send the runs below a directory, and what changes in them: ("runs", list), ("listed", names and whether all)."""
    known: dict[Path, sl.RunState] = {}
    while True:
        began = time.monotonic()
        paths = sl.find_runs(directory, limit=MOST_RUNS + 1) if directory.is_dir() else []
        complete, paths = len(paths) <= MOST_RUNS, paths[:MOST_RUNS]
        batch, sent = [], began
        for path in sorted(paths, key=_changed, reverse=True):
            state = _inspected(path, known.get(path))
            if state is not None and state is not known.get(path):
                known[path] = replace(state, bundles=(), environment=None)
                batch.append(ListedRun.from_state(state, directory))
            if batch and time.monotonic() - sent > BATCH:
                line.send("runs", batch)
                batch, sent = [], time.monotonic()
        if batch:
            line.send("runs", batch)
        present = set(paths)
        known = {path: state for path, state in known.items() if path in present}
        line.send("listed", ([path.relative_to(directory).as_posix() for path in known], complete))
        time.sleep(max(EVERY, REST * (time.monotonic() - began)))


def _changed(path: Path) -> float:
    """When a directory changed last."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _inspected(path: Path, known: sl.RunState | None) -> sl.RunState | None:
    """The state of a run; None where it is gone."""
    try:
        return sl.inspect_run(path, known=known)
    except (sl.SoftlabelError, OSError):
        return None


def show_run(line: Line, run_dir: Path) -> None:
    """Send a run, again and again while it is at work, and then its result.

    Messages: ("state", RunState), ("progress", Progress or None), and at the end ("page", Page), or where there is
    none ("nothing", why) and ("document", the answer and a list of names and values).
    """
    known, state = None, sl.inspect_run(run_dir)
    while True:
        if state is not known:
            line.send("state", state)
            line.send("progress", _progress(state))
        if state.status != "running":
            break
        time.sleep(SHOWN_EVERY)
        known, state = state, sl.inspect_run(run_dir, known=state)
    try:
        page = _page(run_dir) if state.has_ledger else None
    except sl.SoftlabelError as problem:
        line.send("nothing", str(problem))
        page = None
    if page is not None:
        line.send("page", page)
        return
    try:
        document = sl.run_document(run_dir)
        line.send("document", (short(document.get("answer") or "", LONGEST_ANSWER), list(values(document))))
    except sl.SoftlabelError:
        return


def export_run(line: Line, run_dir: Path) -> None:
    """Send the cells of a run as a CSV file: ("csv", bytes)."""
    with TemporaryDirectory(prefix="softlabel-") as scratch:
        file = Path(scratch) / "cells.csv"
        sl.export_cells(run_dir, file)
        size = file.stat().st_size
        require(size <= LARGEST_EXPORT, f"the table has {size:,} bytes, which is too much to download from here")
        line.send("csv", file.read_bytes())


def _progress(state: sl.RunState) -> sl.Progress | None:
    """How far an unfinished run is; None where it is finished, or where that cannot be known."""
    if not state.has_ledger or state.status == "finished":
        return None
    try:
        return sl.run_progress(state.run_dir)
    except sl.SoftlabelError:
        return None


def _page(run_dir: Path) -> Page | None:
    """What the result of a run says and shows; None where it has no page."""
    result = sl.read_run(run_dir, rewrite=False)
    make = getattr(result, "page", None)
    if make is None:
        return None
    page: Page = make()
    charts = [chart for chart in (page.picture, *page.charts) if chart is not None]
    large = [chart.title for chart in charts if _points(chart) > MOST_POINTS]
    page = replace(
        page, picture=None, charts=[chart for chart in charts if _points(chart) <= MOST_POINTS],
        tables=[_shortened(one) for one in page.tables],
        extra_tables=[_shortened(one) for one in page.extra_tables],
        costs=page.costs and _shortened(page.costs),
        warnings=[*page.warnings, *(f"“{title}” is too large to be shown here; the report has it." for title in large)],
    )  # fmt: skip
    require(len(pickle.dumps(page)) <= LARGEST_PAGE, "the result is too large to be shown here; its report has it")
    return page


def _points(chart: Chart) -> int:
    return sum(len(series.x) for panel in chart.panels for series in panel.series)


def _shortened(table: Table) -> Table:
    """The table with its first rows."""
    if len(table.rows) <= MOST_ROWS:
        return table
    return replace(table, title=f"{table.title} (the first {MOST_ROWS} of {len(table.rows):,} rows)",
                   rows=table.rows[:MOST_ROWS])  # fmt: skip


def values(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The values of a document by their place in it, such as "arms.soft.mean", at most `MOST_VALUES` of them."""
    for count, pair in enumerate(_values(document, "", DEEPEST)):
        if count == MOST_VALUES:
            yield "…", "the rest is in results.json"
            return
        yield pair


def _values(part: Any, name: str, levels: int) -> Iterator[tuple[str, str]]:
    if isinstance(part, dict) and part and levels:
        for key, value in part.items():
            yield from _values(value, f"{name}.{key}" if name else str(key), levels - 1)
    elif isinstance(part, list) and levels and any(isinstance(one, dict | list) for one in part):
        for number, value in enumerate(part, start=1):
            yield from _values(value, f"{name}.{number}", levels - 1)
    elif levels:
        yield short(name, 200), short(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False), 500)
    else:
        yield short(name, 200), "…"
