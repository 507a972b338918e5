"""An explorer in a process of its own, and a browser tab that notices what it must not do."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LAPTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


class ExplorerServer:
    """A started explorer: its address, its process and the directory of its runs.

    `program` are the arguments of Python before those of `softlabel`.
    """

    def __init__(self, runs: Path, *options: str, program: Sequence[str] = ("-m", "softlabel")) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        command = [sys.executable, *program, "explore", str(runs), "--no-browser", "--json"]
        self.runs = runs
        self.process = subprocess.Popen(
            [*command, *(options or ("--port", "0"))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self.process.stdout is not None
        text = ""
        while line := self.process.stdout.readline():
            text += line
            if line.startswith("}"):
                break
        assert text, self.process.communicate()[1]
        self.url = json.loads(text)["url"]

    @property
    def working(self) -> int:
        """Number of its processes that work."""
        return len(self.workers)

    @property
    def workers(self) -> list[Path]:
        """Its processes that work: children of the process that they are forked from, which is its own child."""
        parents: dict[int, int] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                state, parent = path.read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents[int(path.parent.name)] = int(parent)
        return [Path(f"/proc/{one}") for one, parent in parents.items() if parents.get(parent) == self.process.pid]

    def interrupt(self, seconds: float = 60) -> tuple[int, str]:
        """Press Ctrl-C; returns the exit code and what standard error says."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, errors

    def kill(self) -> None:
        """End the server at once. Its pipes are not read to their end: a process that it has started may hold them."""
        self.process.kill()
        self.process.wait(timeout=60)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


@contextmanager
def started(runs: Path, *options: str, **settings: Any) -> Iterator[ExplorerServer]:
    """An explorer that is ended at the end of the block, whatever happens in it."""
    server = ExplorerServer(runs, *options, **settings)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


@contextmanager
def watched_tab(browser: Any, **options: Any) -> Iterator[Any]:
    """A tab; at the end of the block it must have had no console error, and no request to another host."""
    context = browser.new_context(**({"viewport": LAPTOP} | options))
    page = context.new_page()
    problems: list[str] = []
    foreign: list[str] = []

    def note_request(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
            foreign.append(request.url)

    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", note_request)
    try:
        yield page
        assert not problems, problems
        assert not foreign, foreign
    finally:
        context.close()


def open_panel(page: Any, server: ExplorerServer, path: str = "/") -> None:
    """Open a panel, and wait until the page is connected with the server."""
    page.goto(server.url.rstrip("/") + path)
    page.wait_for_selector("h1.title")
    page.wait_for_function("window.socket && window.socket.connected")


def wait_until(page: Any, condition: Callable[[], bool], seconds: int = 30) -> None:
    """Wait for a condition that the page does not know."""
    for _ in range(10 * seconds):
        if condition():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it did not happen in time")


def overflow(page: Any) -> int:
    """Pixels by which the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def focused(page: Any) -> str:
    """The name of the control that has the focus, as a screen reader reads it."""
    return page.evaluate(
        """() => { const at = document.activeElement, slider = at.closest('[role=slider]')
            return ((slider || at).getAttribute('aria-label') || at.innerText).trim() }"""
    )


def tab_to(page: Any, name: str, most: int = 60) -> None:
    """Press Tab until the control of this name has the focus."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        passed.append(focused(page))
        if passed[-1] == name:
            return
    raise AssertionError(f"'{name}' cannot be reached with Tab, only {passed}")
