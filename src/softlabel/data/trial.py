"""A trial reading of Parquet files in another process, which a damaged file may end.

Where a damaged page asks for more memory than there is, polars ends its process instead of raising an exception. Each
file is therefore read first by a separate process, so that a damaged one is an error like any other.
"""

import atexit
import os
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from softlabel.errors import InputError
from softlabel.memory import SHARE, available_memory

_READER = Path(__file__).with_name("trial_reader.py")


class _Reader:
    """The process; it is started when it is needed first, and restarted after it has died."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def survives(self, path: Path) -> bool:
        """Whether the process is still alive after it has read the file."""
        name = os.fsencode(path.absolute())
        request = struct.pack("<qq", int(SHARE * available_memory()), len(name)) + name
        try:
            process = self._started()
        except OSError:  # no other process can be started here
            return True
        lives = False
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(request)
            process.stdin.flush()
            lives = process.stdout.read(1) == b"1"
        except BrokenPipeError:
            pass
        finally:
            if not lives:
                self.close()
        return lives

    def _started(self) -> "subprocess.Popen[bytes]":
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(_READER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            atexit.register(self.close)
        return self.process

    def close(self) -> None:
        if self.process is None:
            return
        process, self.process = self.process, None
        atexit.unregister(self.close)
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


_reader = _Reader()


def require_survivable(path: Path) -> None:
    """Raise where reading a Parquet file would end this process."""
    if not _reader.survives(path):
        raise InputError(f"'{path}' is not a readable Parquet file (damaged?): create it anew")
