"""Ledgers that are damaged or hostile, met by every verb that reads a run: one line, and nothing is written."""

import json
import shutil
import sqlite3

import pytest

from softlabel.cli.main import run
from softlabel.lab import Ledger
from softlabel.lab.executors import Serial
from softlabel.studies.reproduce import reproduce, study_settings
from softlabel.studies.run import Execution
from softlabel.studies.table1 import Table1Study
from tests.lab.test_ledger import FOREIGN, WRONG_TYPES, change, downgrade
from tests.lab.toys import run_study

SETTINGS = {
    "data": "digits", "widths": (2,), "leave_out": ((),), "tuning_seeds": 1, "runs": 2, "bundle_neurons": 40,
    "teacher": {"width": 4, "epochs": 1},
    "protocols": [{"name": "pgd", "about": "small", "epochs": 1, "radii": [20.0], "temperatures": [2.0],
                   "soft_learning_rates": [3.0], "hard_learning_rates": [1.0]}],
}  # fmt: skip
SERIAL = Execution(threads=1, progress=False)
READ = (["results", "show"], ["report"], ["cite"], ["doctor"], ["results", "export"])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run_dir = tmp_path_factory.mktemp("runs") / "one"
    reproduce("table1", settings=SETTINGS, out=run_dir, execution=SERIAL)
    return run_dir


@pytest.fixture
def run_dir(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def listing(run_dir):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run_dir.rglob("*") if path.is_file()}


def read(run_dir, verb, tmp_path, capsys):
    more = ["--to", str(tmp_path / "cells.csv")] if verb[-1] == "export" else []
    code = run([*verb, str(run_dir), *more])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("name", [*FOREIGN, *WRONG_TYPES])
def test_every_read_verb_refuses_a_foreign_ledger_in_one_line(run_dir, tmp_path, capsys, name):
    change(run_dir / "ledger.sqlite", *(FOREIGN | WRONG_TYPES)[name])
    before = listing(run_dir)
    codes = set()
    for verb in READ:
        code, errors = read(run_dir, verb, tmp_path, capsys)
        assert "unexpected" not in errors
        assert "Traceback" not in errors
        assert code in (0, 2)
        assert len([line for line in errors.splitlines() if line.startswith("softlabel:")]) == (code == 2)
        codes.add(code)
    assert 2 in codes
    assert listing(run_dir) == before


@pytest.mark.parametrize("name", [
    "UPDATE meta SET value = '[]' WHERE name = 'study'",
    "UPDATE meta SET value = '\"verdict\"' WHERE name = 'study'",
    "UPDATE meta SET value = '[]' WHERE name = 'settings'",
    "UPDATE meta SET value = '{}' WHERE name = 'settings'",
    "UPDATE meta SET value = '3' WHERE name = 'environment'",
    "DELETE FROM meta",
    "UPDATE outcomes SET metrics = '{}'",
    "UPDATE outcomes SET metrics = '{\"validation\": null, \"test\": \"high\"}'",
    "UPDATE arrays SET dtype = '|S1', shape = '[' || length(data) || ']'",
    "DELETE FROM arrays",
    "UPDATE arrays SET name = name || 'x'",
])  # fmt: skip
def test_a_ledger_without_checksums_whose_content_does_not_fit(run_dir, tmp_path, capsys, name):
    downgrade(run_dir / "ledger.sqlite")
    change(run_dir / "ledger.sqlite", name)
    for verb in READ:
        code, errors = read(run_dir, verb, tmp_path, capsys)
        assert "unexpected" not in errors
        assert code in (0, 1, 2)
        assert len([line for line in errors.splitlines() if line.startswith("softlabel:")]) == (code != 0)


def test_flipped_bytes_never_change_a_report(run_dir, capsys):
    """A byte of a kept array, as a failing disk changes it: the report is refused, the next run repairs it."""
    path = run_dir / "ledger.sqlite"
    database = sqlite3.connect(path)
    data = database.execute("SELECT data FROM arrays ORDER BY rowid LIMIT 1").fetchone()[0]
    database.close()
    content = bytearray(path.read_bytes())
    content[content.index(data[:64]) + 5] ^= 64
    path.write_bytes(content)
    before = (run_dir / "results.json").read_bytes()
    assert run(["report", str(run_dir)]) == 2
    assert "are not what was written ('teach: " in capsys.readouterr().err
    reproduce("table1", settings=SETTINGS, out=run_dir, execution=Execution(progress=False))
    assert (run_dir / "results.json").read_bytes() == before


def test_one_bad_ledger_does_not_hide_the_others(run_dir, tmp_path, capsys):
    for name, content in (("broken", b"x" * 5000), ("empty", b""), ("cut", None)):
        (tmp_path / name).mkdir()
        intact = (run_dir / "ledger.sqlite").read_bytes()
        (tmp_path / name / "ledger.sqlite").write_bytes(intact[: len(intact) // 2] if content is None else content)
    assert run(["results", "list", str(tmp_path), "--json"]) == 0
    runs = {entry["run"]: entry for entry in json.loads(capsys.readouterr().out)["runs"]}
    assert runs[str(run_dir)]["study"] == "table1"
    assert runs[str(run_dir)]["problem"] is None
    for name in ("broken", "empty", "cut"):
        assert runs[str(tmp_path / name)]["study"] is None
        assert "ledger" in runs[str(tmp_path / name)]["problem"]
    assert run(["results", "list", str(tmp_path)]) == 0
    assert capsys.readouterr().err.count("warning: ") == 3
    assert (tmp_path / "empty" / "ledger.sqlite").stat().st_size == 0


def test_a_ledger_without_checksums_says_so(run_dir, capsys):
    downgrade(run_dir / "ledger.sqlite")
    assert run(["results", "show", str(run_dir)]) == 0
    assert "version 1, without checksums" in capsys.readouterr().err


@pytest.mark.parametrize("line", [
    "widths = [5]", "widths = []", "widths = [0]", "widths = [4, 4]", "task = 'label>99'", "task = 'label'",
    "leave_out = []", "leave_out = [[1], [1]]", "leave_out = [[0,1,2,3,4]]", "leave_out = [[77]]", "runs = 1",
    "seed = -1", "[teacher]\nwidth = 0", "[teacher]\nepochs = 0", "[teacher]\ninit = 'cold'",
    "[teacher]\nlearning_rate = 0", "[teacher]\nwidth = 7\ninit = 'symmetric'", "protocols = []", "widths = 4",
    "confidence = nan", "bundle_neurons = 0",
])  # fmt: skip
def test_settings_that_cannot_work_are_refused_before_any_work(tmp_path, capsys, line):
    (tmp_path / "s.toml").write_text(line)
    arguments = ["--data", "digits", "--settings", str(tmp_path / "s.toml"), "--out", str(tmp_path / "run")]
    assert run(["reproduce", "table1", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", [
    ["--threads", "100000"], ["--workers", "100000"], ["--threads", "17", "--executor", "serial"],
    ["--executor", "dask", "--scheduler", "nowhere"], ["--executor", "dask", "--scheduler", "tcp://127.0.0.1"],
])  # fmt: skip
def test_counts_and_addresses_that_cannot_be_leave_no_directory(tmp_path, capsys, monkeypatch, option):
    monkeypatch.setattr("softlabel.lab.executors.cores", lambda: 2)
    assert run(["reproduce", "table1", "--data", "digits", *option, "--out", str(tmp_path / "run")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_run_whose_thread_count_was_poisoned_goes_on(finished, tmp_path):
    """As a version without a bound kept it, before anything was finished."""

    class Impatient(Serial):
        def run(self, tasks, store):
            raise KeyboardInterrupt

    study = Table1Study(study_settings("table1", "quick", SETTINGS))
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "run", Impatient(), threads=1)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        ledger.set_meta(threads=100_000)
    reproduce("table1", settings=SETTINGS, out=tmp_path / "run", execution=SERIAL)
    assert (tmp_path / "run" / "results.json").read_bytes() == (finished / "results.json").read_bytes()
