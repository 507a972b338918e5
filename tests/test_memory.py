"""Memory that is measured, bounded and given back."""

import resource
import threading

import numpy as np
import pytest

from softlabel import memory
from softlabel.errors import InputError
from softlabel.memory import (
    available_memory,
    bounded_memory,
    check_memory,
    readable_bytes,
    require_memory,
)


def test_half_of_the_memory_may_be_used(monkeypatch):
    assert 0 < available_memory() < 2**60
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    require_memory(500, "it")
    with pytest.raises(InputError, match="it needs 501 bytes of memory, and 1000 bytes are available"):
        require_memory(501, "it")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (2**40, "1.0 TiB"), (18 * 2**50, "18,432")],
)
def test_bytes_for_people(count, text):
    assert readable_bytes(count).startswith(text)


def test_memory_is_bounded_for_a_while():
    before = resource.getrlimit(resource.RLIMIT_AS)
    inside = []
    with bounded_memory():
        threads = [threading.Thread(target=lambda: inside.append(_limit_inside())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(MemoryError):
            np.empty(2**46, dtype=np.uint8)
    assert len(set(inside)) == 1
    assert inside[0] != before[0]
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def _limit_inside():
    with bounded_memory():
        return resource.getrlimit(resource.RLIMIT_AS)[0]


def test_arrays_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 8000)
    check_memory(1000, "it", "take less")
    with pytest.raises(InputError, match=r"it: 7\.8 KiB are needed, and 7\.8 KiB are available; take less"):
        check_memory(1001, "it", "take less")
