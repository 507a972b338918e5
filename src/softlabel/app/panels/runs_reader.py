"""A process that reads for one tab: it is started beside the page, and ends with it."""

from collections.abc import Callable
from typing import Any

from nicegui import run, ui

from softlabel.app.children import Child, Work
from softlabel.app.state import Explorer

EVERY = 0.2  # seconds between two looks for messages


class RunReader:
    """A process whose messages are handled in the tab that started it.

    handle      called with the kind and the content of every message
    """

    def __init__(self, explorer: Explorer, handle: Callable[[str, Any], None], work: Work, *arguments: Any) -> None:
        self._explorer, self._handle, self._work, self._arguments = explorer, handle, work, arguments
        self._child: Child | None = None
        self.ended = False
        ui.context.client.on_delete(self.close)
        ui.timer(0, self._start, once=True)
        self._timer = ui.timer(EVERY, self._poll)

    async def _start(self) -> None:
        self._child = await run.io_bound(self._explorer.children.start, self._work, *self._arguments)
        if self.ended and self._child is not None:
            self._child.close()

    def _poll(self) -> None:
        if self._child is None or self.ended:
            return
        messages = self._child.messages()
        self.ended = self._child.ended
        if self.ended:
            self._timer.deactivate()
        for kind, content in messages:
            self._handle(kind, content)

    def close(self) -> None:
        """End the process."""
        self.ended = True
        self._timer.deactivate()
        if self._child is not None:
            self._child.close()
