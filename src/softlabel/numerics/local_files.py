"""Files that are read: a path is the literal name of a regular file on this machine, and memory is checked before use.

Every reader of users' files goes through `require_regular_file`, so that a named pipe cannot make it wait forever, and
through `require_memory`, so that a small file cannot ask for more memory than there is.
"""

import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softlabel.errors import InputError

_UNITS = ("KiB", "MiB", "GiB", "TiB")
SHARE = 0.5  # of the available memory that the content of one file may take
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def local_path(name: str | Path) -> Path:
    """The path as it is written; where there is no such file, a leading '~' stands for the home directory."""
    path = Path(name)
    if not str(name).startswith("~") or os.path.lexists(path):
        return path
    try:
        return path.expanduser()
    except RuntimeError:  # there is no such user
        return path


def require_regular_file(path: Path, what: str = "") -> Path:
    """The path itself if it is a regular file that has content; anything else is an `InputError`.

    what    put in front of the path in messages, e.g. "teacher "
    """
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
    """All bytes of a regular file that fits into memory."""
    require_regular_file(path, what)
    require_memory(path.stat().st_size, f"{what}'{path}'")
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"{what}'{path}' cannot be read: {reason_of(problem)}") from None


def require_memory(needed: int, what: str) -> None:
    """Raise unless so many bytes are at most half of the memory that is available now."""
    available = available_memory()
    if needed > SHARE * available:
        raise InputError(
            f"{what} needs {readable_bytes(needed)} of memory, and {readable_bytes(available)} are available (half of "
            "it may be used): use a smaller file, or a machine with more memory"
        )


def available_memory() -> int:
    """Bytes that this process can still use, by what the system, its container and its own limits say."""
    sizes = [_physical()]
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            sizes.append(limit - used)
    with suppress(OSError, ValueError):  # a container's limit; "max" where there is none
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        sizes.append(limit - used)
    return max(0, min(sizes))


def _physical() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


def readable_bytes(count: int) -> str:
    """A number of bytes for people, e.g. "1.5 GiB"."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:,.1f} {_UNITS[power - 1]}"


def reason_of(problem: BaseException) -> str:
    """What an exception says, in one line."""
    text = getattr(problem, "strerror", None) or str(problem).strip()
    return (str(text).splitlines() or [type(problem).__name__])[0]


class _MemoryBound:
    """The limit of this process's address space while native code runs; threads that want it at once share one."""

    def __init__(self) -> None:
        self.lock, self.users, self.before = threading.Lock(), 0, (0, 0)

    def enter(self) -> None:
        import resource

        with self.lock:
            if self.users == 0:
                self.before = resource.getrlimit(resource.RLIMIT_AS)
                used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                bound = used + int(SHARE * available_memory())
                if self.before[0] == resource.RLIM_INFINITY or bound < self.before[0]:
                    resource.setrlimit(resource.RLIMIT_AS, (bound, self.before[1]))
            self.users += 1

    def leave(self) -> None:
        import resource

        with self.lock:
            self.users -= 1
            if self.users == 0:
                resource.setrlimit(resource.RLIMIT_AS, self.before)


_bound = _MemoryBound()


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Let native code fail where it would take more than half of the available memory, rather than take it."""
    try:
        _bound.enter()
    except (ImportError, OSError, ValueError):  # this system has no such limit
        yield
        return
    try:
        yield
    finally:
        _bound.leave()


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Keep native libraries from writing to the standard error stream (they do when they fail)."""
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
