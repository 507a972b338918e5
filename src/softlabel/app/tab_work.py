"""The work of one tab: at most one process at a time, replaced by a newer one, ended with the tab."""

import threading
import time
from collections.abc import Callable
from typing import Any

from nicegui import run, ui

from softlabel.app.children import LAST, Child, Work
from softlabel.app.state import Explorer

EVERY = 0.05  # seconds between two looks at the messages


class TabWork:
    """A place for one process of a tab. A request ends the process that is there.

    handle      called with the kind and the content of every message
    waiting     called at every look while there is a request or a process, with the seconds since the request
    """

    def __init__(
        self, explorer: Explorer, handle: Callable[[str, Any], None], waiting: Callable[[float], None] | None = None
    ) -> None:
        self._explorer, self._handle, self._waiting = explorer, handle, waiting
        self._request: tuple[Work, tuple[Any, ...]] | None = None
        self._child: Child | None = None
        self._number = 0  # of requests and stops
        self._changing = threading.Lock()  # of the number and the process, which a thread starts
        self._requested = self._due = 0.0
        self._timer = ui.timer(EVERY, self._look, active=False)
        ui.context.client.on_delete(self.stop)

    @property
    def busy(self) -> bool:
        """Whether there is a request or a process."""
        return self._timer.active

    def request(self, work: Work, *arguments: Any, after: float = 0.0) -> None:
        """End the present process, and start this work `after` seconds unless another request comes before."""
        self.stop()
        self._request = work, arguments
        self._requested = time.monotonic()
        self._due = self._requested + after
        self._timer.activate()

    def say(self, word: str) -> None:
        """Send a word to the process: pause, resume or stop."""
        if self._child is not None:
            self._child.say(word)

    def stop(self) -> None:
        """End the process, and forget the request."""
        with self._changing:
            self._number += 1
            child, self._child = self._child, None
        self._request = None
        self._timer.deactivate()
        if child is not None:
            child.close()

    async def _look(self) -> None:
        if self._waiting is not None:
            self._waiting(time.monotonic() - self._requested)
        if self._request is not None and time.monotonic() >= self._due:
            await self._start(*self._request)
        child = self._child
        if child is None:
            return
        problem: Exception | None = None
        for kind, content in child.messages():
            if child is not self._child:  # the last message made a request
                break
            if child.ended and kind in LAST:
                self.stop()
            try:
                self._handle(kind, content)
            except Exception as error:  # of one message: the others are handled all the same
                problem = error
        if problem is not None:
            raise problem

    async def _start(self, work: Work, arguments: tuple[Any, ...]) -> None:
        self._request, number = None, self._number

        def start() -> None:  # ends by itself what it has started for a tab that is gone, or for an earlier request
            child = self._explorer.children.start(work, *arguments)
            with self._changing:
                wanted = number == self._number
                if wanted:
                    self._child = child
            if not wanted:
                child.close()

        try:
            await run.io_bound(start)
        except Exception as error:  # too many files are open, or there is no memory for another process
            if number == self._number:
                self.stop()
                reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
                self._handle("error", f"the work could not be started ({reason}); close other tabs and try again")
