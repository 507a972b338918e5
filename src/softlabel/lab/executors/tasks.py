"""Tasks for executors, and their results."""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from softlabel.errors import SoftlabelError, out_of_memory
from softlabel.lab.artifacts import Arrays, ArtifactStore
from softlabel.lab.cells import CellArrays, CellResult, Work

DEATHS = 3  # of workers, after which the bundle counts as the cause


@dataclass(frozen=True, eq=False)
class Task:
    """One bundle to work on: the work, its settings and cells, arrays it needs, artifacts (name → key), threads."""

    key: str
    work: Work
    settings: Any
    cells: Sequence[Any]
    arrays: CellArrays
    artifacts: Mapping[str, str]
    threads: int


@dataclass(frozen=True, eq=False)
class TaskResult:
    """Result of a task: those of its cells, or the reason why there are none."""

    key: str
    cells: list[CellResult] | None
    reason: str | None
    seconds: float
    attempts: int = 1


class Executor(Protocol):
    """Runs tasks in any order, and yields the result of each once, be it a success or a failure.

    Artifacts are read from the store of the run, by workers on other machines through the driver. Workers are kept for
    the next call of `run`, until `close`.
    """

    def run(self, tasks: Sequence[Task], store: ArtifactStore) -> Iterator[TaskResult]: ...

    def close(self) -> None: ...


def perform(task: Task, artifact: Callable[[str], Arrays]) -> TaskResult:
    """Do the work here; an error of the work is a result too. `artifact` reads an artifact by its key."""
    began = time.perf_counter()
    cells, reason = None, None
    with exactly(task.threads):
        try:
            arrays = {**task.arrays, **{name: artifact(key) for name, key in task.artifacts.items()}}
            cells = task.work(task.settings, task.cells, arrays)
            if len(cells) != len(task.cells):
                cells, reason = None, f"the work gave {len(cells)} results for {len(task.cells)} cells"
        except SoftlabelError as problem:
            reason = str(problem)
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            position = f"{os.path.basename(where.filename)}:{where.lineno}"  # noqa: PTH119
            reason = out_of_memory(problem) or f"{type(problem).__name__}: {problem} ({position})"
    return TaskResult(task.key, cells, reason, time.perf_counter() - began)


@contextmanager
def exactly(threads: int) -> Iterator[None]:
    """Use exactly this many threads for products, so that sums round alike every time."""
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
    """How a process ended, in words."""
    if exitcode is not None and exitcode < 0:
        out_of_memory = ", perhaps because memory ran out" if exitcode == -9 else ""
        return f"killed by signal {-exitcode}{out_of_memory}"
    return f"ended with exit code {exitcode}"
