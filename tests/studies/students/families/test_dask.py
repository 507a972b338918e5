"""Students of several families on a Dask cluster with a killed worker are, to the bit, those of a serial run."""

import os
import signal
import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import softlabel as sl
from softlabel.lab import ArtifactStore, Ledger
from softlabel.studies.students.taught_problem import TaughtProblem
from tests.lab.toys import contents
from tests.studies.students.quick import comparable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE = 300  # seconds after which a run that hangs is interrupted
FAMILIES: dict[str, dict[str, Any]] = {
    "two-layer": {"epochs": 2, "batch_size": 64, "cross_test": 0},
    "tree": {"cross_test": 0},
    "boosted-trees": {"cross_test": 2},
}


def customers(rows=240) -> pl.DataFrame:
    """A table with text and gaps, so that an encoder travels with the problem."""
    rng = np.random.default_rng(0)
    age, city = rng.normal(40, 12, rows).round(1), rng.choice(["north", "south", "west"], rows)
    leaves = rng.random(rows) < expit((age - 40) / 6 + (city == "north"))
    return pl.DataFrame(
        {
            "age": [None if gap else value for value, gap in zip(age.tolist(), rng.random(rows) < 0.1, strict=True)],
            "city": [None if gap else name for name, gap in zip(city.tolist(), rng.random(rows) < 0.05, strict=True)],
            "income": rng.normal(3, 1, rows).round(2),
            "leaves": np.where(leaves, "yes", "no"),
        }
    )


def teacher(table: pl.DataFrame) -> np.ndarray:
    """Probability of leaving."""
    age, north = table["age"].fill_null(40).to_numpy(), table["city"].fill_null("").to_numpy() == "north"
    return expit((age - 40) / 8 + north)


def ask(student, out, execution):
    options = sl.VerdictOptions(**FAMILIES[student])
    return sl.verdict(
        customers(), label="leaves", teacher=teacher, student=student, width=4, seeds=3, out=out, options=options,
        execution=execution,
    )  # fmt: skip


@pytest.fixture
def cluster():
    """Two workers on loopback, each a process of its own."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def bounded():
    """Interrupt a test that hangs."""

    def interrupt(*_) -> None:
        raise TimeoutError(f"not finished after {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


class Killer:
    """As the progress of a run: kills one worker in the middle of its work."""

    def __init__(self, cluster) -> None:
        self.cluster, self.pid, self.lost = cluster, None, []

    def __call__(self, at) -> None:
        if self.pid is not None or not 0 < at.done < at.bundles:
            return
        for nanny in self.cluster.workers.values():
            if not self.tasks(nanny):
                continue
            os.kill(nanny.pid, signal.SIGSTOP)
            time.sleep(0.5)  # until results that are under way have arrived
            self.lost = self.tasks(nanny)
            if self.lost:
                self.pid = nanny.pid
                os.kill(self.pid, signal.SIGKILL)
                return
            os.kill(nanny.pid, signal.SIGCONT)

    def tasks(self, nanny) -> list[str]:
        """Tasks that the scheduler expects of this worker."""
        worker = self.cluster.scheduler.workers.get(nanny.worker_address)
        return [] if worker is None else [str(task.key) for task in list(worker.processing)]


@pytest.mark.parametrize("student", FAMILIES)
def test_a_killed_worker_changes_no_bit(tmp_path, student, cluster, bounded):
    serial = ask(student, tmp_path / "serial", sl.Execution(progress=False))
    killer = Killer(cluster)
    workers = {nanny.pid for nanny in cluster.workers.values()}
    execution = sl.Execution("dask", workers=2, scheduler=cluster.scheduler_address, progress=killer)
    result = ask(student, tmp_path / "dask", execution)
    assert killer.pid in workers
    assert killer.lost
    expected = contents(tmp_path / "serial")
    assert expected["arrays"]
    assert contents(tmp_path / "dask") == expected
    assert comparable(result.to_dict()) == comparable(serial.to_dict())
    with Ledger(tmp_path / "dask" / "ledger.sqlite", read_only=True) as ledger:
        keys = ledger.meta("artifacts").values()
    problems = [TaughtProblem.from_arrays(ArtifactStore(tmp_path / "dask").arrays(key)) for key in keys]
    assert len(problems) == max(1, FAMILIES[student]["cross_test"])
    assert all(problem.encoder is not None for problem in problems)
