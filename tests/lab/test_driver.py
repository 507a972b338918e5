"""A study from beginning to end: what is there is not done again, and every way of running it gives the same bits."""

import json
import sqlite3
import tomllib

import pytest

from softlabel.errors import InputError, SoftlabelError
from softlabel.lab import Ledger, Progress, claim_run_dir, cores, make_executor, read_results
from softlabel.lab.executors import Serial
from tests.faults.disks import files_up_to
from tests.lab.toys import Toy, ToyStudy, contents, run_study, toy


class Counting(Serial):
    """Counts the tasks that it finishes, and is interrupted after `most` of them."""

    def __init__(self, most: int | None = None) -> None:
        self.done, self.most = 0, most

    def run(self, tasks, store):
        for finished in super().run(tasks, store):
            yield finished
            self.done += 1
            if self.done == self.most:
                raise KeyboardInterrupt


def run(run_dir, study=None, executor=None, **options):
    return run_study(study or toy(), run_dir, executor or Serial(), **{"threads": 1, **options})


def test_stages_build_on_each_other(tmp_path):
    results = run(tmp_path)
    assert len(results["first"]) == len(results["second"]) == 12
    assert results["third"] == []
    assert all(result.metrics["threads"] == 1 for _, result in results["second"])
    settings = tomllib.loads((tmp_path / "settings.toml").read_text())
    assert settings["study"] == "toy"
    assert settings["cells"] == 12
    assert "torch" in json.loads((tmp_path / "environment.json").read_text())["packages"]


@pytest.mark.parametrize("after", [1, 3, 4, 5, 7])
def test_an_interrupted_study_goes_on_and_equals_an_uninterrupted_one(tmp_path, after):
    run(tmp_path / "uninterrupted")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", executor=Counting(after))
    rest = Counting()
    run(tmp_path / "cut", executor=rest)
    assert rest.done == 8 - after
    assert contents(tmp_path / "cut") == contents(tmp_path / "uninterrupted")


def test_a_finished_study_is_only_read(tmp_path):
    run(tmp_path)
    again = Counting()
    results = run(tmp_path, executor=again)
    assert again.done == 0
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        read = read_results(toy(), ledger)
    assert [result.metrics for _, result in read["second"]] == [result.metrics for _, result in results["second"]]


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
    with pytest.raises(InputError, match="2 finished bundles computed with `threads` 1; with 2 sums would round"):
        run(tmp_path, threads=2)
    results = run(tmp_path, threads=None, default_threads=2)
    assert {result.metrics["threads"] for _, result in results["second"]} == {1}


@pytest.mark.parametrize("threads", [100_000, -3, "many", None, 7])
def test_a_wrong_thread_count_is_replaced_while_nothing_is_finished(tmp_path, threads):
    """As an earlier version kept it: the next start must not die of it."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, progress=interrupt)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_meta(threads=threads)
    results = run(tmp_path, threads=1)
    assert {result.metrics["threads"] for _, result in results["second"]} == {1}


def test_an_impossible_thread_count_of_finished_bundles_is_for_the_user_to_settle(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, executor=Counting(2))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_meta(threads=100_000)
    with pytest.raises(InputError, match="`threads` 100000, which is impossible: give the `threads` to go on with"):
        run(tmp_path, threads=None)
    run(tmp_path, threads=1)


@pytest.mark.parametrize("threads", [0, -1, 100_000])
def test_thread_counts_that_no_machine_has_are_refused_before_anything_is_written(tmp_path, threads):
    with pytest.raises(InputError, match=f"threads must be a whole number from 1 to 1,024, got {threads}"):
        run(tmp_path / "run", threads=threads)
    assert not (tmp_path / "run").exists()


class Game(ToyStudy):
    name = "game"


def interrupt(at: Progress) -> None:
    raise KeyboardInterrupt


def test_directories_of_others_are_refused_and_left_as_they_are(tmp_path):
    run(tmp_path / "toy")
    before = contents(tmp_path / "toy")
    with pytest.raises(InputError, match=r"other settings \(cells = 12, now 6\); choose another `out`"):
        run(tmp_path / "toy", toy(cells=6))
    with pytest.raises(InputError, match="a run of 'toy', not of 'game'"):
        run(tmp_path / "toy", Game(Toy()))
    assert contents(tmp_path / "toy") == before
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(InputError, match=r"contains other files \(cat.png\) and no run"):
        run(tmp_path / "photos")
    assert sorted(path.name for path in (tmp_path / "photos").iterdir()) == ["cat.png"]


def test_what_a_killed_process_left_half_written_is_no_stranger(tmp_path):
    (tmp_path / ".settings.toml-0123456789ab.part").write_text("stud")
    run(tmp_path)


def test_a_run_that_goes_on_with_another_processor_says_so(tmp_path, caplog, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, executor=Counting(2))
    monkeypatch.setattr("softlabel.lab.environment._processor", lambda: "another one")
    run(tmp_path)
    assert caplog.text.count("began with another environment (processor)") == 1


def test_a_finished_run_may_be_opened_on_another_processor(tmp_path, caplog, monkeypatch):
    run(tmp_path)
    monkeypatch.setattr("softlabel.lab.environment._processor", lambda: "another one")
    run(tmp_path)
    assert "another environment" not in caplog.text


def test_a_run_that_lost_its_ledger_begins_anew_and_says_so(tmp_path, caplog):
    run(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "results.json").write_text("{}")
    (tmp_path / "ledger.sqlite").unlink()
    with pytest.raises(InputError, match=r"other settings \(cells = 12, now 6\)"):
        run(tmp_path, toy(cells=6))
    run(tmp_path)
    assert "has lost its ledger: it begins anew" in caplog.text
    assert contents(tmp_path) == before


def test_a_ledger_that_is_removed_under_the_run_is_not_called_safe(tmp_path):
    def remove(at: Progress) -> None:
        if at.done == 2:
            (tmp_path / "ledger.sqlite").unlink()

    with pytest.raises(SoftlabelError, match="was moved or removed while its run was working, and its content is lost"):
        run(tmp_path, progress=remove)


def test_damaged_bundles_are_computed_again_and_nothing_else_is(tmp_path, caplog):
    run(tmp_path)
    before = contents(tmp_path)
    database = sqlite3.connect(tmp_path / "ledger.sqlite")
    database.execute("UPDATE arrays SET data = zeroblob(length(data)) WHERE bundle IN (SELECT key FROM bundles "
                     "WHERE name IN ('first 1', 'second 0'))")  # fmt: skip
    database.commit()
    database.close()
    with (
        Ledger(tmp_path / "ledger.sqlite", read_only=True) as ledger,
        pytest.raises(
            InputError, match=r"1 of its bundles are not what was written \('first: first 1'\); rerun the original"
        ),
    ):
        read_results(toy(), ledger)
    again = Counting()
    run(tmp_path, executor=again)
    assert again.done == 2
    assert caplog.text.count("is damaged: it is computed again") == 2
    assert contents(tmp_path) == before


def test_an_interrupt_says_what_is_kept_only_once_there_is_something(tmp_path):
    with pytest.raises(KeyboardInterrupt) as raised:
        run(tmp_path / "run", executor=Counting(2))
    assert raised.value.__notes__ == [
        f"what is finished is kept in '{tmp_path / 'run'}'; the same command goes on from there"
    ]


def test_a_disk_that_fills_up_beside_the_ledger_is_a_sentence(tmp_path):
    with files_up_to(100), pytest.raises(SoftlabelError, match=r"cannot be written: File too large|could not be used"):
        run(tmp_path / "run")
    run(tmp_path / "run")


def test_run_directories_are_locked_by_one_driver_and_refused_to_others(tmp_path):
    with claim_run_dir(tmp_path / "run", {"a": 1, "b": None}):
        with pytest.raises(InputError, match="in use by another driver"), claim_run_dir(tmp_path / "run", {"a": 1}):
            pass
        (tmp_path / "run" / "results.json").write_text("{}")
    with claim_run_dir(tmp_path / "run", {"a": 1}):
        pass
    with pytest.raises(InputError, match=r"other settings \(a = 1, now 2\)"), claim_run_dir(tmp_path / "run", {"a": 2}):
        pass
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    with pytest.raises(InputError, match="contains other files"), claim_run_dir(tmp_path / "photos", {"a": 1}):
        pass
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.png"]


def test_a_full_disk_does_not_lock_a_run_out_of_its_own_directory(tmp_path):
    with (
        files_up_to(4),
        pytest.raises(SoftlabelError, match=r"File too large.*what is finished is kept"),
        claim_run_dir(tmp_path / "run", {"name": "long enough"}),
    ):
        pass
    with claim_run_dir(tmp_path / "run", {"name": "long enough"}):
        pass


def test_a_second_driver_is_refused(tmp_path):
    class Second(Serial):
        def run(self, tasks, store):
            with pytest.raises(InputError, match="in use by another driver"):
                run(tmp_path)
            return super().run(tasks, store)

    run(tmp_path, executor=Second())
    run(tmp_path)  # and the directory is free again


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
    with pytest.raises(SoftlabelError, match=r"2 of 4 bundles of stage 'first' failed.*student 3 diverged"):
        run(tmp_path / "run", study)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert sorted(ledger.status().values()) == ["done", "done", "failed", "failed"]
        reasons = [reason for _, _, reason in ledger.failures()]
    assert reasons[0] == "student 3 diverged"
    assert reasons[1].startswith("ZeroDivisionError: nothing to divide (toys.py:")
    run(tmp_path / "run", study)  # nothing goes wrong this time
    run(tmp_path / "uninterrupted")
    assert contents(tmp_path / "run")["arrays"] == contents(tmp_path / "uninterrupted")["arrays"]


def test_progress_counts_up_and_ends_at_all(tmp_path):
    seen: list[Progress] = []
    run(tmp_path, progress=seen.append)
    first = [at for at in seen if at.stage == "first"]
    assert [at.done for at in first] == [0, 1, 2, 3, 4]
    assert first[0].seconds_left is None
    assert first[-1].seconds_left == 0
    assert first[-1].cells == 12


@pytest.mark.parametrize(
    ("name", "workers", "scheduler", "message"),
    [
        ("seriall", 1, None, "unknown executor 'seriall': did you mean 'serial'?"),
        ("local", 0, None, "workers must be a whole number from 1 to .* got 0"),
        ("local", 100_000, None, "workers must be a whole number from 1 to .* got 100000"),
        ("local", 2, "tcp://127.0.0.1:1", "`scheduler` is for the executor 'dask', not for 'local'"),
    ],
)
def test_bad_executors(name, workers, scheduler, message):
    with pytest.raises(InputError, match=message):
        make_executor(name, workers, scheduler)


def test_there_is_a_core():
    assert cores() >= 1
