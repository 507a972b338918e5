import importlib
import json

import pytest

from softlabel.cli.main import run

study = importlib.import_module("softlabel.studies.audit.audit")


def test_json_has_what_scripts_rely_on(capsys):
    assert run("audit digits --rows 60 --width 20 --iterations 25 --time-limit 5 --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["steps"] == 25
    assert answer["width"] == 20
    assert all(check.keys() >= {"name", "worst", "holds"} and check["holds"] for check in answer["checks"])
    assert answer["certificate"]["measured"] <= answer["certificate"]["bound"]


def test_hard_labels_and_a_saved_teacher(tmp_path, capsys):
    assert run(f"margin digits --rows 60 --time-limit 5 --out {tmp_path}".split()) == 0
    words = f"audit digits --rows 60 --arm hard --width 20 --iterations 10 --teacher {tmp_path / 'teacher.safetensors'}"
    assert run(words.split()) == 0
    assert "Certificate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--arm firm", "unknown arm 'firm'"),
        ("--width 5", "--width must be an even whole number ≥ 2 (neurons come in pairs), got 5; use the next even"),
        ("--delta 0.5", "0 < δ < ⅓"),
        ("--epsilon 1.5", "epsilon"),
        ("--kappa=-1", "kappa"),
        ("--learning-rate 5", "--learning-rate must lie in (0, 4) with soft labels, got 5.0"),
        ("--learning-rate 4", "the certificate divides by 2 − ρ'η"),
        ("--learning-rate nan", "--learning-rate must lie in (0, 4)"),
        ("--arm hard --learning-rate 5", "--learning-rate must lie in (0, 4.911) with hard labels"),
        ("--radius inf", "radius must lie in"),
        ("--work-limit inf", "--work-limit must lie between 1e+06 and 1e+24, got inf"),
        ("--time-limit inf", "--time-limit must lie between 1 and 1e+09, got inf"),
        ("--radius 0.1", "--radius must be at least --kappa"),
        ("--teacher nothing.safetensors", "cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words, message, capsys):
    assert run(["audit", "digits", "--rows", "30", "--iterations", "2", *words.split()]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("softlabel: ")
    assert message in last


def test_a_failed_check_is_exit_code_1(monkeypatch, capsys):
    broken = study.train_students
    monkeypatch.setattr(
        study,
        "train_students",
        lambda x, students, labels, **rest: broken(
            x, students, {k: type(v)(v.kind, -v.values) for k, v in labels.items()}, **rest
        ),
    )
    assert run("audit digits --rows 60 --width 200 --iterations 40 --time-limit 5".split()) == 1
    assert "these checks failed" in capsys.readouterr().err
