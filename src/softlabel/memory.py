"""Available memory, and checks that refuse what does not fit into it."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softlabel.errors import InputError, SoftlabelError, require

_UNITS = ("KiB", "MiB", "GiB", "TiB")
LEAST_ADDRESSES, LEAST_MEMORY = int(1.1 * 2**30), 2**28  # needed to load the libraries
SHARE = 0.5  # largest share of the available memory that one file may take


def check_room() -> None:
    """Raise `SoftlabelError` if there is too little memory to load the libraries that softlabel uses.

    The libraries do not report this themselves: loading them or starting their threads aborts or hangs the process.
    """
    for room, least, what in (
        (_address_space(), LEAST_ADDRESSES, "address space (see `ulimit -v`)"),
        (min(_physical(), _container()), LEAST_MEMORY, "memory"),
    ):
        if room < least:
            raise SoftlabelError(
                f"softlabel needs at least {readable_bytes(least)} of {what}, and {readable_bytes(room)} are "
                "available: raise the limit, or close other programs"
            )


def check_memory(numbers: float, what: str, remedy: str, size: int = 8) -> None:
    """Raise `InputError` unless `numbers` values of `size` bytes each fit into the available memory."""
    needed, available = numbers * size, available_memory()
    require(
        needed <= available,
        f"{what}: {readable_bytes(needed)} are needed, and {readable_bytes(available)} are available; {remedy}",
    )


def require_memory(needed: int, what: str) -> None:
    """Raise `InputError` if `needed` bytes are more than half of the available memory."""
    available = available_memory()
    if needed > SHARE * available:
        raise InputError(
            f"{what} needs {readable_bytes(needed)} of memory, and {readable_bytes(available)} are available (half of "
            "it may be used): use a smaller file, or a machine with more memory"
        )


def available_memory() -> int:
    """Bytes that this process can still allocate, given the system, its container and its own limits."""
    return max(0, min(_physical(), _container(), _address_space()))


def _address_space() -> int:
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            return limit - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return sys.maxsize


def _container() -> int:
    with suppress(OSError, ValueError):  # "max" where there is no limit
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        return limit - used
    return sys.maxsize


def _physical() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize


def readable_bytes(count: float) -> str:
    """A number of bytes in readable units, e.g. "1.5 GiB"."""
    if count < 1024:
        return f"{count:.0f} bytes"
    power = min((int(count).bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:,.1f} {_UNITS[power - 1]}"


class _MemoryBound:
    """A limit on the address space of this process while native code runs; concurrent threads share it."""

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
    """Within this context, native code cannot allocate more than half of the available memory."""
    try:
        _bound.enter()
    except (ImportError, OSError, ValueError):  # this system has no such limit
        yield
        return
    try:
        yield
    finally:
        _bound.leave()
