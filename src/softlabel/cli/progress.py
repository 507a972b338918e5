"""Progress on stderr: a bar at a terminal, nothing elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from softlabel.cli.terminal import note
from softlabel.printable import printable

if TYPE_CHECKING:
    from softlabel.lab import Progress as Standing


@contextmanager
def step_progress(what: str, steps: int) -> Iterator[Callable[[int, Any], None]]:
    """Yields an observer for `train_students` that moves a bar of that many steps."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(printable(what), total=steps)
        yield lambda step, weights: progress.update(bar, completed=step)


@contextmanager
def study_progress() -> Iterator[Callable[["Standing"], None]]:
    """Yields a watcher for `run_study`: a bar for the stage at a terminal, a line now and then elsewhere."""
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}", markup=False),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        stages: dict[str, Any] = {}
        said = time.monotonic()

        def watch(at: "Standing") -> None:
            nonlocal said
            rate = f"{at.cells / at.seconds:.1f} cells/s" if at.cells and at.seconds > 0 else ""
            left = (
                "" if at.seconds_left is None or at.done == at.bundles else f"about {_duration(at.seconds_left)} left"
            )
            rest = ", ".join(part for part in (rate, left, f"{at.failed} failed" if at.failed else "") if part)
            if at.stage not in stages:
                stages[at.stage] = bars.add_task(printable(at.stage), total=at.bundles, rest="")
            bars.update(stages[at.stage], completed=at.done, rest=rest)
            if not console.is_terminal and (time.monotonic() - said > 15 or at.done == at.bundles):
                said = time.monotonic()
                note(f"{at.stage}: {at.done} of {at.bundles} bundles, {rest}".rstrip(", "))

        yield watch


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
