"""What a person sees on standard error while something takes long.

On a terminal there is a bar; elsewhere there is one line, and standard output stays untouched in both cases.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Watch:
    """What a fetch tells about itself. This one tells nobody."""

    total: int = 0

    def stage(self, text: str) -> None:
        """Name what is under way; its length is unknown until `total` is set."""

    def update(self, amount: int) -> None:
        """`amount` more bytes have arrived."""

    def reset(self) -> None:
        """Start counting again."""

    def close(self) -> None:
        """The download is over."""


class _Bar(Watch):
    """A Watch that moves a rich progress bar; its four methods are also what pooch asks of a bar."""

    def __init__(self, progress, title: str) -> None:
        self._progress = progress
        self._title = title
        self._task = progress.add_task(title, total=None)

    def stage(self, text: str) -> None:
        self.total = 0
        self._progress.update(self._task, description=f"{self._title}: {text}", total=None, completed=0)

    def update(self, amount: int) -> None:
        self._progress.update(self._task, total=self.total or None, advance=amount)

    def reset(self) -> None:
        self._progress.update(self._task, completed=0)


@contextmanager
def watching(title: str) -> Iterator[Watch]:
    """A Watch for the block: a bar on a terminal, one line on standard error otherwise."""
    if not sys.stderr.isatty():
        print(f"{title} ...", file=sys.stderr, flush=True)
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, title)
