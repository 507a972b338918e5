"""Processes and Dask: same bits as serial, dead workers, and what a bundle that kills them leads to."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing import active_children

import numpy as np
import pytest

from softlabel.errors import InputError, SoftlabelError, UnavailableError
from softlabel.lab import ArtifactStore, Ledger, make_executor, open_run, run_stages
from softlabel.lab.executors import Local, Serial
from softlabel.lab.executors.dask import Dask
from tests.lab.toys import contents, run_study, toy

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def run(run_dir, executor, *, progress=None, padding=0, **settings) -> None:
    """Run a study whose cells read an artifact; `padding` makes it larger."""
    study = toy(**settings)
    with open_run(run_dir, study, threads=1) as ledger:
        sums = np.random.default_rng(17).standard_normal(30)
        study.artifacts = {"data": ArtifactStore(run_dir).put({"sums": sums, "padding": np.zeros(padding)})}
        run_stages(study, ledger, executor, progress)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """The ledger of an undisturbed run."""
    run_dir = tmp_path_factory.mktemp("truth") / "run"
    run(run_dir, Serial())
    return contents(run_dir)


def first_stage(ledger):
    """What belongs to the first stage of a ledger."""
    keys = {key for key, stage, _, _ in ledger["bundles"] if stage == "first"}
    return {table: [row for row in rows if row[0] in keys] for table, rows in ledger.items()}


def same(run_dir, truth) -> None:
    ledger = contents(run_dir)
    assert ledger["outcomes"] == truth["outcomes"]
    assert ledger["arrays"] == truth["arrays"]
    assert ledger["bundles"] == truth["bundles"]


def test_results_depend_on_the_artifact(tmp_path, truth):
    """Without this the tests below could not show that workers read it."""
    run_study(toy(stages=1), tmp_path / "run", Serial(), threads=1)
    pairs = list(zip(contents(tmp_path / "run")["arrays"], first_stage(truth)["arrays"], strict=True))
    assert all(plain[:3] == other[:3] for plain, other in pairs)
    assert not any(plain[5] == other[5] for plain, other in pairs)


def test_processes_give_the_same_bits_and_are_kept_from_stage_to_stage(tmp_path, truth):
    workers = set()
    run(tmp_path / "run", Local(2), progress=lambda _: workers.update(child.pid for child in active_children()))
    same(tmp_path / "run", truth)
    assert len(workers) == 2
    assert active_children() == []


def test_a_worker_that_dies_twice_is_replaced_and_costs_nothing(tmp_path, truth):
    trouble = tmp_path / "trouble"
    trouble.mkdir()
    (trouble / "first-3").write_text("kill kill")
    run(tmp_path / "run", Local(2), trouble=str(trouble), stages=1)
    same(tmp_path / "run", first_stage(truth))
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        attempts = {row["name"]: row["attempts"] for row in ledger.bundles()}
    assert attempts["first 1"] == 3
    assert attempts["first 0"] == 1


def test_a_bundle_that_kills_its_worker_three_times_is_given_up_and_the_rest_goes_on(tmp_path):
    trouble = tmp_path / "trouble"
    trouble.mkdir()
    (trouble / "first-3").write_text("kill kill kill kill")
    study = toy(trouble=str(trouble), stages=1)
    with pytest.raises(
        SoftlabelError, match=r"1 of 4 bundles .* its worker died 3 times, the last one killed by signal 9"
    ):
        run_study(study, tmp_path / "run", Local(1), threads=1)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert sorted(ledger.status().values()) == ["done", "done", "done", "failed"]
    (trouble / "first-3").unlink()
    run_study(study, tmp_path / "run", Serial(), threads=1)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert sorted(ledger.status().values()) == ["done", "done", "done", "done"]


def test_no_worker_outlives_an_interrupt(tmp_path):
    def interrupt(at) -> None:
        if at.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(toy(pause=0.2), tmp_path / "run", Local(2), threads=1, progress=interrupt)
    assert active_children() == []


@pytest.fixture(scope="module")
def scheduler():
    """A cluster of two workers on loopback, each a process of its own that may be killed."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster


def test_a_dask_cluster_gives_the_same_bits(tmp_path, truth, scheduler):
    run(tmp_path / "run", Dask(2, scheduler.scheduler_address))
    same(tmp_path / "run", truth)
    victim = next(iter(scheduler.workers.values())).pid

    def kill(at) -> None:
        if at.stage == "first" and at.done == 1:
            os.kill(victim, signal.SIGKILL)

    run(tmp_path / "killed", Dask(2, scheduler.scheduler_address), pause=0.3, progress=kill)
    same(tmp_path / "killed", truth)


def test_tasks_that_the_client_drops_are_submitted_again(tmp_path, truth, scheduler):
    from distributed import Future

    executor = Dask(2, scheduler.scheduler_address)
    dropped = []

    def drop(at) -> None:
        if at.stage == "first" and at.done == 1:
            client = executor._client
            dropped.extend(key for key, state in client.futures.items() if state.status == "pending")
            client.cancel([Future(key, client) for key in dropped])

    run(tmp_path / "run", executor, pause=0.3, progress=drop)
    assert dropped
    same(tmp_path / "run", truth)


def test_a_dask_cluster_of_its_own(tmp_path, truth):
    """With an artifact of a size at which Dask would warn."""
    run(tmp_path / "run", Dask(2), padding=1_500_000)
    same(tmp_path / "run", truth)


@pytest.mark.parametrize(
    "address",
    ["", "nowhere", "127.0.0.1", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:0", "tcp://h:70000",
     "tcp://a b:1", "http://127.0.0.1:8786", "tcp://127.0.0.1:8786/path", "tcp://127.0.0.1:٣"],
)  # fmt: skip
def test_what_is_no_address_is_refused_before_anything_is_written(tmp_path, address):
    with pytest.raises(InputError, match="is not an address: write it as tcp://HOST:PORT"):
        make_executor("dask", 1, address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1:9"])
def test_no_scheduler_there(tmp_path, caplog, address):
    with pytest.raises(UnavailableError, match=rf"no Dask scheduler answers at '{address}' \(Connection refused\)"):
        run_study(toy(), tmp_path / "run", Dask(1, address), threads=1)
    assert caplog.text == ""


def test_a_scheduler_that_says_nothing_is_not_waited_for(tmp_path, monkeypatch, caplog, capfd):
    """It accepts the connection, as any stopped process does, and never answers."""
    monkeypatch.setattr("softlabel.lab.executors.dask.PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(
            UnavailableError, match=r"answers at .* \(no answer in 0.5 s\); check the scheduler's address"
        ):
            run_study(toy(), tmp_path / "run", Dask(1, address), threads=1)
    assert caplog.text == ""
    assert capfd.readouterr().err == ""


def test_a_scheduler_that_is_killed_costs_nothing_that_is_finished(tmp_path, truth, caplog, capfd):
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
         "--no-dashboard"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert scheduler.stderr is not None
    lines = iter(scheduler.stderr.readline, "")
    address = next(match[0] for line in lines if (match := re.search(r"tcp://127\.0\.0\.1:\d+", line)))
    drain = threading.Thread(target=scheduler.stderr.read)
    drain.start()
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny",
         "--no-dashboard"],
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip

    def kill(at) -> None:
        if at.done == 2:
            scheduler.kill()

    try:
        with pytest.raises(UnavailableError, match=r"is lost \(.*\); finished bundles are kept: run the same command"):
            run(tmp_path / "run", Dask(1, address), pause=0.2, progress=kill)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait(30)
        drain.join()
        scheduler.stderr.close()
    assert caplog.text == ""
    assert "Traceback" not in capfd.readouterr().err
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert ledger.finished() == 2
        assert ledger.failures() == []
    run(tmp_path / "run", Serial(), pause=0.2)
    assert contents(tmp_path / "run")["arrays"] == truth["arrays"]


def test_workers_end_when_their_driver_is_killed(tmp_path):
    code = (
        "import sys, pathlib; from tests.lab.toys import run_study, toy; "
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
    deadline = time.monotonic() + 60
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
