"""A Dask cluster: one that exists, by its address, or a local one started for the run.

Dask gives the task of a killed worker to another one. Only the driver writes the ledger, and each task ends once
here, so a task that ran twice is counted once. Machines of a cluster need softlabel and the data sets.
"""

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from softlabel.errors import InputError, UnavailableError
from softlabel.lab.executors.tasks import DEATHS, Finished, Task, perform

PATIENCE = "20s"


class Dask:
    """Tasks on the cluster at `scheduler`, or on so many local workers."""

    def __init__(self, workers: int, scheduler: str | None = None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InputError("the dask executor needs an extra: pip install 'softlabel[dask]'") from None
        self.workers, self.scheduler = workers, scheduler

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]:
        from dask.config import set as configured
        from distributed import Client, LocalCluster, as_completed

        quiet = {"distributed.scheduler.allowed-failures": DEATHS - 1, "distributed.logging.distributed": "error"}
        with configured(quiet):
            cluster: Any = self.scheduler
            if cluster is None:
                cluster = LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=50,
                )
            client = None
            try:
                client = _connect(Client, cluster)
                run = uuid.uuid4().hex[:8]  # keys of this run alone: an old result in the cluster is not taken for new
                waiting = list(reversed(tasks))
                count = max(1, len(client.scheduler_info()["workers"])) if self.scheduler else self.workers
                known: dict[Any, Task] = {}

                def submit() -> Any:
                    task = waiting.pop()
                    future = client.submit(perform, task, key=f"softlabel-{run}-{task.key}", pure=False, retries=0)
                    known[future.key] = task
                    return future

                pending = as_completed([submit() for _ in range(min(2 * count, len(tasks)))], loop=client.loop)
                for future in pending:
                    yield _finished(known.pop(future.key), future)
                    if waiting:
                        pending.add(submit())
            finally:
                if client is not None:
                    client.close()
                if self.scheduler is None:
                    cluster.close()


def _connect(client: Any, cluster: Any) -> Any:
    try:
        return client(cluster, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise UnavailableError(f"no Dask scheduler answers at '{cluster}' ({reason}); check --scheduler") from problem


def _finished(task: Task, future: Any) -> Finished:
    if future.status == "finished":
        return future.result()
    problem = future.exception()
    if type(problem).__name__ == "KilledWorker":
        return Finished(task.key, None, f"its worker died {DEATHS} times", 0.0, DEATHS)
    return Finished(task.key, None, f"{type(problem).__name__}: {problem}", 0.0)
