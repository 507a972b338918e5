"""Processes on this machine. A worker that dies costs the bundle it had, which is tried again.

Each worker has a pipe of its own, so it is always known which bundle a dead one was at. Workers end themselves when
their driver is gone, even one that was killed outright.
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

from softlabel.lab.executors.tasks import DEATHS, Finished, Task, death, perform


class Local:
    """A pool of so many processes."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]:
        waiting = deque(tasks)
        deaths: dict[str, int] = {}
        pool = [_Worker() for _ in range(min(self.workers, len(tasks)))]
        try:
            while waiting or any(worker.task for worker in pool):
                for worker in pool:
                    if worker.task is None and waiting:
                        worker.give(waiting.popleft())
                for worker in _ready(pool):
                    task, finished = worker.collect()
                    died = deaths.get(task.key, 0)
                    if finished is not None:
                        yield Finished(task.key, finished.outcomes, finished.reason, finished.seconds, died + 1)
                        continue
                    deaths[task.key] = died + 1
                    reason = death(worker.process.exitcode)
                    pool[pool.index(worker)] = _Worker()
                    if died + 1 < DEATHS:
                        waiting.appendleft(task)
                    else:
                        reason = f"its worker died {DEATHS} times, the last one {reason}"
                        yield Finished(task.key, None, reason, worker.busy, DEATHS)
        finally:
            for worker in pool:
                worker.end()


class _Worker:
    """One process, its pipe, and the task it is at."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, os.getpid()), daemon=True)
        self.process.start()
        other.close()
        self.task: Task | None = None
        self._since = 0.0

    @property
    def busy(self) -> float:
        return time.perf_counter() - self._since

    def give(self, task: Task) -> None:
        self.task, self._since = task, time.perf_counter()
        with suppress(BrokenPipeError, ConnectionResetError):  # it died while idle; collect() finds out
            self.connection.send(task)

    def collect(self) -> tuple[Task, Finished | None]:
        """The task it had, and what came of it; None if the worker died."""
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
    """Busy workers that have answered or died; waits for the first."""
    busy = {worker.connection: worker for worker in pool if worker.task is not None}
    return [busy[connection] for connection in wait(list(busy))]  # type: ignore[index]


def _serve(connection: Connection, driver: int) -> None:
    """What a worker does: take a task, perform it, answer, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt at the terminal is the driver's to handle
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            connection.send(perform(connection.recv()))


def _end_with(driver: int) -> None:
    """End this process at once when its driver is gone."""
    while os.getppid() == driver:
        time.sleep(0.2)
    os._exit(1)
