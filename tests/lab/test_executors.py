"""Processes and Dask: same bits as serial, dead workers, and what a bundle that kills them leads to."""

import os
import signal
import sys
import threading
import time

import pytest

from softlabel.errors import SoftlabelError, UnavailableError
from softlabel.lab import Ledger, run_study
from softlabel.lab.executors import Local, Serial
from softlabel.lab.executors.dask import Dask
from tests.lab.toys import contents, toy

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth") / "run"
    run_study(toy(), folder, Serial(), threads=1)
    return contents(folder)


def same(folder, truth) -> None:
    found = contents(folder)
    assert found["outcomes"] == truth["outcomes"]
    assert found["arrays"] == truth["arrays"]
    assert found["bundles"] == truth["bundles"]


def test_processes_give_the_same_bits(tmp_path, truth):
    run_study(toy(), tmp_path / "run", Local(2), threads=1)
    same(tmp_path / "run", truth)


def test_a_worker_that_dies_twice_is_replaced(tmp_path):
    trouble = tmp_path / "trouble"
    trouble.mkdir()
    (trouble / "first-3").write_text("kill kill")
    run_study(toy(trouble=str(trouble)), tmp_path / "run", Local(2), threads=1)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        attempts = {row["name"]: row["attempts"] for row in ledger.bundles()}
    assert attempts["first 1"] == 3
    assert attempts["first 0"] == 1


def test_a_bundle_that_kills_its_worker_three_times_is_given_up_and_the_rest_goes_on(tmp_path):
    trouble = tmp_path / "trouble"
    trouble.mkdir()
    (trouble / "first-3").write_text("kill kill kill kill")
    study = toy(trouble=str(trouble))
    with pytest.raises(
        SoftlabelError, match=r"1 of 4 bundles .* its worker died 3 times, the last one killed by signal 9"
    ):
        run_study(study, tmp_path / "run", Local(2), threads=1)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert sorted(ledger.status().values()) == ["done", "done", "done", "failed"]
    (trouble / "first-3").unlink()
    run_study(study, tmp_path / "run", Local(2), threads=1)


def test_no_worker_outlives_an_interrupt(tmp_path):
    def interrupt(at) -> None:
        if at.done == 1:
            raise KeyboardInterrupt

    import multiprocessing

    with pytest.raises(KeyboardInterrupt):
        run_study(toy(pause=0.2), tmp_path / "run", Local(2), threads=1, watch=interrupt)
    assert multiprocessing.active_children() == []


@pytest.fixture
def scheduler():
    """A cluster of two workers on loopback, each a process of its own that may be killed."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster


def test_a_dask_cluster_gives_the_same_bits(tmp_path, truth, scheduler):
    run_study(toy(), tmp_path / "run", Dask(2, scheduler.scheduler_address), threads=1)
    same(tmp_path / "run", truth)


def test_a_dask_worker_killed_mid_run_costs_nothing(tmp_path, scheduler):
    study = toy(pause=0.3)
    run_study(toy(pause=0.0), tmp_path / "whole", Serial(), threads=1)
    victim = next(iter(scheduler.workers.values())).pid
    killer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
    killer.start()
    run_study(study, tmp_path / "run", Dask(2, scheduler.scheduler_address), threads=1)
    killer.join()
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_a_dask_cluster_of_its_own(tmp_path, truth):
    run_study(toy(), tmp_path / "run", Dask(2), threads=1)
    same(tmp_path / "run", truth)


def test_no_scheduler_there(monkeypatch, tmp_path):
    monkeypatch.setattr("softlabel.lab.executors.dask.PATIENCE", "1s")
    with pytest.raises(UnavailableError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        run_study(toy(), tmp_path / "run", Dask(1, "tcp://127.0.0.1:9"), threads=1)


def test_workers_end_when_their_driver_is_killed(tmp_path):
    import subprocess

    code = (
        "import sys, pathlib; from tests.lab.toys import toy; from softlabel.lab import run_study; "
        "from softlabel.lab.executors import Local; "
        "run_study(toy(pause=60), pathlib.Path(sys.argv[1]), Local(2), threads=1)"
    )
    driver = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "run")])
    children: list[int] = []
    deadline = time.monotonic() + 60
    while len(children) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
        task = f"/proc/{driver.pid}/task/{driver.pid}/children"
        children = [int(pid) for pid in open(task).read().split() if _is_worker(int(pid))]  # noqa: PTH123, SIM115
    assert len(children) == 2
    time.sleep(1)
    driver.kill()
    driver.wait()
    deadline = time.monotonic() + 20
    while any(_alive(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_alive(pid) for pid in children)


def _is_worker(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline") as file:  # noqa: PTH123
            return "spawn_main" in file.read()
    except OSError:
        return False


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().split(")")[1].split()[0] != "Z"
    except OSError:
        return False
