"""A study from beginning to end: what is there is not done again, and every way of running it gives the same bits."""

import json
import tomllib

import pytest

from softlabel.errors import InputError, SoftlabelError
from softlabel.lab import Ledger, Progress, cores, make_executor, read_results, run_study
from softlabel.lab.executors import Serial
from tests.lab.toys import contents, toy


class Counting(Serial):
    """Counts the tasks it is given, and stops after so many."""

    def __init__(self, most: int | None = None) -> None:
        self.done, self.most = 0, most

    def run(self, tasks):
        for finished in super().run(tasks):
            yield finished
            self.done += 1
            if self.done == self.most:
                raise KeyboardInterrupt


def run(folder, study=None, executor=None, **options):
    return run_study(study or toy(), folder, executor or Serial(), **{"threads": 1, **options})


def test_stages_build_on_each_other(tmp_path):
    results = run(tmp_path)
    assert len(results["first"]) == len(results["second"]) == 12
    assert results["third"] == []
    assert all(outcome.metrics["threads"] == 1 for _, outcome in results["second"])
    settings = tomllib.loads((tmp_path / "settings.toml").read_text())
    assert settings["study"] == "toy"
    assert settings["cells"] == 12
    assert "torch" in json.loads((tmp_path / "environment.json").read_text())["packages"]


@pytest.mark.parametrize("after", [1, 3, 4, 5, 7])
def test_an_interrupted_study_goes_on_and_equals_an_uninterrupted_one(tmp_path, after):
    run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", executor=Counting(after))
    rest = Counting()
    run(tmp_path / "cut", executor=rest)
    assert rest.done == 8 - after
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_a_finished_study_is_only_read(tmp_path):
    run(tmp_path)
    again = Counting()
    results = run(tmp_path, executor=again)
    assert again.done == 0
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        read = read_results(toy(), ledger)
    assert [o.metrics for _, o in read["second"]] == [o.metrics for _, o in results["second"]]


def test_reading_an_unfinished_study_says_what_is_missing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, executor=Counting(2))
    with (
        Ledger(tmp_path / "ledger.sqlite") as ledger,
        pytest.raises(SoftlabelError, match="2 of 4 bundles of stage 'first' are missing"),
    ):
        read_results(toy(), ledger)


def test_a_resumed_run_keeps_its_thread_count(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, executor=Counting(2), threads=1)
    results = run(tmp_path, threads=2)
    assert {outcome.metrics["threads"] for _, outcome in results["second"]} == {1}


def test_folders_of_others_are_refused_and_left_as_they_are(tmp_path):
    run(tmp_path / "toy")
    before = contents(tmp_path / "toy")
    with pytest.raises(InputError, match=r"other settings \(cells = 12, now 6\); choose another --out"):
        run(tmp_path / "toy", toy(cells=6))
    study = toy()
    other = type(study)("game", study.settings, study.stages)
    with pytest.raises(InputError, match="a run of 'toy', not of 'game'"):
        run(tmp_path / "toy", other)
    assert contents(tmp_path / "toy") == before
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(InputError, match=r"holds other things \(cat.png\) and no ledger"):
        run(tmp_path / "photos")
    assert sorted(path.name for path in (tmp_path / "photos").iterdir()) in (["cat.png"], [".driver.lock", "cat.png"])


def test_a_second_driver_is_refused(tmp_path):
    class Second(Serial):
        def run(self, tasks):
            with pytest.raises(InputError, match="in use by another driver"):
                run(tmp_path)
            return super().run(tasks)

    run(tmp_path, executor=Second())
    run(tmp_path)  # and the folder is free again


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(SoftlabelError, match="cannot be written"):
        run(tmp_path / "file" / "run")


def test_errors_of_the_work_are_recorded_and_the_rest_goes_on(tmp_path):
    trouble = tmp_path / "trouble"
    trouble.mkdir()
    (trouble / "first-3").write_text("diverge")
    (trouble / "first-9").write_text("crash")
    study = toy(trouble=str(trouble))
    with pytest.raises(SoftlabelError, match=r"2 of 4 bundles of stage 'first' failed.*left the finite numbers"):
        run(tmp_path / "run", study)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert sorted(ledger.status().values()) == ["done", "done", "failed", "failed"]
        reasons = [reason for _, _, reason in ledger.failures()]
    assert reasons[0] == "student 3 left the finite numbers"
    assert reasons[1].startswith("ZeroDivisionError: nothing to divide (toys.py:")
    run(tmp_path / "run", study)  # nothing goes wrong this time
    run(tmp_path / "whole")
    assert contents(tmp_path / "run")["arrays"] == contents(tmp_path / "whole")["arrays"]


def test_progress_counts_up_and_ends_at_all(tmp_path):
    seen: list[Progress] = []
    run(tmp_path, watch=seen.append)
    first = [at for at in seen if at.stage == "first"]
    assert [at.done for at in first] == [0, 1, 2, 3, 4]
    assert first[0].seconds_left is None
    assert first[-1].seconds_left == 0
    assert first[-1].cells == 12


@pytest.mark.parametrize(
    ("name", "workers", "scheduler", "message"),
    [
        ("seriall", 1, None, "unknown executor 'seriall': did you mean 'serial'?"),
        ("local", 0, None, "workers must be a whole number ≥ 1, got 0"),
        ("local", 2, "tcp://127.0.0.1:1", "goes with --executor dask"),
    ],
)
def test_bad_executors(name, workers, scheduler, message):
    with pytest.raises(InputError, match=message):
        make_executor(name, workers, scheduler)


def test_there_is_a_core():
    assert cores() >= 1
