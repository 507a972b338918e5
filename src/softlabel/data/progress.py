"""Progress of a download on standard error: a bar on a terminal, one line elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class FetchProgress:
    """What is called while a data set is fetched; this one shows nothing."""

    total: int = 0

    def stage(self, text: str) -> None:
        """Name the current stage; its length is unknown until `total` is set."""

    def update(self, amount: int) -> None:
        """Add `amount` bytes."""

    def reset(self) -> None:
        """Set the count of bytes to 0."""

    def close(self) -> None:
        """End the download."""


class _Bar(FetchProgress):
    """Progress as a rich bar; pooch calls the same methods."""

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
def fetch_progress(title: str) -> Iterator[FetchProgress]:
    """Progress for the block: a bar on a terminal, one line on standard error otherwise."""
    if not sys.stderr.isatty():
        print(f"{title} ...", file=sys.stderr, flush=True)
        yield FetchProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, title)
