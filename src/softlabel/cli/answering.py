"""How verbs that run a study end: progress while it lasts, then its document, or its table and sentences."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from softlabel.cli import options
from softlabel.cli.progress import study_progress

if TYPE_CHECKING:
    from softlabel.lab import Progress
    from softlabel.studies.running import Answer


@contextmanager
def telling_what_is_kept() -> Iterator[None]:
    """Where the work is interrupted, print what its run folder says about that: nothing where there is none yet."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        for line in getattr(interrupt, "__notes__", ()):
            options.note(line)
        raise


def run_and_answer(
    run: Callable[[Callable[["Progress"], None]], "Answer"], show: Callable[[dict[str, Any]], None], as_json: bool
) -> None:
    """Run with a watcher, print what came of it; `show` prints the document's table."""
    with telling_what_is_kept(), study_progress() as watch:
        found = run(watch)
    if as_json:
        options.answer(found.document)
        return
    show(found.document)
    options.say(*found.summary, "", f"Report: {found.page}")
