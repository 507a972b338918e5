"""Where bundles are worked on: here, in processes of this machine, or on a Dask cluster."""

import os

from softlabel.errors import InputError, require, unknown
from softlabel.lab.executors.local import Local
from softlabel.lab.executors.serial import Serial
from softlabel.lab.executors.tasks import Executor, Finished, Task

EXECUTORS = ("serial", "local", "dask")

__all__ = ["EXECUTORS", "Executor", "Finished", "Local", "Serial", "Task", "cores", "make_executor"]


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_executor(name: str, workers: int, scheduler: str | None = None) -> Executor:
    """The executor of that name; `scheduler` is the address of a Dask cluster."""
    if name not in EXECUTORS:
        raise unknown("executor", name, EXECUTORS)
    require(workers >= 1, f"workers must be a whole number ≥ 1, got {workers}")
    if scheduler is not None and name != "dask":
        raise InputError(f"a scheduler's address goes with --executor dask, not '{name}'")
    if name == "dask":
        from softlabel.lab.executors.dask import Dask

        return Dask(workers, scheduler)
    return Serial() if name == "serial" else Local(workers)
