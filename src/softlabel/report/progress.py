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

SECONDS_BETWEEN_LINES = 30
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
    """Yields a callback for the driver of a study: one bar for the run, the current stage beside it.

    Where standard error is no terminal, a line is logged after each stage, and otherwise at most every 30 seconds.
    """
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.text import Text

    class Times(ProgressColumn):
        """Goes on between two reports, which may be minutes apart."""

        def render(self, task: Any) -> Text:
            at, since = task.fields["at"]
            return Text("" if at is None else _rest(at, time.monotonic() - since))

    console, visible = open_console(shown)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%", markup=False),
        Times(),
    )
    with Progress(*columns, console=console, disable=not visible, transient=True) as bars:
        bar = bars.add_task("", total=1.0, at=(None, 0.0), visible=False)
        logged, share = time.monotonic(), 0.0

        def progress(at: "StudyProgress") -> None:
            nonlocal logged, share
            share = max(share, at.share)  # a bar that moves back would only confuse
            now, ended = time.monotonic(), at.done == at.bundles and at.stage != "teacher"
            bars.update(bar, completed=share, description=_stage(at), at=(at, now), visible=True)
            if shown and not visible and (ended or now - logged > SECONDS_BETWEEN_LINES):
                logged = now
                log.info("%s", f"{_stage(at)}; {_rest(at)}".rstrip("; "))

        yield progress


def _stage(at: "StudyProgress") -> str:
    """The current stage, and how much of it is finished."""
    unit = "models" if at.stage == "teacher" else "parts"
    return printable(f"{at.stage}: {at.done} of {at.bundles} {unit}" if at.bundles > 1 else at.stage)


def _rest(at: "StudyProgress", since: float = 0.0) -> str:
    """Time of the run so far, time left, and failures; `since` are the seconds since this was reported."""
    parts = [f"{_duration(at.run_seconds + since)} so far"]
    if at.seconds_left:
        left = max(at.seconds_left - since, 1.0)
        parts.append(f"{'at most' if at.at_most else 'about'} {_duration(left)} left")
    return ", ".join([*parts, f"{at.failed} failed"] if at.failed else parts)


def _duration(seconds: float) -> str:
    """Seconds, minutes or hours, in steps that an estimate can promise."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
