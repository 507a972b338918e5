import json

import numpy as np
import polars as pl
import pytest

import softlabel
from softlabel.cli.main import run


def write_table(path, rows=60, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 2)).round(6)
    sick = np.where(np.arange(rows) % 2 == 0, "yes", "no")
    frame = pl.DataFrame({"age": x[:, 0], "weight": x[:, 1], "sick": sick})
    frame.write_csv(path)
    return frame


def test_a_run_in_words_and_in_json(tmp_path, capsys):
    folder = str(tmp_path / "run")
    assert run(["train", "digits", "--width", "8", "--learning-rate", "0.1", "--seeds", "3", "--out", folder]) == 0
    capsys.readouterr()
    assert run(["doctor", folder]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Examined: run '{folder}' of train, 3 students")
    assert "MISTAKE: learning rate too small or training too short\n  where     " in shown
    assert "\n  do        use a larger learning rate" in shown
    assert shown.endswith("1 mistake, no hints.\n")
    assert max(map(len, shown.splitlines()[2:])) <= 120
    assert run(["doctor", folder, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["examined", "findings"]
    (finding,) = answer["findings"]
    assert list(finding) == ["name", "severity", "where", "evidence", "remedy"]
    assert finding["where"] == {"run": folder, "arm": "hard", "width": 8, "learning rate": 0.1, "seeds": 3}


def test_files_worst_first(tmp_path, capsys):
    frame = write_table(tmp_path / "train.csv")
    test = pl.concat([frame[:2], frame[:1]]).with_columns(pl.lit(1.0).alias("one"))
    frame.with_columns(pl.lit(1.0).alias("one")).write_csv(tmp_path / "train.csv")
    test.write_csv(tmp_path / "test.csv")
    np.save(tmp_path / "p.npy", np.tile([0.9, 0.1], (60, 1)))
    words = ["doctor", str(tmp_path / "train.csv"), str(tmp_path / "test.csv"), str(tmp_path / "p.npy")]
    assert run([*words, "--label", "sick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(one["name"], one["severity"]) for one in found] == [
        ("collapsed labels", "mistake"),
        ("rows in two splits", "mistake"),
        ("rows twice", "mistake"),
        ("constant columns", "hint"),
    ]
    assert run([*words, "--label", "sick"]) == 0
    shown = capsys.readouterr().out
    places = [
        shown.index(name) for name in ("collapsed labels", "rows in two splits", "rows twice", "constant columns")
    ]
    assert places == sorted(places)
    assert shown.endswith("3 mistakes, 1 hint.\n")


def test_nothing_found_is_said_in_words(tmp_path, capsys):
    write_table(tmp_path / "train.csv")
    write_table(tmp_path / "test.csv", seed=2)
    words = ["doctor", str(tmp_path / "train.csv"), str(tmp_path / "test.csv"), "--label", "sick"]
    assert run(words) == 0
    assert capsys.readouterr().out.endswith("No known mistake was found.\n")
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nothing", "there is no file or directory 'nothing'"),
        (".", "is not a run directory"),
        ("deep", "'deep' is a run of distill, which has no ledger.sqlite: its scores are in its file 'results.json'"),
        ("t.csv", "needs a label column: pass --label"),
        ("t.csv --label sik", "did you mean 'sick'"),
        ("t.csv --label sick --id nr", "no data file has the column 'nr': change --id"),
        ("t.csv gone.npy --label sick", "there is no file or directory 'gone.npy'"),
        ("", "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv")
    (tmp_path / "deep" / "checkpoints").mkdir(parents=True)
    assert run(["doctor", *words.split()]) == 2
    error = capsys.readouterr().err
    assert error.startswith("softlabel: ")
    assert message in error
    assert error.count("\n") == 1


def test_help_has_examples(capsys):
    assert run(["doctor", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "softlabel doctor train.csv test.csv" in shown
    assert "--id" in shown


def test_python_says_the_same(tmp_path):
    write_table(tmp_path / "train.csv")
    found = softlabel.doctor(tmp_path / "train.csv", label="sick")
    assert found.findings == ()
    assert found.mistakes == ()
    assert found.to_dict()["examined"] == list(found.examined)


def test_remedies_name_options_and_columns_are_listed(tmp_path, capsys):
    frame = write_table(tmp_path / "train.csv", rows=120)
    working = frame["sick"] == "yes"
    hours = [30 + k % 9 if sick else 0 for k, sick in enumerate(working)]
    towns = ["Rome", "", "Oslo", "Bern", "Rome"] * 24
    frame.with_columns(pl.Series("hours", hours), pl.Series("town", towns)).write_csv(tmp_path / "train.csv")
    words = ["doctor", str(tmp_path / "train.csv"), "--label", "sick"]
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert "age, weight, hours (number)" in shown
    assert "town (3 categories, missing values by themselves)" in shown
    assert "--drop 'hours'" in shown
    assert "`" not in shown
    assert run([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["examined", "findings", "columns"]
    assert answer["columns"][3] == {"column": "town", "kind": "category", "features": 4,
                                    "done": "3 categories, missing values by themselves"}  # fmt: skip
    assert run([*words, "--drop", "hours", "--drop", "town"]) == 0
    assert capsys.readouterr().out.endswith("No known mistake was found.\n")


@pytest.mark.parametrize(
    ("words", "kind"),
    [("--numeric code", "number"), ("--categorical code", "category"), ("--group code", None), ("--time code", None)],
)
def test_roles_of_columns(words, kind, tmp_path, capsys):
    frame = write_table(tmp_path / "train.csv")
    code = np.random.default_rng(0).integers(0, 12, frame.height)
    frame.with_columns(pl.Series("code", code)).write_csv(tmp_path / "train.csv")
    assert run(["doctor", str(tmp_path / "train.csv"), "--label", "sick", *words.split(), "--json"]) == 0
    kinds = {one["column"]: one["kind"] for one in json.loads(capsys.readouterr().out)["columns"]}
    assert kinds.get("code") == kind
