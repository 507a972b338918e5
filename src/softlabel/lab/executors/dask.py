"""A Dask cluster: one that exists, by its address, or a local one started for the run.

Dask gives the task of a killed worker to another one. Only the driver writes the ledger, and each task ends once
here, so a task that ran twice is counted once. Machines of a cluster need softlabel and the data sets.
"""

import asyncio
import logging
import re
import socket
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from softlabel.errors import InputError, UnavailableError, require
from softlabel.lab.executors.tasks import DEATHS, Finished, Task, perform

PATIENCE = 10.0  # seconds in which a scheduler must answer
FAREWELL = 5.0  # seconds for closing a connection
ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
NOISY = ("distributed", "tornado", "asyncio")


class Dask:
    """Tasks on the cluster at `scheduler`, or on so many local workers."""

    def __init__(self, workers: int, scheduler: str | None = None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InputError("the dask executor needs an extra: pip install 'softlabel[dask]'") from None
        if scheduler is not None:
            _parts(scheduler)
        self.workers, self.scheduler = workers, scheduler

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]:
        from dask.config import set as configured
        from distributed import LocalCluster

        with _quietly(), configured({"distributed.scheduler.allowed-failures": DEATHS - 1}):
            if self.scheduler is not None:
                _probe(self.scheduler)
                yield from self._on(self.scheduler, tasks)
                return
            with (
                tempfile.TemporaryDirectory(prefix="softlabel-dask-") as scratch,
                configured({"temporary-directory": scratch}),
                LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                ) as cluster,
            ):
                yield from self._on(cluster, tasks)

    def _on(self, cluster: Any, tasks: Sequence[Task]) -> Iterator[Finished]:
        from distributed import Client, as_completed

        client = None
        try:
            client = Client(cluster, timeout=PATIENCE, set_as_default=False)
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
        except (OSError, TimeoutError, asyncio.CancelledError) as problem:  # as CommClosedError is
            if isinstance(problem, UnavailableError):
                raise
            where = f"at '{self.scheduler}'" if self.scheduler else "of this run"
            raise UnavailableError(
                f"the Dask scheduler {where} is lost ({_reason(problem)}); finished bundles are kept: run the same "
                "command again to go on"
            ) from problem
        finally:
            if client is not None:
                with suppress(OSError, TimeoutError, asyncio.CancelledError):
                    client.close(timeout=FAREWELL)


def _parts(address: str) -> tuple[str, int]:
    """Host and port of a scheduler's address."""
    found = ADDRESS.fullmatch(address)
    require(
        found is not None and 0 < int(found["port"]) < 65536,
        f"scheduler '{address}' is not an address: write it as tcp://HOST:PORT, e.g. tcp://10.0.0.1:8786",
    )
    assert found is not None
    return found["host"].strip("[]"), int(found["port"])


def _probe(address: str) -> None:
    """Raise unless a scheduler answers there soon. A client that is left to itself would try for minutes."""
    from distributed.comm.core import connect

    async def greet() -> None:
        comm = await connect(address if "://" in address else f"tcp://{address}", timeout=PATIENCE)
        await comm.close()

    try:
        socket.create_connection(_parts(address), timeout=PATIENCE).close()
        asyncio.run(asyncio.wait_for(greet(), PATIENCE))
    except Exception as problem:
        reason = f"no answer in {PATIENCE:g} s" if isinstance(problem, TimeoutError) else _reason(problem)
        raise UnavailableError(
            f"no Dask scheduler answers at '{address}' ({reason}); check the scheduler's address and that it runs"
        ) from problem


def _reason(problem: BaseException) -> str:
    text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return text.splitlines()[0]


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the logs of Dask, which are tracebacks where a connection is lost: that is told in one sentence."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in NOISY]
    before = {name: logging.getLogger(name).level for name in {*NOISY, *names}}
    for name in before:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _finished(task: Task, future: Any) -> Finished:
    if future.status == "finished":
        return future.result()
    if future.status in ("cancelled", "lost"):
        raise asyncio.CancelledError("its tasks were dropped")
    problem = future.exception()
    if type(problem).__name__ == "KilledWorker":
        return Finished(task.key, None, f"its worker died {DEATHS} times", 0.0, DEATHS)
    return Finished(task.key, None, f"{type(problem).__name__}: {problem}", 0.0)
