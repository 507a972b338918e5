"""The number of threads that suits a computation."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORTH_SHARING = 2e8  # floating-point operations between two synchronizations of the threads


def threads_worth(flops: float, available: int) -> int:
    """The number of threads for steps of `flops` operations: one, or all that are available."""
    return 1 if flops < WORTH_SHARING else available


@contextmanager
def threads_for(flops: float) -> Iterator[None]:
    """Use one thread within this context if steps have few operations, else all threads.

    Threads that share small steps mostly wait for each other, on a busy machine many times longer than they compute.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads_worth(flops, before))
    try:
        yield
    finally:
        torch.set_num_threads(before)
