"""Progress bars on standard error, in a terminal or a notebook; elsewhere a logged line from time to time."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from softlabel.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from softlabel.lab import Progress as StudyProgress

SECONDS_BETWEEN_LINES = 15
log = logging.getLogger("softlabel")


def open_console(shown: bool) -> tuple["Console", bool]:
    """The console on standard error, and whether progress is visible there."""
    from rich.console import Console

    console = Console(stderr=True)
    return console, shown and (console.is_terminal or console.is_jupyter)


@contextmanager
def step_progress(what: str, steps: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Yields a function of the current step that moves a bar of this many steps."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console, visible = open_console(shown)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not visible) as bars:
        bar = bars.add_task(printable(what), total=steps)
        yield lambda step: bars.update(bar, completed=step)


@contextmanager
def status_progress(what: str, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Yields a function that shows a line of text beside a spinner."""
    from rich.text import Text

    console, visible = open_console(shown)
    if not visible:
        yield lambda text: None
        return
    with console.status(Text(printable(what))) as status:
        yield lambda text: status.update(Text(printable(text)))


@contextmanager
def study_progress(shown: bool = True) -> Iterator[Callable[["StudyProgress"], None]]:
    """Yields a callback for the driver of a study: a bar for every stage."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console, visible = open_console(shown)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}", markup=False),
    )
    with Progress(*columns, console=console, disable=not visible) as bars:
        stages: dict[str, Any] = {}
        logged = time.monotonic()

        def progress(at: "StudyProgress") -> None:
            nonlocal logged
            rest = _rest(at)
            if at.stage not in stages:
                stages[at.stage] = bars.add_task(printable(at.stage), total=at.bundles, rest="")
            bars.update(stages[at.stage], completed=at.done, rest=rest)
            now = time.monotonic()
            if shown and not visible and (now - logged > SECONDS_BETWEEN_LINES or at.done == at.bundles):
                logged = now
                log.info("%s", f"{at.stage}: {at.done} of {at.bundles} bundles, {rest}".rstrip(", "))

        yield progress


def _rest(at: "StudyProgress") -> str:
    """Speed, time left and failures."""
    speed = f"{at.cells / at.seconds:.1f} cells/s" if at.cells and at.seconds > 0 else ""
    left = "" if at.seconds_left is None or at.done == at.bundles else f"about {_duration(at.seconds_left)} left"
    return ", ".join(part for part in (speed, left, f"{at.failed} failed" if at.failed else "") if part)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
