import json

import numpy as np
import pytest

from softlabel.cli.main import run
from softlabel.networks.student_model import StudentModel


def write_table(path, rows=60, **columns):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, 2))
    table = {"a": x[:, 0], "b": x[:, 1], "sick": np.where(x[:, 0] > 0, "yes", "no"), **columns}
    lines = [",".join(table)] + [",".join(str(value[i]) for value in table.values()) for i in range(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_trains_saves_and_answers_in_json(tmp_path, capsys):
    words = "train digits --width 4 --width 6 --seeds 2 --radius 50 --learning-rate 10 --epochs 10 --json".split()
    code = run([*words, "--out", str(tmp_path / "run")])
    assert code == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(row["width"], row["seed"]) for row in answer["students"]] == [(4, 0), (4, 1), (6, 0), (6, 1)]
    assert all(0 < row["test_error"] < 0.45 for row in answer["students"])
    model = StudentModel.load(tmp_path / "run" / "students" / "width4-seed1.safetensors")
    assert (model.network.width, model.network.inputs, model.network.activation) == (4, 64, "relu")


def test_its_students_predict_the_rows_of_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv", id=range(60))
    assert run("train t.csv --label sick --drop id --seeds 1 --epochs 20 --out run --json".split()) == 0
    capsys.readouterr()
    assert run("predict run/students/width8-seed0.safetensors t.csv --label sick --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["classes"] == ["no", "yes"]
    assert answer["accuracy"] > 0.8
    assert answer["probabilities_are"] == "probabilities"


def test_a_directory_of_other_settings_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv")
    call = "train t.csv --label sick --seeds 2 --epochs 1 --out run".split()
    assert run([*call, "--optimizer", "sgd"]) == 2
    assert not (tmp_path / "run").exists(), "wrong settings claim no directory"
    assert run(call) == 0
    records = (tmp_path / "run" / "records.json").read_bytes()
    students = sorted(path.name for path in (tmp_path / "run" / "students").iterdir())
    assert run([*call, "--width", "4"]) == 2
    assert "contains a run with other settings (width); choose another --out" in capsys.readouterr().err
    assert run(call) == 0
    assert (tmp_path / "run" / "records.json").read_bytes() == records, "the same settings repeat the training"
    assert sorted(path.name for path in (tmp_path / "run" / "students").iterdir()) == students


@pytest.mark.parametrize("words", ["cite run", "report run", "results show run"])
def test_its_directory_is_explained_where_a_ledger_is_needed(words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv")
    assert run("train t.csv --label sick --seeds 1 --epochs 1 --out run".split()) == 0
    assert run(words.split()) == 2
    assert "'run' is a run of train, which has no ledger.sqlite: `softlabel doctor`" in capsys.readouterr().err


def test_students_that_learned_nothing_are_warned_about(capsys):
    assert run("train digits --width 4 --seeds 1 --epochs 1 --learning-rate 1e-6".split()) == 0
    error = capsys.readouterr().err
    assert "warning: students of width 4 misclassify" in error
    assert "train for more epochs" in error


def test_courses_of_students_are_kept_beside_them(tmp_path, capsys):
    words = "train digits --width 4 --width 6 --seeds 2 --radius 50 --learning-rate 10 --epochs 10".split()
    assert run([*words, "--json"]) == 0
    bare = json.loads(capsys.readouterr().out)["students"]
    assert run([*words, "--out", str(tmp_path / "run"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["students"]
    assert answer == bare, "to be watched changes nothing"
    kept = json.loads((tmp_path / "run" / "records.json").read_text())
    assert (kept["verb"], kept["failed"], kept["teacher_error"]) == ("train", None, None)
    assert kept["chance_error"] == pytest.approx(0.49, abs=0.02)
    for row, student in zip(answer, kept["students"], strict=True):
        assert (student["settings"]["width"], student["settings"]["seed"]) == (row["width"], row["seed"])
        records = student["records"]
        assert records["step"][0] == 0
        assert records["step"][-1] == 10 * 9  # 1,078 rows in batches of 128
        assert 12 <= len(records["step"]) <= 14
        assert {len(values) for values in records.values()} == {len(records["step"])}
        assert records["error"][-1] == pytest.approx(row["train_error"], abs=1e-3)
        assert student["evaluation_error"] == row["test_error"]
        assert 0 <= student["projected"] <= 1


def test_a_training_that_diverged_is_kept_with_its_reason(tmp_path, capsys):
    words = f"train digits --width 4 --seeds 1 --learning-rate 1e38 --epochs 1 --out {tmp_path / 'run'}"
    assert run(words.split()) == 1
    assert "diverged at step 0" in capsys.readouterr().err
    kept = json.loads((tmp_path / "run" / "records.json").read_text())
    assert "diverged at step 0" in kept["failed"]
    assert kept["students"][0]["settings"]["learning_rate"] == 1e38


def test_a_table_with_soft_labels(tmp_path, capsys):
    table = write_table(tmp_path / "t.csv")
    np.save(tmp_path / "p.npy", np.full(60, 0.6))
    call = ["train", str(table), "--label", "sick", "--soft-labels", str(tmp_path / "p.npy"), "--seeds", "1"]
    assert run([*call, "--epochs", "30"]) == 0
    assert "soft labels, 30 epochs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--width", "5"], "width must be even"),
        (["--radius", "0"], "radius must be a positive number, got 0.0"),
        (["--radius=-1"], "radius must be a positive number, got -1.0"),
        (["--temperature", "0"], "temperature must be a positive number"),
        (["--init", "symetric"], "did you mean 'symmetric'"),
        (["--label", "sik"], "'sick'"),
        (["--soft-labels", "out.npy"], "soft labels must lie in [0, 1], got 1.5"),
        (["--soft-labels", "unsummed.npy"], "must sum to 1"),
        (["--soft-labels", "pair.npy"], "must sum to 1, got [0.3, 0.3] in row 1"),
        (
            ["--soft-labels", "short.npy"],
            "must have one row for each of the 60 rows of the data",
        ),
        (["--soft-labels", "none.npy"], "there is no file 'none.npy'"),
        (["--soft-labels", "cut.npy"], "is not a readable NPY file"),
        (["--epochs", "0"], "--epochs must be a whole number from 1"),
        (["--batch-size", "0"], "--batch-size must be"),
        (["--optimizer", "sgd"], "unknown optimizer 'sgd'"),
    ],
)
def test_bad_settings_exit_with_2_and_one_line(extra, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv")
    np.save("out.npy", np.full(60, 1.5))
    np.save("unsummed.npy", np.full((60, 3), 0.2))
    np.save("pair.npy", np.full((60, 2), 0.3))
    np.save("short.npy", np.full(59, 0.5))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "out.npy").read_bytes()[:150])
    label = [] if "--label" in extra else ["--label", "sick"]
    assert run(["train", "t.csv", *label, "--epochs", "1", *extra]) == 2
    error = capsys.readouterr().err
    assert message in error.splitlines()[-1]
    assert error.splitlines()[-1].startswith("softlabel: ")


@pytest.mark.parametrize(
    ("columns", "extra", "message"),
    [
        ({"c": ["1"] * 59 + ["inf"]}, [], "c"),
        ({"sick": ["yes"] * 60}, [], "one class only"),
        ({"a": ["0"] * 30 + ["1"] * 30, "b": ["0"] * 30 + ["1"] * 30}, ["--scale", "unit"], "norm"),
    ],
)
def test_bad_tables_exit_with_2_and_one_line(columns, extra, message, tmp_path, capsys):
    table = write_table(tmp_path / "t.csv", **columns)
    assert run(["train", str(table), "--label", "sick", *extra]) == 2
    error = capsys.readouterr().err
    (line,) = (line for line in error.splitlines() if line.startswith("softlabel: "))
    assert message in line


def test_unknown_data_set_names_the_nearest(capsys):
    assert run(["train", "minst"]) == 2
    assert "did you mean 'mnist'" in capsys.readouterr().err


def test_a_file_with_a_pattern_for_a_name_is_itself(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, count in (("data[1].csv", 240), ("data1.csv", 99)):
        rows = "\n".join(f"{a:.3f},{b:.3f},{place % 2}" for place, (a, b) in enumerate(rng.normal(size=(count, 2))))
        (tmp_path / name).write_text(f"a,b,y\n{rows}\n")
    assert run(["train", "data[1].csv", "--label", "y", "--epochs", "1", "--seeds", "1", "--out", "run", "--json"]) == 0
    assert (
        "data[1].csv: 2 inputs, classes 0, 1; rows: 144 train, 48 validation, 48 test"
        in json.loads(capsys.readouterr().out)["task"]
    )


def test_soft_labels_of_other_rows_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sides = rng.integers(0, 2, 300)
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(f"{value},{side}" for value, side in enumerate(sides)) + "\n")
    np.save("right.npy", np.where(sides > 0, 0.9, 0.1))
    np.save("shuffled.npy", rng.permutation(np.where(sides > 0, 0.9, 0.1)))
    np.save("swapped.npy", np.where(sides > 0, 0.1, 0.9))
    call = ["train", "t.csv", "--label", "y", "--epochs", "1", "--seeds", "1", "--soft-labels"]
    assert run([*call, "right.npy"]) == 0
    for name, message in (("shuffled", "in another order"), ("swapped", "columns in the order of the classes")):
        assert run([*call, f"{name}.npy"]) == 2
        assert message in capsys.readouterr().err.splitlines()[-1]
