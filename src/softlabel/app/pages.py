"""The web pages: one for each panel, and what a visitor sees where something fails."""

import inspect
import logging
import os
import time
from collections.abc import Callable, Sequence

from fastapi import Request
from nicegui import app, ui

from softlabel.app.frame import add_style, frame
from softlabel.app.panels import PANELS
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.state import Explorer
from softlabel.app.widgets import problem
from softlabel.errors import SoftlabelError, short
from softlabel.printable import printable

QUIET = 10.0  # seconds in which the same notification does not appear once more
log = logging.getLogger("softlabel")


def add_pages(explorer: Explorer, panels: Sequence[ExplorerPanel] = PANELS) -> None:
    """Register the pages of all panels."""
    add_style()
    for panel in panels:
        _add_page(explorer, panel, panels)
        if panel.routes is not None:
            panel.routes(explorer)
    app.on_exception(_report)


def _add_page(explorer: Explorer, panel: ExplorerPanel, panels: Sequence[ExplorerPanel]) -> None:
    @ui.page(panel.path)
    async def page(request: Request) -> None:
        with frame(panel, panels):
            ui.on_exception(_notifier())
            try:
                built = panel.build(explorer, request.query_params)
                if inspect.isawaitable(built):
                    await built
            except SoftlabelError as error:
                problem(error)
            except Exception as error:
                _report(error)
                problem(f"this page could not be shown (unexpected {type(error).__name__}: {error})")


def _notifier() -> Callable[[Exception], None]:
    """Tells the visitor of one page in a sentence what failed; a timer that fails again and again does not flood it."""
    last, shown = "", 0.0

    def notify(error: Exception) -> None:
        nonlocal last, shown
        words = str(error) if isinstance(error, SoftlabelError) else f"unexpected {type(error).__name__}: {error}"
        sentence = printable(f"Something on this page failed ({short(words, 300)}).")
        if sentence != last or time.monotonic() - shown >= QUIET:
            last, shown = sentence, time.monotonic()
            ui.notify(sentence, type="negative", multi_line=True, close_button="Close")

    return notify


def _report(error: Exception) -> None:
    """One line on standard error; with SOFTLABEL_DEBUG=1 where it happened."""
    if isinstance(error, SoftlabelError):
        log.warning("%s", error)
    else:
        debugging = bool(os.environ.get("SOFTLABEL_DEBUG"))
        log.warning("unexpected %s: %s", type(error).__name__, error, exc_info=error if debugging else None)
