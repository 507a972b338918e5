"""How verbs that run a study end: progress while it lasts, then its document, or its table and sentences."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from softlabel.cli import options
from softlabel.cli.progress import study_progress

if TYPE_CHECKING:
    from softlabel.lab import Progress
    from softlabel.studies.running import Answer


def run_and_answer(
    run: Callable[[Callable[["Progress"], None]], "Answer"], show: Callable[[dict[str, Any]], None], as_json: bool
) -> None:
    """Run with a watcher, print what came of it; `show` prints the document's table."""
    try:
        with study_progress() as watch:
            found = run(watch)
    except KeyboardInterrupt:
        options.note("what is finished is kept; the same command goes on from there")
        raise
    if as_json:
        options.answer(found.document)
        return
    show(found.document)
    options.say(*found.summary, "", f"Report: {found.page}")
