"""`reproduce`, `results`, `report` and `cite` as a user meets them."""

import json
import os
import signal
import subprocess
import sys
import time

import polars
import pytest

from softlabel.cli.main import run
from tests.lab.toys import contents

SETTINGS = """
widths = [4, 2]
tuning_seeds = 1
runs = 2
bundle_neurons = 40
[teacher]
width = 16
epochs = 2
[[protocols]]
name = "pgd"
about = "small"
epochs = 2
radii = [20.0]
temperatures = [2.0, 8.0]
soft_learning_rates = [3.0]
hard_learning_rates = [1.0, 3.0]
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    file = tmp_path_factory.mktemp("settings") / "small.toml"
    file.write_text(SETTINGS)
    return ["reproduce", "table1", "--data", "digits", "--settings", str(file), "--executor", "serial"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, command):
    out = tmp_path_factory.mktemp("runs") / "one"
    assert run([*command, "--out", str(out), "--threads", "1", "--json"]) == 0
    return out


def test_the_table_and_the_page_are_named(capsys, command, folder):
    assert run([*command, "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("On a small ball around the initialization (B = 20) ")
    assert "; without a ball " in out.splitlines()[0]
    assert max(map(len, out.splitlines()[1:14])) <= 80  # chart and table fit a terminal
    text = " ".join(out.split())
    assert "gap soft − hard in points" in text
    assert "all digits:" in text
    assert "test accuracy in %, digits, 2 seeds" in text
    assert f"Report: {folder / 'report.html'}" in text


def test_json_alone_is_on_stdout(capsys, command, folder):
    assert run([*command, "--out", str(folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"rows", "settings", "report"} <= set(document)
    assert len(document["rows"]) == 4
    assert document["report"] == str(folder / "report.html")


def test_results_are_listed_shown_and_exported(capsys, folder, tmp_path):
    assert run(["results", "list", str(folder.parent), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert [(entry["study"], entry["failed"]) for entry in listed] == [("table1", 0)]
    assert run(["results", "list", str(folder.parent)]) == 0
    assert run(["results", "show", str(folder)]) == 0
    assert "choose: pgd, all digits, 1 of" in capsys.readouterr().out.replace("\n", " ")
    assert run(["results", "show", str(folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["threads"] == 1
    assert shown["settings"]["runs"] == 2
    for name, read in (("cells.parquet", polars.read_parquet), ("cells.csv", polars.read_csv)):
        assert run(["results", "export", str(folder), "--to", str(tmp_path / name), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        table = read(tmp_path / name)
        assert table.height == said["rows"] == shown["cells"]
        assert {"stage", "arm", "width", "validation", "test"} <= set(table.columns)


def test_report_is_rebuilt_and_citations_follow_the_run(capsys, folder):
    (folder / "report.html").unlink()
    assert run(["report", str(folder)]) == 0
    assert (folder / "report.html").exists()
    capsys.readouterr()
    assert run(["cite", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "2412.09579" in text
    assert "rahbar" not in text
    assert run(["cite", "--json"]) == 0
    assert any("rahbar" in entry for entry in json.loads(capsys.readouterr().out)["bibtex"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["reproduce", "table2"],
            "unknown study 'table2': did you mean 'table1'? there are ",
        ),
        (["reproduce", "table1", "--preset", "slow"], "unknown preset 'slow'"),
        (["reproduce", "table1", "--data", "mnits"], "mnits"),
        (["reproduce", "table1", "--settings", "nowhere.toml"], "there is no file 'nowhere.toml'"),
        (["reproduce", "table1", "--data", "digits", "--executor", "cluster"], "unknown executor 'cluster'"),
        (["results", "show", "nowhere"], "'nowhere' is not a run directory"),
        (["results", "list", "nowhere"], "there is no directory 'nowhere'"),
        (["report", "nowhere"], "'nowhere' is not a run directory"),
        (["cite", "nowhere"], "'nowhere' is not a run directory"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "runs"])


def test_other_settings_in_the_same_folder_and_other_endings(capsys, command, folder, tmp_path):
    before = contents(folder)
    assert run([*command, "--out", str(folder), "--seed", "5"]) == 2
    assert "other settings (seed = 0, now 5)" in capsys.readouterr().err
    assert contents(folder) == before
    assert run(["results", "export", str(folder), "--to", str(tmp_path / "cells.xls")]) == 2
    assert "must end in .parquet or .csv" in capsys.readouterr().err


def test_an_interrupt_ends_with_130_and_the_same_command_goes_on(command, folder, tmp_path):
    out = tmp_path / "run"
    call = [
        sys.executable,
        "-c",
        "from softlabel.cli import main; main()",
        *command,
        "--out",
        str(out),
        "--threads",
        "1",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if contents(out)["bundles"]:
                break
        except Exception:  # the ledger is not there yet, or being written
            pass
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("it had finished before the interrupt came")
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "softlabel: interrupted"
    assert "what is finished is kept" in errors
    assert subprocess.run([*call, "--json"], capture_output=True, env=environment).returncode == 0
    assert contents(out) == contents(folder)


def test_a_pipe_is_no_settings_file(tmp_path, capsys):
    os.mkfifo(tmp_path / "s.toml")
    assert run(["reproduce", "table1", "--settings", str(tmp_path / "s.toml"), "--out", str(tmp_path / "run")]) == 2
    assert "is a named pipe, and only regular files are read" in capsys.readouterr().err


def test_all_runs_every_study_in_a_directory_of_its_own(capsys, tmp_path, monkeypatch, folder):
    """With one finished study in place of all of them."""
    import softlabel.studies.reproduce as module
    from softlabel.studies.rebuild import read_run

    asked = []

    def one(name, preset, **options):
        if name == "all":
            return original(name, preset, **options)
        asked.append((name, preset, options["out"]))
        return read_run(folder)

    original = module.reproduce
    monkeypatch.setattr(module, "reproduce", one)
    out = tmp_path / "everything"
    assert run(["reproduce", "all", "--out", str(out)]) == 0
    assert [name for name, _, _ in asked] == list(module.PAPER_STUDIES)
    assert {place for _, _, place in asked} == {out / name for name in module.PAPER_STUDIES}
    text = capsys.readouterr().out
    assert text.startswith("table1: On a small ball")
    assert f"Reports: {out}" in text
    assert run(["reproduce", "all", "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["studies"]) == set(module.PAPER_STUDIES)
    assert document["studies"]["figure1"]["report"]
