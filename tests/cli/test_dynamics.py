"""`softlabel dynamics`: what it prints, and what it says to bad input."""

import json
import re

import pytest

from softlabel.cli.main import run

SMALL = ["--rows", "30", "--width", "10", "--teacher-width", "20", "--iterations", "50"]


def answer(capsys, *arguments):
    assert run(["dynamics", "digits", *SMALL, *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_prediction_and_simulation(capsys):
    document = answer(capsys)
    assert (document["n"], document["d"], document["width"]) == (30, 64, 10)
    assert document["curve"][0]["iteration"] == 0
    assert document["curve"][-1]["iteration"] == 50
    assert document["curve"][0]["predicted"] == pytest.approx(document["curve"][0]["simulated"])
    assert document["deviation"] < 0.05
    assert 0 < document["kernel_drift"] < 0.5
    assert document["learning_rate"] == pytest.approx(0.2 * document["largest_step"])
    assert document["poles"]["slowest_excited"] < document["poles"]["largest"]
    assert [check["holds"] for check in document["assumptions"]] == [True, True, True, True, True]
    assert document["limit"]["error"] == pytest.approx(document["limit"]["printed_error"], abs=1e-6)


@pytest.mark.parametrize("strength", ["0", "inf"])
def test_both_ends_of_the_strength(capsys, strength):
    document = answer(capsys, "--strength", strength, "--init", "random", "--activation", "tanh")
    assert document["strength"] == (0.0 if strength == "0" else None)
    assert document["limit"] is not None


def test_the_table_and_the_figure(capsys, tmp_path):
    assert run(["dynamics", "digits", *SMALL, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "Largest deviation of prediction from simulation" in text
    assert "Theorem 1 as printed" in text
    assert (tmp_path / "figures" / "dynamics.png").stat().st_size > 5000


def test_test_rows_have_columns_of_their_own(capsys):
    document = answer(capsys, "--test-rows", "40")
    assert document["curve"][-1]["test_predicted"] == pytest.approx(document["curve"][-1]["test_simulated"], rel=0.1)
    assert run(["dynamics", "digits", *SMALL, "--test-rows", "40"]) == 0
    assert "test, simulated" in capsys.readouterr().out


def test_the_deviation_falls_with_the_width(capsys, tmp_path):
    call = ["dynamics", "digits", "--rows", "20", "--iterations", "200", "--widths", "20,80,320"]
    assert run([*call, "--json", "--out", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert all(power < -0.4 for power in document["powers"].values())
    assert len(document["rows"]) == 2 * 3 * 3
    assert (tmp_path / "figures" / "kernel-deviation.svg").exists()
    assert run(call) == 0
    assert "falls like m⁻" in capsys.readouterr().out


def test_widths_follow_the_activation_and_the_seed(capsys):
    call = ["dynamics", "digits", "--rows", "20", "--iterations", "50", "--widths", "10,20"]
    assert run([*call, "--activation", "erf", "--seed", "7", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["activation"] for row in document["rows"]} == {"erf"}
    assert {row["seed"] for row in document["rows"]} == {7, 8, 9}


def test_the_error_rises_along_the_strength(capsys, tmp_path):
    document = answer(capsys, "--strengths", "inf,0,0.1,10", "--out", str(tmp_path))
    assert document["error_rises"] is True
    first = [row for row in document["rows"] if row["seed"] == 0]
    assert [row["strength"] for row in first] == [0.0, 0.1, 10.0, None]
    assert first[0]["error"] == pytest.approx(0, abs=1e-6)
    assert first[0]["error"] < first[1]["error"] < first[2]["error"] < first[3]["error"]
    assert all(
        row["slowest_pole"] > 0 and row["settled"] > 0 for row in document["rows"] if row["strength"] is not None
    )
    assert all(
        row["settled"] == 0 for row in document["rows"] if row["strength"] is None
    )  # it knows all it is to learn
    assert first[1]["error"] == pytest.approx(first[1]["printed_error"], abs=1e-6)  # 30 rows, 64 inputs: full rank
    assert (tmp_path / "figures" / "strength.png").exists()


def test_far_initializations_are_predicted_worse(capsys, tmp_path):
    document = answer(capsys, "--distances", "0,2", "--out", str(tmp_path))
    near, far = ([row for row in document["rows"] if row["shift"] == shift] for shift in (0, 2))
    assert all(row["distance"] < 1e-12 for row in near)
    assert all(row["distance"] > 0.5 for row in far)
    assert all(f["deviation"] > n["deviation"] for n, f in zip(near, far, strict=True))
    assert (tmp_path / "figures" / "distance.png").exists()


def test_choices_agree_with_theory_and_stages_do_not_multiply(capsys, tmp_path):
    document = answer(capsys, "--choices", "3,10", "--out", str(tmp_path))
    for row in document["rows"]:
        assert row["corrected"]["mean"] == pytest.approx(row["expected"], abs=2 * row["corrected"]["half_width"])
        assert row["uncorrected"]["mean"] == pytest.approx(
            row["uncorrected_expected"], abs=2 * row["uncorrected"]["half_width"]
        )
        assert row["two_choices"]["mean"] == pytest.approx(row["expected"], abs=2 * row["two_choices"]["half_width"])
        assert row["multiplied"] < 0.75 * row["two_choices"]["mean"]
        assert row["bound"] > row["corrected"]["mean"]
        assert row["ticket"] == pytest.approx(0, abs=1e-6)  # λ = 0, full rank: nothing is left
        assert row["direct, twice as long"]["mean"] < row["direct"]["mean"] * 1.0001
    assert (tmp_path / "figures" / "choices.png").exists()
    assert run(["dynamics", "digits", *SMALL, "--choices", "3,10"]) == 0
    assert "After equally many steps, the error of two stages" in re.sub(r"\s+", " ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strength", "-1"], "--strength must lie between 0 and 1e+30"),
        (["--learning-rate", "0"], "--learning-rate must be a positive number"),
        (["--init", "nowhere"], "unknown init 'nowhere'"),
        (["--activation", "step"], "unknown activation 'step'"),
        (["--width", "30"], "width must lie between 1 and the teacher's 20, got 30"),
        (["--init-scale", "0"], "--init-scale must be a positive number"),
        (["--widths", "20"], "--widths must contain at least two values"),
        (["--strengths", "1"], "--strengths must contain at least two values"),
        (["--strengths", "-1,1"], "--strengths must be nonnegative numbers or inf"),
        (["--distances", "0,inf"], "--distances must be nonnegative numbers, got"),
        (["--distances", "a"], "--distances must be numbers separated by commas"),
        (["--choices", "5,20"], "cannot choose 20 of the teacher's 20 units"),
        (["--choices", "5", "--widths", "5,6"], "a sweep varies one quantity, got --widths and --choices: choose one"),
        (["--widths", "20,x"], "integers separated by commas"),
        (["--learning-rate", "1e6"], "otherwise gradient descent diverges; got 1e+06"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, message):
    code = run(["dynamics", "digits", *SMALL, *arguments])
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err.splitlines()[-1]
    assert captured.out == ""
