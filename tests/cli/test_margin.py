import json
import re

import numpy as np
import pytest
from matplotlib.image import imread

from softlabel.cli.main import run
from softlabel.teachers import KernelLimitTeacher

KEYS = {
    "dataset",
    "n",
    "d",
    "gamma_lower",
    "gamma_upper",
    "confidence",
    "gamma_kernel",
    "gamma_teacher_lower",
    "seconds",
}
QUICK = ["--rows", "40", "--rtol", "0.2", "--work-limit", "1e10"]


def answer(capsys, *arguments: str) -> dict:
    assert run(["margin", *arguments, "--json"]) == 0
    out = capsys.readouterr().out

    def no_constant(name: str):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(out, parse_constant=no_constant)


def write_table(path, x: np.ndarray, labels) -> str:
    head = [*(f"c{k}" for k in range(x.shape[1])), "kind"]
    lines = [",".join(head)] + [
        ",".join([*map(repr, row.tolist()), str(label)]) for row, label in zip(x, labels, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def three_kinds(tmp_path) -> str:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 4))
    return write_table(tmp_path / "kinds.csv", x, ["a/b", "b", "c"] * 10)


def test_json_has_the_keys_that_scripts_rely_on(capsys):
    document = answer(capsys, "digits", *QUICK)
    assert set(document) >= KEYS
    assert (document["dataset"], document["n"], document["d"], document["confidence"]) == (
        "digits",
        40,
        64,
        pytest.approx(0.95),
    )
    assert 0 < document["gamma_floor"] <= document["gamma_lower"] <= document["gamma_upper"] <= document["gamma_kernel"]
    assert document["gamma_teacher_lower"] <= document["gamma_lower"]
    assert document["gamma_kernel_lower"] <= document["gamma_kernel"]
    assert document["relative_width"] == pytest.approx(1 - document["gamma_lower"] / document["gamma_upper"])
    assert document["relative_width"] <= 0.2
    assert document["zero"] is None
    assert "Student's t" in document["asymptotic"]
    assert document["limited_by"] is None
    assert "classes" not in document
    assert "init_margins" not in document


def test_rows_and_seed_decide_what_is_looked_at(capsys):
    one, repeated, other = (answer(capsys, "digits", *QUICK, "--seed", seed) for seed in "112")
    assert one["gamma_kernel"] == repeated["gamma_kernel"]
    assert one["gamma_lower"] == repeated["gamma_lower"]
    assert one["gamma_kernel"] != other["gamma_kernel"]


def test_several_classes_one_against_the_rest(capsys, three_kinds, tmp_path):
    words = [three_kinds, "--label", "kind", "--several-classes", "--scale", "unit", "--rtol", "0.2"]
    document = answer(capsys, *words, "--out", str(tmp_path / "run"))
    assert [row["class"] for row in document["classes"]] == ["a/b", "b", "c"]
    assert all(set(row) >= KEYS for row in document["classes"])
    assert set(document) >= KEYS
    assert document["gamma_upper"] == min(row["gamma_upper"] for row in document["classes"])
    assert document["seconds"] == pytest.approx(sum(row["seconds"] for row in document["classes"]))
    saved = sorted(path.name for path in (tmp_path / "run").glob("*.safetensors"))
    assert saved == ["teacher-a_b.safetensors", "teacher-b.safetensors", "teacher-c.safetensors"]


def test_four_rows_are_enough(capsys, tmp_path):
    table = write_table(tmp_path / "t.csv", np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]), "abab")
    assert answer(capsys, table, "--label", "kind", "--scale", "max")["zero"]["rows"] == [0, 1]


def test_the_table_names_every_class(capsys, three_kinds):
    assert run(["margin", three_kinds, "--label", "kind", "--several-classes", "--scale", "max", "--rtol", "0.3"]) == 0
    out = capsys.readouterr().out
    assert all(f"{name} / rest" in out for name in ("a/b", "b", "c"))
    assert "Asymptotic: " in out


def test_saves_the_teacher_and_draws_initializations(capsys, tmp_path):
    out = tmp_path / "run"
    document = answer(capsys, "digits", *QUICK, "--kappa", "2.5", "--out", str(out), "--init-widths", "512,64")
    teacher = KernelLimitTeacher.load(out / "teacher.safetensors")
    assert (teacher.kappa, teacher.margin_lower) == (2.5, document["gamma_teacher_lower"])
    assert teacher.points.shape[1] == 64
    inits = document["init_margins"]
    assert [(row["width"], row["seed"]) for row in inits] == [(m, seed) for m in (64, 512) for seed in (0, 1, 2)]
    assert all(0 <= row["gamma"] < 0.5 for row in inits)
    means = [np.mean([row["gamma"] for row in inits if row["width"] == m]) for m in (64, 512)]
    assert means[0] < means[1]
    pixels = imread(out / "figures" / "init-margins.png")[..., :3]
    assert min(pixels.shape[:2]) > 400
    assert 0.01 < (pixels.min(axis=2) < 0.9).mean() < 0.9


def test_a_readable_result(capsys):
    assert run(["margin", "digits", *QUICK]) == 0
    shown = capsys.readouterr()
    assert re.search(r"0\.\d+ … 0\.\d+", shown.out)
    assert "margin of digits, 40 points of 64 inputs, confidence 95%" in re.sub(r"\s+", " ", shown.out)
    assert "γ_1 ≥ γ* the margin of the kernel, and floor a lower bound" in re.sub(r"\s+", " ", shown.out)
    assert "using 40 of 1,797 rows, drawn by seed 0" in re.sub(r"\s+", " ", shown.err)


def test_a_margin_of_0_is_explained(capsys, tmp_path):
    x = np.random.default_rng(0).standard_normal((10, 3))
    x[7] = 2 * x[2]
    table = write_table(tmp_path / "t.csv", x, ["yes", "no"] * 5)
    words = [table, "--label", "kind", "--scale", "max"]
    document = answer(capsys, *words, "--out", str(tmp_path / "run"))
    assert (document["gamma_lower"], document["gamma_upper"], document["gamma_teacher_lower"]) == (0, 0, 0)
    assert document["limited_by"] is None
    assert document["zero"] == {"rows": [2, 7], "reason": "rows 2 and 7 are parallel and labeled differently"}
    assert not list(tmp_path.glob("run/*.safetensors"))
    assert run(["margin", *words]) == 0
    assert "γ* = 0: rows 2 and 7 are parallel and labeled differently." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("digits --time-limit 0.1", "--time-limit must lie between 1 and 1e+09, got 0.1"),
        ("digits --rtol 0", "--rtol must lie in (0, 1), got 0.0"),
        ("digits --confidence 1", "confidence must lie in [0.5, 1)"),
        ("digits --kappa 0", "kappa must be positive"),
        ("digits --part test", "unknown part 'test'"),
        ("digits --init-widths 64", "set --out to a directory"),
        ("digits --init-widths a,b --out run", "integers separated by commas, e.g. 64,256, got 'a,b'"),
        ("digits --init-widths 63 --out run", "--init-widths must be positive even integers, got 63"),
        ("digits --init-widths 64 --several-classes --out run", "leave out --several-classes"),
        ("digits --several-classes --task label>4", "omit --task"),
        ("digitz", "did you mean 'digits'"),
        ("nowhere.csv --label kind", "nowhere.csv"),
    ],
)
def test_wrong_input_ends_with_2_and_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["margin", *words.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = [line for line in shown.err.splitlines() if not line.startswith("digits")]
    assert message in re.sub(r"\s+", " ", " ".join(lines))
    assert "Traceback" not in shown.err
