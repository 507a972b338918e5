"""Atomic writing of files, with readable errors.

Every file is written under a temporary name in its directory and renamed when it is complete. A killed process, a full
disk or a second process that writes the same file therefore leaves the old file or the new one, never a part. The
permissions are those that the umask gives to any new file, whichever library wrote it.
"""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softlabel.errors import InputError, SoftlabelError, require

UNFINISHED = ".part"
# errors that the caller can fix by choosing another path
_PATH_ERRORS = {
    errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP,
    errno.EEXIST, errno.EINVAL,
}  # fmt: skip


class WriteError(SoftlabelError):
    """A file could not be written; no part of it was left behind."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what} cannot be written: {reason}; free some space or choose another place")
        self.reason = reason


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it is renamed to `path` on success and removed on failure."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        require(not path.is_dir(), f"'{path}' is a folder: choose another name")
        part = path.with_name(f".{path.name[:100]}-{secrets.token_hex(6)}{UNFINISHED}")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            mode = os.fstat(descriptor).st_mode & 0o777
            os.close(descriptor)
            yield part
            _settle(part, mode)
            part.replace(path)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, and create its directory where needed."""
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, and create the directory where needed."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def replacing_all(directory: Path) -> Iterator[Path]:
    """Yield a temporary directory; its files are moved to `directory` on success and removed on failure."""
    with explained(directory, "folder "):
        directory.mkdir(parents=True, exist_ok=True)
        temporary = directory / f".{secrets.token_hex(6)}{UNFINISHED}"
        try:
            temporary.mkdir()
            yield temporary
            written = sorted(temporary.iterdir())
            for file in written:
                target = directory / file.name
                require(not target.is_dir(), f"'{target}' is a folder: choose another name")
                _settle(file)
            for file in written:
                file.replace(directory / file.name)
        finally:
            with suppress(OSError):
                for file in temporary.iterdir():
                    file.unlink()
                temporary.rmdir()


def is_unfinished(name: str) -> bool:
    """Whether this is the name of an incomplete file that a killed process left behind."""
    return name.startswith(".") and name.endswith(UNFINISHED)


@contextmanager
def explained(path: Path, kind: str = "") -> Iterator[None]:
    """Turn errors of the disk, and of libraries that write to it, into one sentence about `path`."""
    try:
        yield
    except WriteError as problem:  # of a file within
        raise WriteError(f"{kind}'{path}'", problem.reason) from problem
    except SoftlabelError:
        raise
    except Exception as problem:
        number, reason = _reason(problem)
        if reason is None:
            raise
        if number in _PATH_ERRORS:
            raise InputError(f"{kind}'{path}' cannot be written: {reason}; choose another place") from problem
        raise WriteError(f"{kind}'{path}'", reason) from problem


def _reason(problem: Exception) -> tuple[int | None, str | None]:
    """Number and message of the operating system error behind an exception; (None, None) if there is none."""
    if isinstance(problem, FileExistsError):
        return problem.errno, f"'{problem.filename}' is not a folder"
    if isinstance(problem, OSError):
        return problem.errno, problem.strerror or str(problem)
    if type(problem).__name__ == "SafetensorError":  # its text contains the error, e.g. "… (os error 28)"
        match = re.search(r"os error (\d+)", str(problem))
        return (int(match[1]), os.strerror(int(match[1]))) if match else (None, str(problem))
    return None, None


def _settle(file: Path, mode: int | None = None) -> None:
    """Flush a complete file to the disk and set the permissions of any other new file."""
    with file.open("rb") as stream:
        if mode is not None and os.fstat(stream.fileno()).st_mode & 0o777 != mode:
            os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
