"""Progress on stderr: a bar at a terminal, nothing elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def step_progress(what: str, steps: int) -> Iterator[Callable[[int, Any], None]]:
    """Yields an observer for `train_students` that moves a bar of that many steps."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(what, total=steps)
        yield lambda step, weights: progress.update(bar, completed=step)
