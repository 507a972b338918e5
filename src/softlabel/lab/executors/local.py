"""Processes on this machine. The bundle of a worker that dies is tried again; workers are kept for the next stage.

Each worker has its own pipe, so the bundle of a dead one is always known. Workers end themselves when their driver is
gone, even one that was killed.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from softlabel.lab.artifacts import ArtifactStore
from softlabel.lab.executors.tasks import DEATHS, Task, TaskResult, death, perform
from softlabel.processors import calm_children


class Local:
    """A pool of worker processes."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: list[_Worker] = []
        self._run_dir: Path | None = None

    def run(self, tasks: Sequence[Task], store: ArtifactStore) -> Iterator[TaskResult]:
        if self._run_dir != store.run_dir:
            self.close()
        self._run_dir, pool, waiting = store.run_dir, self._pool, deque(tasks)
        deaths: dict[str, int] = {}
        pool += [_Worker(store.run_dir) for _ in range(min(self.workers, len(tasks)) - len(pool))]
        try:
            while waiting or any(worker.task for worker in pool):
                for worker in pool:
                    if worker.task is None and waiting:
                        worker.give(waiting.popleft())
                for worker in _ready(pool):
                    task, finished = worker.collect()
                    died = deaths.get(task.key, 0)
                    if finished is not None:
                        yield TaskResult(task.key, finished.cells, finished.reason, finished.seconds, died + 1)
                        continue
                    deaths[task.key] = died + 1
                    reason = death(worker.process.exitcode)
                    pool[pool.index(worker)] = _Worker(store.run_dir)
                    if died + 1 < DEATHS:
                        waiting.appendleft(task)
                    else:
                        reason = f"its worker died {DEATHS} times, the last one {reason}"
                        yield TaskResult(task.key, None, reason, worker.busy, DEATHS)
        except BaseException:  # an interrupt, or the caller stops early: workers are busy
            self.close()
            raise

    def close(self) -> None:
        """End the workers."""
        while self._pool:
            self._pool.pop().end()


class _Worker:
    """One process, its pipe, and its current task."""

    def __init__(self, run_dir: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, os.getpid(), run_dir), daemon=True)
        with calm_children():
            self.process.start()
        other.close()
        self.task: Task | None = None
        self._since = 0.0

    @property
    def busy(self) -> float:
        return time.perf_counter() - self._since

    def give(self, task: Task) -> None:
        self.task, self._since = task, time.perf_counter()
        with suppress(BrokenPipeError, ConnectionResetError):  # it died while idle; collect() notices that
            self.connection.send(task)

    def collect(self) -> tuple[Task, TaskResult | None]:
        """Its task and the result; None if the worker died."""
        task = self.task
        assert task is not None
        try:
            finished = self.connection.recv()
            self.task = None
            return task, finished
        except (EOFError, ConnectionResetError):
            self.process.join()
            return task, None

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join(5)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


def _ready(pool: list[_Worker]) -> list[_Worker]:
    """Busy workers that have finished or died; waits for the first."""
    busy = {worker.connection: worker for worker in pool if worker.task is not None}
    return [busy[connection] for connection in wait(list(busy))]  # type: ignore[index]


def _serve(connection: Connection, driver: int, run_dir: Path) -> None:
    """The loop of a worker: receive a task, perform it, send the result, until the pipe closes."""
    store = ArtifactStore(run_dir)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt at the terminal is the driver's to handle
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            connection.send(perform(connection.recv(), store.arrays))


def _end_with(driver: int) -> None:
    """End this process at once when its driver is gone."""
    while os.getppid() == driver:
        time.sleep(0.2)
    os._exit(1)
