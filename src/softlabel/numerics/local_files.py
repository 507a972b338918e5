"""Checks of files that users name, before they are read.

Every reader of a user's file calls `require_regular_file`, so that a named pipe cannot block it forever, and
`require_memory`, so that a small file cannot demand more memory than there is.
"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softlabel.errors import InputError
from softlabel.memory import require_memory

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def local_path(name: str | Path) -> Path:
    """The path as written; if it does not exist, a leading '~' is replaced by the home directory."""
    path = Path(name)
    if not str(name).startswith("~") or os.path.lexists(path):
        return path
    try:
        return path.expanduser()
    except RuntimeError:  # there is no such user
        return path


def require_regular_file(path: str | Path, what: str = "") -> Path:
    """The path, if it is a regular file that is not empty; otherwise raise `InputError`.

    `what` precedes the path in messages, e.g. "teacher ".
    """
    path = Path(path)
    try:
        state = path.stat()
    except FileNotFoundError:
        raise InputError(f"there is no file {what}'{path}': check its path") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the name
        raise InputError(f"{what}'{path}' cannot be read: {reason_of(problem)}") from None
    if stat.S_ISDIR(state.st_mode):
        raise InputError(f"{what}'{path}' is a folder: name a file in it")
    if not stat.S_ISREG(state.st_mode):
        kind = _KINDS.get(stat.S_IFMT(state.st_mode), "no regular file")
        raise InputError(f"{what}'{path}' is {kind}, and only regular files are read: save its content to a file")
    if state.st_size == 0:
        raise InputError(f"{what}'{path}' is empty (0 bytes): was it written completely?")
    return path


def read_content(path: Path, what: str = "") -> bytes:
    """Read all bytes of a regular file that fits into memory."""
    require_regular_file(path, what)
    require_memory(path.stat().st_size, f"{what}'{path}'")
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"{what}'{path}' cannot be read: {reason_of(problem)}") from None


def reason_of(problem: BaseException) -> str:
    """The message of an exception, in one line."""
    text = getattr(problem, "strerror", None) or str(problem).strip()
    return (str(text).splitlines() or [type(problem).__name__])[0]


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Suppress what native libraries write to the standard error stream when they fail."""
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, ValueError, AttributeError):  # the stream is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
