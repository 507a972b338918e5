"""A Dask cluster: one that exists, by its address, or a local one started for the run.

Dask gives the task of a killed worker to another one. Only the driver writes the ledger, taking one result of each
task, so one that ran twice is counted once. Artifacts are sent once to each worker that needs them, and to one that
replaces a dead worker. The machines of a cluster need softlabel and the named data sets.
"""

import asyncio
import logging
import os
import re
import socket
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from softlabel.errors import InputError, UnavailableError, require
from softlabel.lab.artifacts import Arrays, ArtifactStore
from softlabel.lab.executors.tasks import DEATHS, Task, TaskResult, perform
from softlabel.processors import calm_threads

PATIENCE = 10.0  # seconds in which a scheduler must answer
FAREWELL = 5.0  # seconds for closing a connection
ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
LARGE = "distributed.admin.large-graph-warning-threshold"  # tasks that send artifacts exceed it
DROPPED = ("cancelled", "lost")  # states of a future
NOISY = ("distributed", "tornado", "asyncio")


class Dask:
    """Tasks on the cluster at `scheduler`, or on a number of local workers."""

    def __init__(self, workers: int, scheduler: str | None = None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InputError("the dask executor needs an extra: pip install 'softlabel[dask]'") from None
        if scheduler is not None:
            _parts(scheduler)
        self.workers, self.scheduler = workers, scheduler
        self._client: Any = None
        self._artifacts: dict[str, Any] = {}  # key → future
        self._stack = ExitStack()

    def run(self, tasks: Sequence[Task], store: ArtifactStore) -> Iterator[TaskResult]:
        from distributed import as_completed

        try:
            client = self._connected()
            run = uuid.uuid4().hex[:8]  # keys of this run alone: an old result in the cluster is not taken for new
            waiting = list(reversed(tasks))
            count = max(1, len(client.scheduler_info()["workers"])) if self.scheduler else self.workers
            known: dict[Any, Task] = {}
            dropped: Counter[str] = Counter()

            def artifact(key: str) -> Any:
                if key not in self._artifacts or self._artifacts[key].status in DROPPED:
                    name = f"softlabel-{uuid.uuid4().hex[:8]}-{key}"
                    self._artifacts[key] = client.submit(_received, dict(store.arrays(key)), key=name)
                return self._artifacts[key]

            def submit() -> Any:
                task = waiting.pop()
                artifacts = {key: artifact(key) for key in task.artifacts.values()}
                name = f"softlabel-{run}-{task.key}-{dropped[task.key]}"
                future = client.submit(_perform, task, artifacts, key=name, pure=False, retries=0)
                known[future.key] = task
                return future

            pending = as_completed([submit() for _ in range(min(2 * count, len(tasks)))], loop=client.loop)
            for future in pending:
                task = known.pop(future.key)
                if future.status in DROPPED and dropped[task.key] < DEATHS and _answers(client.scheduler.address):
                    dropped[task.key] += 1  # a client may drop a task of a worker that was killed
                    waiting.append(task)
                else:
                    yield _finished(task, future)
                if waiting:
                    pending.add(submit())
        except (OSError, TimeoutError, asyncio.CancelledError) as problem:  # as CommClosedError is
            self.close()
            if isinstance(problem, UnavailableError):
                raise
            where = f"at '{self.scheduler}'" if self.scheduler else "of this run"
            raise UnavailableError(
                f"the Dask scheduler {where} is lost ({_reason(problem)}); finished bundles are kept: run the same "
                "command again to go on"
            ) from problem

    def close(self) -> None:
        """Leave the cluster, and end it if it was started for the run."""
        client, self._client, self._artifacts = self._client, None, {}
        if client is not None:
            with suppress(OSError, TimeoutError, asyncio.CancelledError):
                client.close(timeout=FAREWELL)
        self._stack.close()

    def _connected(self) -> Any:
        """The client of the cluster; a local cluster is started where no scheduler was named."""
        from dask.config import set as configured
        from distributed import Client, LocalCluster

        if self._client is not None:
            return self._client
        enter = self._stack.enter_context
        enter(_quietly())
        enter(configured({"distributed.scheduler.allowed-failures": DEATHS - 1, LARGE: "1 TB"}))
        cluster: Any = self.scheduler
        if self.scheduler is not None:
            _probe(self.scheduler)
        else:
            scratch = enter(tempfile.TemporaryDirectory(prefix="softlabel-dask-"))
            added = calm_threads(dict(os.environ))
            enter(configured({f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in added.items()}))
            enter(configured({"temporary-directory": scratch}))
            cluster = enter(
                LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            )
        self._client = Client(cluster, timeout=PATIENCE, set_as_default=False)
        return self._client


def _received(arrays: dict[str, Any]) -> dict[str, Any]:
    """An artifact as a worker holds it; the scheduler can have it computed again where a worker is lost."""
    return arrays


def _perform(task: Task, artifacts: dict[str, Arrays]) -> TaskResult:
    return perform(task, artifacts.__getitem__)


def _parts(address: str) -> tuple[str, int]:
    """Host and port of a scheduler's address."""
    match = ADDRESS.fullmatch(address)
    require(
        match is not None and 0 < int(match["port"]) < 65536,
        f"`scheduler` '{address}' is not an address: write it as tcp://HOST:PORT, e.g. tcp://10.0.0.1:8786",
    )
    assert match is not None
    return match["host"].strip("[]"), int(match["port"])


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


def _answers(address: str) -> bool:
    """Whether the scheduler of a running computation is still there."""
    try:
        _probe(address)
    except UnavailableError:
        return False
    return True


def _reason(problem: BaseException) -> str:
    text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return text.splitlines()[0]


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the logs of Dask, which are tracebacks where a connection is lost: one sentence says that."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in NOISY]
    before = {name: logging.getLogger(name).level for name in {*NOISY, *names}}
    for name in before:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _finished(task: Task, future: Any) -> TaskResult:
    if future.status == "finished":
        return future.result()
    if future.status in DROPPED:
        raise asyncio.CancelledError("its tasks were dropped")
    problem = future.exception()
    if type(problem).__name__ == "KilledWorker":
        return TaskResult(task.key, None, f"its worker died {DEATHS} times", 0.0, DEATHS)
    return TaskResult(task.key, None, f"{type(problem).__name__}: {problem}", 0.0)
