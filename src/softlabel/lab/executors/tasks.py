"""What executors are given, and what they give back."""

import os
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from softlabel.errors import SoftlabelError, out_of_memory
from softlabel.lab.cells import Given, Outcome, Work

DEATHS = 3  # after so many a bundle counts as the cause


@dataclass(frozen=True, eq=False)
class Task:
    """One bundle to be worked on, with everything that takes."""

    key: str
    work: Work
    settings: Any
    cells: Sequence[Any]
    given: Given
    threads: int


@dataclass(frozen=True, eq=False)
class Finished:
    """What came of a task: outcomes, or the reason why there are none."""

    key: str
    outcomes: list[Outcome] | None
    reason: str | None
    seconds: float
    attempts: int = 1


class Executor(Protocol):
    """Runs tasks, in any order; yields each once when it has ended, well or badly."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]: ...


def perform(task: Task) -> Finished:
    """Do the work here. An error of the work is an answer, not an accident."""
    began = time.perf_counter()
    outcomes, reason = None, None
    with exactly(task.threads):
        try:
            outcomes = task.work(task.settings, task.cells, task.given)
            if len(outcomes) != len(task.cells):
                outcomes, reason = None, f"the work gave {len(outcomes)} outcomes for {len(task.cells)} cells"
        except SoftlabelError as problem:
            reason = str(problem)
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            place = f"{os.path.basename(where.filename)}:{where.lineno}"  # noqa: PTH119
            reason = out_of_memory(problem) or f"{type(problem).__name__}: {problem} ({place})"
    return Finished(task.key, outcomes, reason, time.perf_counter() - began)


@contextmanager
def exactly(threads: int) -> Iterator[None]:
    """That many threads for products, whatever the machine offers: sums then round alike every time."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        torch.set_num_threads(before)


def death(exitcode: int | None) -> str:
    """In words, how a process ended."""
    if exitcode is not None and exitcode < 0:
        out_of_memory = ", perhaps for want of memory" if exitcode == -9 else ""
        return f"killed by signal {-exitcode}{out_of_memory}"
    return f"ended with exit code {exitcode}"
