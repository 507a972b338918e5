"""Arrays that this machine cannot hold are refused before they are made."""

import os
import sys

from softlabel.errors import require


def check_memory(numbers: float, what: str, remedy: str, size: int = 8) -> None:
    """Raise `InputError` if so many numbers of `size` bytes do not fit into the memory of this machine."""
    needed, there = numbers * size, memory_bytes()
    require(
        needed <= there,
        f"{what}: {needed / 2**30:,.3g} GiB are needed, this machine has {there / 2**30:,.3g} GiB; {remedy}",
    )


def memory_bytes() -> int:
    """Bytes of memory that this process may use."""
    try:
        import resource

        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ImportError, AttributeError, ValueError):  # not a Unix that tells
        return sys.maxsize
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return total if limit == resource.RLIM_INFINITY else min(total, limit)
