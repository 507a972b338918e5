"""Executors: this process, processes of this machine, or a Dask cluster."""

from softlabel.errors import InputError, require, unknown
from softlabel.lab.executors.local import Local
from softlabel.lab.executors.serial import Serial
from softlabel.lab.executors.tasks import Executor, Task, TaskResult
from softlabel.processors import available_cpus

EXECUTORS = ("serial", "local", "dask")
PER_CORE = 8  # more workers or threads on a core only wait for each other
MOST_THREADS = 1024  # of a worker on any machine: far more end in a crash of the libraries

__all__ = [
    "EXECUTORS",
    "MOST_THREADS",
    "Executor",
    "Local",
    "Serial",
    "Task",
    "TaskResult",
    "check_counts",
    "cores",
    "make_executor",
]


def cores() -> int:
    """CPUs that this process may use: by its affinity, and by the quota of its container."""
    return available_cpus()


def check_counts(workers: int | None, threads: int | None, scheduler: str | None = None) -> None:
    """Refuse more workers or threads than this machine can use; those of a Dask cluster are not known here."""
    most = PER_CORE * cores()
    why = f"this process may use {cores()} cores"
    require(
        workers is None or 1 <= workers <= most,
        f"workers must be a whole number from 1 to {most} ({why}), got {workers}",
    )
    if scheduler is not None:
        most, why = MOST_THREADS, "of each worker of a cluster"
    require(
        threads is None or 1 <= threads <= most,
        f"threads must be a whole number from 1 to {most} ({why}), got {threads}",
    )


def make_executor(name: str, workers: int, scheduler: str | None = None) -> Executor:
    """The executor of that name; `scheduler` is the address of a Dask cluster."""
    if name not in EXECUTORS:
        raise unknown("executor", name, EXECUTORS)
    check_counts(workers, None)
    if scheduler is not None and name != "dask":
        raise InputError(f"`scheduler` is for the executor 'dask', not for '{name}'")
    if name == "dask":
        from softlabel.lab.executors.dask import Dask

        return Dask(workers, scheduler)
    return Serial() if name == "serial" else Local(workers)
