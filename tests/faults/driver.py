"""Drivers of a small study, for tests that kill them.

They are forked from a server that has imported everything, because imports take most of the time of so small a run. A
driver is a process like any other, and its workers are started as always.
"""

import multiprocessing
import os
import tempfile
from pathlib import Path

from softlabel.errors import SoftlabelError
from softlabel.lab import make_executor
from tests.lab.toys import run_study, toy

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "tests.faults.driver"])


class Driver:
    """A process that runs the study in a directory."""

    def __init__(self, run_dir: Path, executor: str, pause: float) -> None:
        descriptor, self._errors = tempfile.mkstemp()
        os.close(descriptor)
        self._process = CONTEXT.Process(target=main, args=(run_dir, executor, pause, self._errors))
        self._process.start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def wait(self, seconds: float = 300) -> str:
        """Wait for its end; returns its messages."""
        self._process.join(seconds)
        assert self.exit_code is not None, "it does not end"
        errors = Path(self._errors)
        messages = errors.read_text()
        errors.unlink()
        return messages

    def finish(self) -> None:
        """Wait for its end, which must be a success."""
        messages = self.wait()
        assert self.exit_code == 0, messages


def main(run_dir: Path, executor: str, pause: float, errors: str) -> None:
    study = toy(cells=24, together=2, pause=pause)
    try:
        run_study(study, run_dir, make_executor(executor, 2 if executor != "serial" else 1), threads=1)
    except SoftlabelError as problem:
        Path(errors).write_text(f"{problem}\n")
        raise SystemExit(1) from None
