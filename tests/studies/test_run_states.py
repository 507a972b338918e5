"""What is read of directories of runs, without writing anything to them."""

import dataclasses
import json
import shutil
import sqlite3

import pytest
from filelock import FileLock

import softlabel as sl
from softlabel.lab.run_dir import LOCK
from softlabel.studies import run_states
from softlabel.studies import runs as documents
from tests.studies.students.quick import comparable, verdict
from tests.studies.students.toy import Toy

TOY = Toy(rows=200, sharp=3.0)
SETTINGS = {"width": 2, "epochs": 1, "batch_size": 64, "seeds": 3}


def contents(directory):
    """Everything below a directory: files with their bytes and times."""
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in [directory, *directory.rglob("*")]
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("states") / "verdict"
    return verdict(TOY.inputs, TOY.labels, TOY.truth, out=run_dir, **SETTINGS), run_dir


@pytest.fixture
def run_dir(finished, tmp_path):
    shutil.copytree(finished[1], tmp_path / "runs" / "verdict")
    return tmp_path / "runs" / "verdict"


@pytest.fixture
def stopped(tmp_path):
    """A run that was interrupted after its first bundle of students."""

    def stop(at):
        if at.stage != "teacher" and at.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(TOY.inputs, TOY.labels, TOY.truth, out=tmp_path / "stopped", progress=stop, **SETTINGS)
    return tmp_path / "stopped"


def test_a_finished_run(finished, run_dir):
    before = contents(run_dir)
    state = sl.inspect_run(run_dir)
    assert (state.status, state.study, state.problem, state.failed, state.damaged) == (
        "finished",
        "verdict",
        None,
        0,
        0,
    )
    assert state.done == len(state.bundles) == sum(bundle.status == "done" for bundle in state.bundles)
    assert state.cells == sum(bundle.cells for bundle in state.bundles)
    assert state.report == run_dir / "report.html"
    assert {path.suffix for path in state.figures} == {".png"}
    assert state.data is not None
    assert sl.run_progress(run_dir).share == 1
    result = sl.read_run(run_dir, rewrite=False)
    assert comparable(result.to_dict()) == comparable(finished[0].to_dict())
    assert (result.report, result.run_dir) == (run_dir / "report.html", run_dir)
    assert sl.run_document(run_dir)["verdict"] == finished[0].verdict
    assert contents(run_dir) == before


def test_the_document_of_a_state_is_that_of_the_command_line(run_dir):
    assert sl.inspect_run(run_dir).to_dict() == documents.run_state(run_dir) | {"status": "finished"}


def test_a_known_state_is_returned_until_something_changes(run_dir):
    state = sl.inspect_run(run_dir)
    assert sl.inspect_run(run_dir, known=state) is state
    with sqlite3.connect(run_dir / "ledger.sqlite") as database:
        database.execute("UPDATE outcomes SET metrics = '{}'")
    changed = sl.inspect_run(run_dir, known=state)
    assert (changed.status, changed.done, changed.damaged) == ("damaged", 0, state.done)
    assert "differ from what was written" in (changed.problem or "")
    (run_dir / "report.html").unlink()
    assert sl.inspect_run(run_dir, known=changed).report is None


def test_a_run_at_work_is_seen_by_its_lock_and_left_alone(run_dir):
    with FileLock(run_dir / LOCK):
        before = contents(run_dir)
        assert sl.inspect_run(run_dir).status == "running"
        assert contents(run_dir) == before
    assert sl.inspect_run(run_dir).status == "finished"


def test_an_interrupted_run(stopped):
    state = sl.inspect_run(stopped)
    assert (state.status, state.done) == ("unfinished", 1)
    progress = sl.run_progress(stopped)
    assert (progress.stage, progress.done, progress.bundles) == ("choose", 1, 3)
    assert 0 < progress.share < 1
    assert progress.at_most
    assert progress.seconds_left is None
    assert progress.cells == state.cells
    with pytest.raises(sl.SoftlabelError, match="is not finished"):
        sl.read_run(stopped, rewrite=False)
    with pytest.raises(sl.InputError, match="its run is not finished"):
        sl.run_document(stopped)


def test_progress_rises_bundle_by_bundle(tmp_path):
    """What a watcher sees is what the driver reports, and the share never falls."""
    seen = []

    def watch(at):
        if at.stage != "teacher":
            seen.append((at, sl.run_progress(tmp_path / "run")))

    verdict(TOY.inputs, TOY.labels, TOY.truth, out=tmp_path / "run", progress=watch, **SETTINGS)
    for at, watched in seen[:-1]:
        if at.done < at.bundles:
            assert (watched.stage, watched.done, watched.bundles) == (at.stage, at.done, at.bundles)
    shares = [watched.share for _, watched in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"x" * 5000])
def test_a_ledger_that_is_none(run_dir, content):
    (run_dir / "ledger.sqlite").write_bytes(content)
    state = sl.inspect_run(run_dir)
    assert (state.status, state.done, state.has_ledger) == ("unreadable", None, False)
    assert str(run_dir) in (state.problem or "")
    with pytest.raises(sl.SoftlabelError):
        sl.run_progress(run_dir)


def test_a_ledger_with_a_log_is_read_without_files_beside_it(run_dir):
    """SQLite itself would create two files there, even where it opens the ledger read-only."""
    database = sqlite3.connect(run_dir / "ledger.sqlite")
    database.execute("PRAGMA journal_mode = wal")
    database.execute("DELETE FROM meta WHERE name = 'command'")
    copies = {name: (run_dir / name).read_bytes() for name in ("ledger.sqlite", "ledger.sqlite-wal")}
    database.close()
    for name, content in copies.items():
        (run_dir / name).write_bytes(content)
    before = contents(run_dir)
    assert sl.inspect_run(run_dir).status == "finished"
    assert sl.read_run(run_dir, rewrite=False).answer
    assert contents(run_dir) == before


def test_runs_without_a_ledger(run_dir, tmp_path):
    sl.train(TOY.inputs, TOY.labels, width=2, seeds=1, epochs=1, out=tmp_path / "train")
    state = sl.inspect_run(tmp_path / "train")
    assert (state.study, state.status, state.done) == ("train", "finished", None)
    assert "run of train, which has no ledger" in (state.problem or "")
    (run_dir / "ledger.sqlite").unlink()
    copy = sl.inspect_run(run_dir)
    assert (copy.study, copy.status, copy.done) == ("verdict", "finished", None)
    assert "a copy of its documents" in (copy.problem or "")
    (run_dir / "results.json").unlink()
    assert sl.inspect_run(run_dir).status == "unfinished"
    (run_dir / "checkpoints").mkdir()
    assert sl.inspect_run(run_dir).study == "distill"
    (run_dir / "settings.toml").write_text("study = [")
    assert sl.inspect_run(run_dir).settings is None


def test_what_is_no_run(tmp_path):
    (tmp_path / "settings.toml").write_text("a = 1")
    with pytest.raises(sl.InputError, match="is not a run directory"):
        sl.inspect_run(tmp_path)
    with pytest.raises(sl.InputError, match="is not a run directory"):
        sl.inspect_run(tmp_path / "nothing")


def test_runs_are_searched_below_a_directory_without_following_links(run_dir, tmp_path):
    runs = run_dir.parent
    shutil.copytree(run_dir, runs / "group" / "inner")
    shutil.copytree(runs / "group" / "inner", runs / "verdict" / "artifacts" / "hidden")
    (runs / "empty").mkdir()
    outside = tmp_path / "outside"
    shutil.copytree(run_dir, outside)
    (runs / "linked").symlink_to(outside)
    (runs / "group" / "loop").symlink_to(runs)
    (runs / "borrowed").mkdir()
    (runs / "borrowed" / "ledger.sqlite").symlink_to(outside / "ledger.sqlite")
    assert sl.find_runs(runs) == [runs / "group" / "inner", runs / "verdict"]
    assert sl.find_runs(runs / "verdict") == [runs / "verdict"]
    assert len(sl.find_runs(runs, limit=1)) == 1
    with pytest.raises(sl.InputError, match="is not a run directory"):
        sl.inspect_run(runs / "borrowed")
    with pytest.raises(sl.InputError, match="there is no directory"):
        sl.find_runs(tmp_path / "nothing")


def test_the_search_for_runs_is_bounded(run_dir, monkeypatch):
    runs = run_dir.parent
    for k in range(20):
        (runs / f"empty-{k}").mkdir()
    assert sl.find_runs(runs) == [run_dir]
    monkeypatch.setattr(run_states, "MOST_DIRECTORIES", 10)
    assert sl.find_runs(runs) == []
    shutil.copytree(run_dir, runs.joinpath(*map(str, range(run_states.DEEPEST))))
    assert len(sl.find_runs(runs / "0" / "1")) == 1
    monkeypatch.setattr(run_states, "DEEPEST", 3)
    assert sl.find_runs(runs / "0" / "1") == []


def test_files_of_a_run_that_are_links_are_not_its_own(run_dir, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"answer": "secret"}')
    for name in ("results.json", "report.html", "figures/answer.png"):
        (run_dir / name).unlink()
        (run_dir / name).symlink_to(secret)
    state = sl.inspect_run(run_dir)
    assert state.report is None
    assert "answer.png" not in {path.name for path in state.figures}
    with pytest.raises(sl.InputError, match=r"contains no results\.json"):
        sl.run_document(run_dir)


@pytest.mark.parametrize("text", ["[1]", "{", "\xff", "[" * 100_000])
def test_documents_that_are_none(run_dir, text):
    (run_dir / "results.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(sl.InputError, match=r"results\.json"):
        sl.run_document(run_dir)


def test_cells_are_exported_also_by_names_as_text(run_dir, tmp_path):
    before = contents(run_dir)
    written = sl.export_cells(str(run_dir), f"{tmp_path}/cells.csv")
    assert written["rows"] == sl.inspect_run(run_dir).cells
    assert contents(run_dir) == before


def test_states_are_values():
    bundle = sl.RunBundle("choose", "soft labels", "done", None, attempts=1, seconds=2.5, cells=12)
    assert json.dumps(dataclasses.asdict(bundle))
    assert bundle == dataclasses.replace(bundle)
