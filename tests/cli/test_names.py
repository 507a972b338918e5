"""Names from files that are markup, formulas or terminal commands somewhere: none of them works, or stops the work."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from softlabel.cli.main import run
from softlabel.lab import LEDGER, Ledger
from tests.cli.sheets import write_sheet

CLASSES = ["a b", "a_b", "a.b", "A B", "[/a]", "\x1b[31m\u202e$\\frac{$"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_classes(path: Path, rows: int = 60) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(rows) % len(CLASSES)
    x = np.eye(len(CLASSES))[labels] + 0.01 * rng.standard_normal((rows, len(CLASSES)))
    columns = {f"x{k}": x[:, k] for k in range(len(CLASSES))}
    pl.DataFrame(columns | {"kind": [CLASSES[k] for k in labels]}).write_csv(path)


def test_every_class_has_a_teacher_file_of_its_own(here, capsys):
    write_classes(here / "data.csv")
    out = here / "[/b]"
    words = ["--label", "kind", "--several-classes", "--time-limit", "1", "--rtol", "0.9", "--scale", "max", "--out"]
    assert run(["margin", "data.csv", *words, str(out)]) == 0
    captured = capsys.readouterr()
    files = [path.name for path in out.iterdir()]
    assert len({name.casefold() for name in files}) == len(CLASSES)
    assert captured.err.count("teacher saved as") == len(CLASSES)
    for text in (captured.out, captured.err):
        assert text.replace("\n", "").isprintable()
    assert "[/a] / rest" in captured.out


def test_figures_of_a_file_with_a_formula_in_its_name(here, capsys):
    write_sheet(here / "$\\frac{$.csv", rows=40)
    words = ["--label", "sick", "--drop", "patient", "--rows", "20", "--width", "4", "--teacher-width", "8"]
    assert run(["dynamics", "$\\frac{$.csv", *words, "--iterations", "3", "--out", "[/a]"]) == 0
    assert (here / "[/a]" / "figures" / "dynamics.png").exists()
    assert "$\\frac{$.csv" in capsys.readouterr().out


def test_runs_with_markup_and_escapes_in_their_names_are_listed(here, capsys):
    for name in ("[/a]", "\x1b]0;x\x07"):
        folder = here / "runs" / name
        folder.mkdir(parents=True)
        with Ledger(folder / LEDGER) as ledger:
            ledger.set_meta(study="[bold]\x1b[31m", settings={}, threads=1, environment={})
    assert run(["results", "list"]) == 0
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert "[/a]" in shown.replace("\n", "").replace(" ", "")
    assert run(["results", "show", "runs/[/a]"]) == 0
    assert "[bold]\\x1b[31m" in capsys.readouterr().out


def test_doctor_shows_names_escaped(here, capsys):
    name = "\x1bc red\u202e.csv"
    write_sheet(here / name, rows=60)
    assert run(["doctor", name, "--label", "sick"]) == 0
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert "Examined: data '\\x1bc red\\u202e.csv'" in shown


@pytest.mark.parametrize("size", [1e3, 1e30, 1.7e308])
def test_extreme_logits_give_valid_json(size, here, capsys):
    data = pl.read_csv(write_sheet(here / "t.csv", rows=200))
    sick = (data["sick"] == "yes").to_numpy()
    logits = {"no": np.where(sick, -size, size), "yes": np.where(sick, size, -size)}
    pl.DataFrame({"patient": data["patient"]} | logits).write_csv("labels.csv")
    code = run(["doctor", "t.csv", "labels.csv", "--label", "sick", "--id", "patient", "--json"])
    captured = capsys.readouterr()
    found = json.loads(captured.out, parse_constant=pytest.fail) if code == 0 else None
    if size > 1e30:
        verdict = ["verdict", "t.csv", "--label", "sick", "--teacher", "labels.csv", "--id", "patient"]
        assert run(verdict) == 2
        assert "beyond ±1e+30 cannot be logits: 1.7e+308 (row 1" in capsys.readouterr().err
        return
    assert found is not None
    assert "softmaxed twice" not in [finding["name"] for finding in found["findings"]]
    assert "null" not in json.dumps([finding["evidence"] for finding in found["findings"]])
