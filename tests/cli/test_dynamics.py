"""`softlabel dynamics`: what it prints, and what it says to bad input."""

import json

import pytest

from softlabel.cli.main import run

SMALL = ["--rows", "30", "--width", "10", "--teacher-width", "20", "--iterations", "50"]


def answer(capsys, *arguments):
    assert run(["dynamics", "digits", *SMALL, *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_prediction_and_simulation(capsys):
    found = answer(capsys)
    assert (found["n"], found["d"], found["width"]) == (30, 64, 10)
    assert found["curve"][0]["iteration"] == 0
    assert found["curve"][-1]["iteration"] == 50
    assert found["curve"][0]["predicted"] == pytest.approx(found["curve"][0]["simulated"])
    assert found["deviation"] < 0.05
    assert 0 < found["kernel_drift"] < 0.5
    assert found["step"] == pytest.approx(0.2 * found["largest_step"])
    assert found["poles"]["slowest_excited"] < found["poles"]["largest"]
    assert [check["holds"] for check in found["assumptions"]] == [True, True, True, True, True]
    assert found["limit"]["error"] == pytest.approx(found["limit"]["printed_error"], abs=1e-6)


@pytest.mark.parametrize("strength", ["0", "inf"])
def test_both_ends_of_the_strength(capsys, strength):
    found = answer(capsys, "--strength", strength, "--start", "random", "--activation", "tanh")
    assert found["strength"] == (0.0 if strength == "0" else None)
    assert found["limit"] is not None


def test_the_table_and_the_figure(capsys, tmp_path):
    assert run(["dynamics", "digits", *SMALL, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "Largest deviation of prediction from simulation" in text
    assert "Theorem 1 as printed" in text
    assert (tmp_path / "figures" / "dynamics.png").stat().st_size > 5000


def test_the_deviation_falls_with_the_width(capsys, tmp_path):
    call = ["dynamics", "digits", "--rows", "20", "--iterations", "200", "--widths", "20,80,320"]
    assert run([*call, "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(power < -0.4 for power in found["powers"].values())
    assert len(found["rows"]) == 2 * 3 * 3
    assert (tmp_path / "figures" / "kernel-deviation.svg").exists()
    assert run(call) == 0
    assert "falls like m^" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strength", "-1"], "--strength must lie between 0 and inf"),
        (["--step", "0"], "--step must be a positive number"),
        (["--start", "nowhere"], "unknown start 'nowhere'"),
        (["--activation", "step"], "unknown activation 'step'"),
        (["--width", "30"], "width must lie between 1 and the teacher's 20, got 30"),
        (["--start-scale", "0"], "scale must be positive"),
        (["--widths", "20"], "at least two whole numbers"),
        (["--widths", "20,x"], "whole numbers with commas"),
        (["--step", "1e6"], "else gradient descent diverges; got 1e+06"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, message):
    code = run(["dynamics", "digits", *SMALL, *arguments])
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err.splitlines()[-1]
    assert captured.out == ""
