"""`plan` at the command line."""

import json
from pathlib import Path

import pytest

from softlabel.cli.main import run
from tests.cli.sheets import write_labels, write_sheet
from tests.cli.test_verdict import refused

QUICK = "--widths 2,4 --seeds 3 --epochs 2 --confirm 0 --no-rival".split()


def call(data, *words):
    return run(["plan", str(data), "--label", "sick", "--drop", "patient", *map(str, words)])


def test_one_json_document_with_the_promised_keys(tmp_path, capsys):
    data = write_sheet(tmp_path / "t.csv")
    labels = write_labels(tmp_path / "p.csv", data)
    words = ["--teacher", labels, "--accuracy", 0.6, "--out", tmp_path / "run", *QUICK, "--json"]
    assert call(data, *words) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) >= {"target", "arms", "curve", "theory", "exported"}
    assert document["target"] == 0.6
    for path in document["exported"]:
        assert (tmp_path / "run") in Path(path).parents
    assert (tmp_path / "run" / "report.html").is_file()
    assert call(data, *words[:-1]) == 0  # what is done is kept, and shown to people
    assert "test accuracy by number of neurons" in capsys.readouterr().out


def test_an_exported_student_predicts(tmp_path, capsys):
    data = write_sheet(tmp_path / "t.csv")
    labels = write_labels(tmp_path / "p.csv", data)
    assert (
        call(data, "--teacher", labels, "--accuracy", 0.6, "--out", tmp_path / "run", *QUICK, "--epochs", 30, "--json")
        == 0
    )
    document = json.loads(capsys.readouterr().out)
    student = next(path for path in document["exported"] if path.endswith(".onnx"))
    assert run(["predict", student, str(data), "--label", "sick", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == 400
    assert answer["accuracy"] > 0.6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--accuracy", "1.2"], "at most 1"),
        (["--accuracy", "95"], "write 0.95"),
        (["--accuracy", "-0.1"], "above 0"),
        (["--accuracy", "0.3"], "most frequent class"),
        (["--accuracy", "nan"], "--accuracy must be above 0 and at most 1, got nan"),
        (["--accuracy", "0.9", "--widths", "4"], "two different"),
        (["--accuracy", "0.9", "--widths", "few"], "--widths must be integers separated by commas"),
        (["--accuracy", "0.9", "--student", "mlp"], "mlp"),
        (["--accuracy", "0.9", "--share", "1.5"], "share must lie"),
        (["--accuracy", "0.9", "--confirm", "10"], "cannot confirm"),
        (["--accuracy", "0.9", "--size", "8"], "does not take --size: leave it out"),
        (["--accuracy", "0.9", "--student", "vgg"], "student 'vgg' needs images"),
        ([], "--accuracy"),
    ],
)
def test_bad_options_are_refused(tmp_path, capsys, words, message):
    data = write_sheet(tmp_path / "t.csv")
    assert message in refused(capsys, call(data, *words, "--out", tmp_path / "run"))
    assert not (tmp_path / "run").exists()
