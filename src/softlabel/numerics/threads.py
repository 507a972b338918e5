"""The number of threads that suits a computation.

It never depends on how busy the machine is at the moment: sums round differently with another number of threads, and
the same command must give the same numbers on the same machine.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from softlabel.processors import available_cpus

WORTH_SHARING = 2e8  # floating-point operations between two synchronizations of the threads


def usable_threads() -> int:
    """Threads of PyTorch, but no more than CPUs that this process may use; `OMP_NUM_THREADS` is taken as it is."""
    threads = torch.get_num_threads()
    return threads if "OMP_NUM_THREADS" in os.environ else min(threads, available_cpus())


def threads_worth(flops: float, available: int) -> int:
    """The number of threads for steps of `flops` operations: one, or all that are available."""
    return 1 if flops < WORTH_SHARING else available


@contextmanager
def threads_for(flops: float) -> Iterator[None]:
    """Use one thread within this context if steps have few operations, else all threads.

    Threads that share small steps mostly wait for each other, on a busy machine many times longer than they compute.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads_worth(flops, usable_threads()))
    try:
        yield
    finally:
        torch.set_num_threads(before)
