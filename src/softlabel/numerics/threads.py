"""How many threads a computation is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORTH_SHARING = 2e8  # floating-point operations between two meetings of the threads


def threads_worth(flops: float, available: int) -> int:
    """Threads for steps of so many operations: one, or all that are available."""
    return 1 if flops < WORTH_SHARING else available


@contextmanager
def threads_for(flops: float) -> Iterator[None]:
    """One thread for steps of so few operations that threads would mostly wait for each other, else all.

    On a busy machine such waiting can take many times longer than the work itself.
    """
    before = torch.get_num_threads()
    if flops < WORTH_SHARING:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
