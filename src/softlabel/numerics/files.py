"""Writing files: whole or not at all, and a sentence where that is not possible.

Every file is written under a name of its own beside its place and renamed when it is complete, so that a kill, a full
disk or a second process at the same work leaves the old file or the new one. Its permissions are those that the umask
gives to any new file, whichever library wrote it.
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
# what a caller can fix by naming another place
_PLACE = {
    errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP,
    errno.EEXIST, errno.EINVAL,
}  # fmt: skip


class WriteError(SoftlabelError):
    """The disk did not take a file; nothing of that file was left behind."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what} cannot be written: {reason}; free some space or choose another place")
        self.reason = reason


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it becomes `path` when the block ends, and is removed if the block fails."""
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
    """Write one file, made with its folder."""
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """The same for text, as UTF-8."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def replacing_all(folder: Path) -> Iterator[Path]:
    """A temporary folder to write several files into; all of them move to `folder` when the block ends, or none."""
    with explained(folder, "folder "):
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f".{secrets.token_hex(6)}{UNFINISHED}"
        try:
            place.mkdir()
            yield place
            written = sorted(place.iterdir())
            for file in written:
                require(not (folder / file.name).is_dir(), f"'{folder / file.name}' is a folder: choose another name")
                _settle(file)
            for file in written:
                file.replace(folder / file.name)
        finally:
            with suppress(OSError):
                for file in place.iterdir():
                    file.unlink()
                place.rmdir()


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is what a killed process left of one that it was writing."""
    return name.startswith(".") and name.endswith(UNFINISHED)


@contextmanager
def explained(path: Path, kind: str = "") -> Iterator[None]:
    """Turn the errors of a disk, and those of libraries that write to it, into a sentence about `path`."""
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
        if number in _PLACE:
            raise InputError(f"{kind}'{path}' cannot be written: {reason}; choose another place") from problem
        raise WriteError(f"{kind}'{path}'", reason) from problem


def _reason(problem: Exception) -> tuple[int | None, str | None]:
    """Number and words of the operating system's error behind an exception; no words where there is none."""
    if isinstance(problem, FileExistsError):
        return problem.errno, f"'{problem.filename}' is not a folder"
    if isinstance(problem, OSError):
        return problem.errno, problem.strerror or str(problem)
    if type(problem).__name__ == "SafetensorError":  # it has the error in its text, e.g. "… (os error 28)"
        found = re.search(r"os error (\d+)", str(problem))
        return (int(found[1]), os.strerror(int(found[1]))) if found else (None, str(problem))
    return None, None


def _settle(file: Path, mode: int | None = None) -> None:
    """Bring a complete file to the disk, with the permissions of any other new file."""
    with file.open("rb") as stream:
        if mode is not None and os.fstat(stream.fileno()).st_mode & 0o777 != mode:
            os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
