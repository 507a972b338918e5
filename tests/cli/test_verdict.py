"""`verdict` at the command line: answers, files, and everything a user can get wrong, each one line and exit code 2."""

import json
import logging

import numpy as np
import polars as pl
import pytest

from softlabel.cli.main import run
from softlabel.cli.terminal import LogHandler
from softlabel.studies import run as run_module
from tests.cli.sheets import write_labels, write_sheet

QUICK = "--width 2 --epochs 2 --seeds 2".split()


def call(data, *words):
    return run(["verdict", str(data), "--label", "sick", "--drop", "patient", *QUICK, *map(str, words)])


def refused(capsys, code: int) -> str:
    caught = capsys.readouterr()
    assert code == 2
    assert caught.out == ""
    last = caught.err.strip().splitlines()[-1]
    assert last.startswith("softlabel: ")
    assert "Traceback" not in caught.err
    return last


def test_one_json_document_with_the_promised_keys(tmp_path, capsys):
    data = write_sheet(tmp_path / "t.csv")
    labels = write_labels(tmp_path / "p.csv", data)
    words = ["verdict", str(data), "--label", "sick", "--teacher", str(labels), "--id", "patient", "--json"]
    assert run([*words, *QUICK, "--out", str(tmp_path / "run")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] in ("soft wins", "hard wins", "no difference", "undecided")
    assert set(document) >= {"verdict", "gap", "arms", "runs", "runs_needed", "report"}
    assert (tmp_path / "run" / "report.html").is_file()
    assert (tmp_path / "run" / "ledger.sqlite").is_file()
    assert run(["report", str(tmp_path / "run")]) == 0


def test_people_get_a_table_and_sentences(tmp_path, capsys):
    data = write_sheet(tmp_path / "t.csv")
    assert call(data, "--teacher", write_labels(tmp_path / "p.csv", data), "--out", tmp_path / "run") == 0
    said = capsys.readouterr().out
    assert "soft − hard" in said
    assert "Report:" in said


def test_unlabeled_rows_come_from_a_file(tmp_path, capsys):
    data = write_sheet(tmp_path / "t.csv", rows=200)
    more = pl.read_csv(write_sheet(tmp_path / "m.csv", seed=3)).drop("sick", "patient").select("height", "age", "blood")
    more.write_csv(tmp_path / "more.csv")
    assert call(data, "--transfer", tmp_path / "more.csv", "--out", tmp_path / "run", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert "transfer" in document["arms"]
    more.drop("age").write_csv(tmp_path / "less.csv")
    code = call(data, "--transfer", tmp_path / "less.csv", "--out", tmp_path / "run2")
    assert "no column 'age'" in refused(capsys, code)


SPOILED = {
    "infinite": ({"age": [float("inf")] + [1.0] * 399}, "infinite"),
    "one class": ({"sick": ["yes"] * 400}, "one class only"),
    "no label": ({"sick": [None, *["yes", "no"] * 199, "yes"]}, "1 missing value"),
    "rare class": ({"sick": ["maybe", *["yes", "no"] * 199, "yes"]}, "class 'maybe' has 1 row,"),
    "numbers for classes": ({"sick": np.linspace(0, 1, 400)}, "does not name classes"),
    "all constant": ({"age": [1.0] * 400, "blood": [1.0] * 400, "height": [2.0] * 400}, "constant"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_sheet_is_refused(tmp_path, capsys, name):
    columns, message = SPOILED[name]
    data = write_sheet(tmp_path / "t.csv", **columns)
    assert message in refused(capsys, call(data, "--out", tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_label_column_with_ten_thousand_values_is_refused(tmp_path, capsys):
    data = write_sheet(tmp_path / "t.csv", rows=25_000, sick=np.arange(25_000) % 10_000)
    assert "10,000 classes" in refused(capsys, call(data))


TEACHERS = {
    "nan": (lambda f: f.with_columns(yes=pl.when(pl.arange(0, pl.len()) == 3).then(None).otherwise(pl.col("yes"))), ""),
    "other classes": (lambda f: f.rename({"yes": "cat", "no": "dog"}).with_columns(bird=pl.lit(0.0)), "columns"),
    "few rows": (lambda f: f.head(100), "rows"),
    "shuffled": (lambda f: f.sample(fraction=1.0, shuffle=True, seed=1).drop("patient"), "shuffl"),
    "negative": (lambda f: f.with_columns(yes=pl.col("yes") + 2, no=pl.col("no") - 2), "every row adds up to 1"),
}


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_that_does_not_fit_is_refused(tmp_path, capsys, name):
    change, message = TEACHERS[name]
    data = write_sheet(tmp_path / "t.csv")
    change(pl.read_csv(write_labels(tmp_path / "p.csv", data))).drop("patient", strict=False).write_csv(
        tmp_path / "q.csv"
    )
    said = refused(capsys, call(data, "--teacher", tmp_path / "q.csv", "--out", tmp_path / "run"))
    assert message in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--teacher", "nowhere.onnx"], "nowhere.onnx"),
        (["--teacher", "wizard"], "wizard"),
        (["--metric", "f1"], "unknown metric"),
        (["--seeds", "1"], "seeds"),
        (["--width", "0"], "width"),
        (["--equivalence", "-1"], "equivalence"),
        (["--confidence", "2"], "confidence"),
        (["--seed", "-4"], "seed"),
        (["--transfer", "nothing.csv"], "nothing.csv"),
        (["--label", "ill"], "no column 'ill'"),
    ],
)
def test_bad_options_are_refused(tmp_path, capsys, words, message):
    data = write_sheet(tmp_path / "t.csv")
    assert message in refused(capsys, call(data, *words, "--out", tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_an_interrupted_run_resumes_without_its_files(tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    data = write_sheet(tmp_path / "t.csv", rows=200)
    labels = write_labels(tmp_path / "p.csv", data)
    words = ["--teacher", labels, "--out", tmp_path / "run"]
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_stages", stop)
        assert call(data, *words) == 130
    assert "what is finished is kept" in capsys.readouterr().err
    data.unlink()
    labels.unlink()
    assert run(["results", "resume", str(tmp_path / "run"), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["runs"] == 2
    assert not any(
        isinstance(each, LogHandler) for each in logging.getLogger("softlabel").handlers
    )  # messages are printed while a command runs, and only then
