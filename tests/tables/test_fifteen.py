"""Fifteen tables as people have them, from the first check to a student that runs where there is onnxruntime alone.

The budgets are tiny: what matters is that no table is refused, and that all forms of a student agree.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tables import LARGE, SMALL, Table, use_onnx
from benchmarks.tables.sources import MissingPackage, read_rows, write_table

import softlabel as sl
from softlabel.cli.main import run
from softlabel.report import drawing
from softlabel.studies.students import theory

ROWS, MANY_ROWS = 1000, 5000
FORBIDDEN = "softlabel,torch,sklearn,scipy,polars,pandas,onnx,skl2onnx,safetensors,pydantic,matplotlib"
VERDICTS = {"soft wins", "no difference", "hard wins", "undecided"}
COMPLETE = {"penguins-raw", "orders", "subscribers"}  # with a teacher that is trained here, and figures in files
WITHOUT_SIGNAL = {"star", "arrests"}  # no student beats the most frequent class there by much


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def quick(monkeypatch):
    """Parts that take long and do not depend on the form of a table are cut short."""
    monkeypatch.setattr(theory, "ROWS", 20)

    def cut(table: Table) -> None:
        if table.name not in COMPLETE:
            monkeypatch.setattr(drawing, "save", lambda figure, target, **_: Path(target).touch())

    return cut


def document(capsys, *words: object) -> dict:
    """The JSON document of a command that must succeed."""
    capsys.readouterr()
    code = run([*map(str, words), "--json"])
    output = capsys.readouterr()
    assert code == 0, f"softlabel {' '.join(map(str, words))}: {output.err.strip().splitlines()[-1:]}"
    return json.loads(output.out)


def loaded(table: Table, data: Path) -> sl.Problem:
    """The problem that the commands work on, from Python."""
    pairs = list(zip(table.options[::2], table.options[1::2], strict=True))
    options = dict(pairs)
    return sl.load(
        data,
        label=table.label,
        task=options.get("--task"),
        leave_out=options.get("--leave-out"),
        drop=[value for option, value in pairs if option == "--drop"],
        roles=sl.ColumnRoles(group=options.get("--group"), time=options.get("--time")),
    )


def class_names(table: Table, data: Path, classes: tuple[str, ...]) -> list[str]:
    """The class of every row; empty where it has none."""
    labels = [row[table.label].strip() for row in read_rows(table, data)]
    if "--task" in table.options:
        no, yes = classes
        labels = [yes if float(label) > float(yes.partition(">")[2]) else no for label in labels]
    known = {name.strip(): name for name in classes}
    return [known.get(label, "") for label in labels]


def write_labels(path: Path, names: list[str]) -> Path:
    """A teacher that is 80% sure of the class of every row; it costs nothing."""
    classes = sorted({name for name in names if name})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(classes)
        for name in names:
            rest = 0.2 / (len(classes) - 1) if name else 1 / len(classes)
            writer.writerow([0.8 if name == each else rest for each in classes])
    return path


def of_predict(capsys, table: Table, model: Path, data: Path, out: Path) -> tuple[list[str], np.ndarray]:
    """Classes, and probabilities of every row as `predict` writes them to a file."""
    ruled = bool({"--task", "--leave-out"} & {*table.options})  # other entries of the label column than the classes
    answer = document(capsys, "predict", model, data, "--out", out, *([] if ruled else ["--label", table.label]))
    with out.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    probabilities = np.array([line[2:] for line in lines], dtype=np.float64)
    assert answer["rows"] == len(probabilities)
    assert ruled or 0 <= answer["accuracy"] <= 1
    return answer["classes"], probabilities


def of_onnxruntime(table: Table, model: Path, data: Path, out: Path) -> dict:
    """What a program without softlabel computes from the raw columns, strings included."""
    words = [model, data, out, "--delimiter", table.delimiter, "--decimal", table.decimal, "--dates", table.dates]
    command = [sys.executable, "-I", use_onnx.__file__, *map(str, words), "--forbid", FORBIDDEN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(out.read_text())
    assert not set(FORBIDDEN.split(",")) & set(answer["imported"])
    return answer


@pytest.mark.parametrize(
    "table",
    [
        *(pytest.param(t, id=t.name) for t in SMALL),
        *(pytest.param(t, id=t.name, marks=pytest.mark.slow) for t in LARGE),
    ],
)
def test_a_table_goes_all_the_way(table, folder, tmp_path, capsys, quick):
    quick(table)
    try:
        data = write_table(table, folder, ROWS if table in SMALL else MANY_ROWS)
    except MissingPackage as missing:
        pytest.skip(str(missing))
    labeled = ["--label", table.label]

    diagnosis = document(capsys, "doctor", data, *labeled)
    assert isinstance(diagnosis["findings"], list)

    problem = loaded(table, data)
    labels = write_labels(tmp_path / "labels.csv", class_names(table, data, problem.classes))
    words = [data, *labeled, *table.options]
    budget = "--width 4 --seeds 4 --epochs 2".split()
    teacher = "auto" if table.name in COMPLETE else labels
    verdict = document(capsys, "verdict", *words, "--teacher", teacher, *budget, "--out", tmp_path / "verdict")
    assert verdict["verdict"] in VERDICTS
    assert verdict["gap"]["low"] <= verdict["gap"]["mean"] <= verdict["gap"]["high"]

    accuracy = np.bincount(problem.test.y).max() / len(problem.test) + 0.001  # barely above the most frequent class
    budget = "--widths 4,8 --seeds 5 --epochs 60 --confirm 0 --no-rival --share 0.51 --confidence 0.8".split()
    plan = document(
        capsys, "plan", *words, "--teacher", labels, "--accuracy", accuracy, *budget, "--out", tmp_path / "plan"
    )
    files = [Path(path) for path in plan["exported"]]
    assert files or table.name in WITHOUT_SIGNAL, plan["curve"]

    for model in (path for path in files if path.suffix == ".onnx"):
        classes, predicted = of_predict(capsys, table, model, data, tmp_path / "onnx.csv")
        alone = of_onnxruntime(table, model, data, tmp_path / "alone.json")
        assert alone["classes"] == classes
        np.testing.assert_allclose(alone["probabilities"], predicted, atol=1e-5)
        others = {".safetensors", ".npz"} & {path.suffix for path in files}
        for ending in sorted(others):
            same, again = of_predict(capsys, table, model.with_suffix(ending), data, tmp_path / "other.csv")
            assert same == classes
            np.testing.assert_allclose(again, predicted, atol=1e-4)


def test_the_list_is_as_long_and_as_real_as_it_says():
    assert len(SMALL) == 15
    assert len({table.name for table in (*SMALL, *LARGE)}) == len(SMALL) + len(LARGE)
    assert sum(table.package is not None for table in SMALL) >= 10
