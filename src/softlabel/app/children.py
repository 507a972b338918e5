"""Processes that work for the explorer: each has a pipe to it, and none of them outlives it.

A work function takes a `Line`: it sends messages, and may look for words such as "pause". The process ends at once when
the explorer ends it, and by itself when the explorer is gone, even where it was killed: then its pipe is closed.
Processes are forked from one that has loaded the library already, so that they start within milliseconds.
"""

import contextlib
import logging
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from softlabel.errors import SoftlabelError, out_of_memory

PRELOAD = ["softlabel.app.preload"]
LAST = ("done", "stopped", "error", "lost")  # kinds of the last message of a process
MOST = 200  # messages that are handled at once
PRIORITY = 10  # the page goes first
log = logging.getLogger("softlabel")


class StoppedError(Exception):
    """The explorer asked the work to end."""


class Line:
    """The work's end of the pipe: messages out, words in."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._paused = self._stopped = False
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, kind: str, content: Any = None) -> None:
        """Send a message; where nobody is left to read it, the process ends."""
        try:
            self._connection.send((kind, content))
        except OSError:
            end_group()

    def wait_while_paused(self) -> None:
        """Return at once, or when the pause is over; raise where the work should stop."""
        with self._changed:
            while self._paused and not self._stopped:
                self._changed.wait()
            if self._stopped:
                raise StoppedError

    def _listen(self) -> None:
        while True:
            try:
                word = self._connection.recv()
            except (EOFError, OSError):
                end_group()
                return
            with self._changed:
                self._paused = word == "pause"
                self._stopped = self._stopped or word == "stop"
                self._changed.notify_all()


Work = Callable[..., None]


class Child:
    """A process and the explorer's end of its pipe.

    Its messages are pairs of a kind and a content. The last one is ("done", None), ("stopped", None), ("error", a
    sentence) or, where the process died, ("lost", a sentence).
    """

    def __init__(self, work: Work, *arguments: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOAD)
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_perform, args=(other, work, arguments))
        self._process.start()
        other.close()
        self.ended = False
        self._arrived: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def messages(self) -> list[tuple[str, Any]]:
        """What has arrived since the last call, at most `MOST` messages; never waits."""
        arrived: list[tuple[str, Any]] = []
        while not self.ended and len(arrived) < MOST:
            try:
                arrived.append(self._arrived.get_nowait())
            except queue.Empty:
                break
            self.ended = arrived[-1][0] in LAST
        if self.ended:
            self.close()
        return arrived

    def _read(self) -> None:
        """Receive messages, which may be large and come in parts, in a thread of its own."""
        kind = ""
        while kind not in LAST:
            try:
                kind, content = self._connection.recv()
            except Exception:  # the end of the pipe, or what a dying process has sent
                kind, content = "lost", "the process ended without a result, perhaps for lack of memory"
            self._arrived.put((kind, content))
        self._connection.close()

    def say(self, word: str) -> None:
        """Send a word to the work: pause, resume or stop."""
        with contextlib.suppress(OSError):
            self._connection.send(word)

    def close(self) -> None:
        """End the process and all that it has started, at once."""
        self.ended = True
        if self._process.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()  # where it was not yet the leader of its group
        self._process.join(timeout=2)


class Children:
    """All processes of one explorer; `close` ends them. Threads may start processes at the same time."""

    def __init__(self) -> None:
        self._children: list[Child] = []
        self._closed = False
        self._lock = threading.Lock()

    def start(self, work: Work, *arguments: Any) -> Child:
        """Start a process. `work` must be a function of a module, called as `work(line, *arguments)`."""
        child = Child(work, *arguments)
        with self._lock:  # tabs start their processes in threads
            self._children = [*(one for one in self._children if not one.ended), child]
            closed = self._closed
        if closed:
            child.close()
        return child

    @property
    def running(self) -> int:
        """Number of processes that have not ended."""
        return sum(not child.ended for child in self._children)

    def close(self) -> None:
        """End all of them, and those that are being started."""
        with self._lock:
            self._closed = True
        for child in self._children:
            child.close()


def warm_up() -> None:
    """Start the process that others are forked from, so that the first of them need not wait for it."""
    child = Child(_nothing)
    while not child.ended:
        child.messages()
        time.sleep(0.05)


def _nothing(line: Line) -> None:
    """The work of `warm_up`."""


def _perform(connection: Connection, work: Work, arguments: tuple[Any, ...]) -> None:
    """What a process does: the work, in a group of its own, and a last message that says how it ended."""
    with contextlib.suppress(OSError):
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the explorer, which ends its processes
    with contextlib.suppress(OSError):
        os.nice(PRIORITY)
    line = Line(connection)
    try:
        work(line, *arguments)
        line.send("done")
    except StoppedError:
        line.send("stopped")
    except SoftlabelError as problem:
        line.send("error", str(problem))
    except Exception as problem:
        line.send("error", out_of_memory(problem) or f"unexpected {type(problem).__name__}: {problem}")
        if os.environ.get("SOFTLABEL_DEBUG"):
            log.exception("the work of a process failed")


def end_group() -> None:
    """End this process and all that it has started."""
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
