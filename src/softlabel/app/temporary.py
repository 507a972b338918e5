"""Temporary files of the explorer: they end with it, and where it was killed the next explorer deletes them."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import util
from pathlib import Path

PREFIX = "softlabel-pid"
OURS = rf"{PREFIX}([0-9]+)-[a-z0-9_]{{8}}"
LONGEST = 41  # bytes of the system's directory below which the names of sockets do not become too long
AFTER_THE_SOCKETS = -200  # multiprocessing deletes the directory of its own at -100


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Let temporary files of this process, and of those that it starts, be made in a directory of their own.

    It is deleted when this process ends, because the process that others are forked from has its socket there.
    """
    system = tempfile.gettempdir()
    delete_orphans(Path(system), OURS)
    if len(os.fsencode(system)) > LONGEST:
        util.get_temp_dir()  # made in the system's directory now, rather than in ours
    directory = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
    util.Finalize(None, shutil.rmtree, args=(directory, True), exitpriority=AFTER_THE_SOCKETS)
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = directory
    try:
        yield Path(directory)
    finally:
        tempfile.tempdir = before
        if variable is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = variable


def delete_orphans(root: Path, pattern: str) -> None:
    """Delete the directories of processes that are gone; the group of the pattern is the process's id."""
    if not root.is_dir() or root.is_symlink():
        return
    for directory in root.iterdir():
        process = re.fullmatch(pattern, directory.name)
        if process is not None and not _is_alive(int(process[1])):
            shutil.rmtree(directory, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
