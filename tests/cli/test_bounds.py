import json

import pytest

import softlabel as sl
from softlabel.cli.main import run

FOUR = {"width", "step", "iterations", "radius"}


def answer(capsys, *arguments: str) -> dict:
    assert run(["bounds", *arguments, "--json"]) == 0
    out = capsys.readouterr().out

    def no_constant(name: str):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(out, parse_constant=no_constant)


def test_json_has_the_keys_that_scripts_rely_on(capsys):
    document = answer(capsys, "--gamma", "0.1", "--epsilon", "0.05", "--n", "500", "--c", "0.5")
    assert document["inputs"] == {
        "gamma": 0.1, "epsilon": 0.05, "n": 500, "delta": 0.05, "c": 0.5, "kappa": 1.0, "alpha": 1.0, "width": None,
    }  # fmt: skip
    assert list(document["families"]) == ["paper", "corrected", "refined", "tight"]
    for family, answers in document["families"].items():
        assert set(answers["soft"]) >= FOUR
        assert set(answers["hard"]) >= FOUR
        assert answers["soft"]["width"] == sl.bounds.soft_width(0.1, 0.05, 500, c=0.5, family=family)
        assert answers["hard"]["width"] == sl.bounds.hard_width(0.1, 0.05, 500, c=0.5, family=family)
        assert answers["crossover_gamma"] == sl.bounds.crossover(family, 0.05, 500, c=0.5).gamma
    assert document["n_free"]["soft"]["width"] == sl.bounds.soft_without_n(0.1, 0.05).width
    assert document["without_projection"]["hard"] == pytest.approx(1e8)
    assert "order of magnitude" in document["without_projection"]["note"]
    assert document["says"] == list(sl.bounds.CAVEATS)
    assert "guarantees" not in document


def test_a_crossover_that_is_not_there_is_null_with_a_word(capsys):
    document = answer(capsys, "--epsilon", "0.1")
    assert document["families"]["tight"]["crossover_gamma"] is None
    assert document["families"]["tight"]["crossover_note"].startswith("soft always")


def test_temperature_and_scale_leave_the_papers_families_silent(capsys):
    document = answer(capsys, "--kappa", "0.5")
    assert document["families"]["paper"]["soft"]["width"] is None
    assert "temperature" in document["families"]["paper"]["soft"]["note"]
    assert document["families"]["paper"]["hard"]["width"] is not None
    assert document["families"]["refined"]["soft"]["radius"] == 0.5
    document = answer(capsys, "--alpha", "2")
    assert document["families"]["corrected"]["hard"]["width"] is None
    assert document["families"]["tight"]["soft"]["radius"] == 0.5


def test_what_overflows_is_null_and_said(capsys):
    document = answer(capsys, "--gamma", "1e-200", "--width", "1000")
    for answers in document["families"].values():
        assert answers["soft"]["width"] is None
        assert "beyond" in answers["soft"]["note"]
    assert document["without_projection"]["hard"] is None


def test_a_width_is_read_backwards(capsys):
    document = answer(capsys, "--gamma", "0.3", "--width", "20000")
    tight = document["guarantees"]["tight"]
    assert tight["soft"]["epsilon"] == sl.bounds.guaranteed_error(20000, 0.3, 1000)
    assert tight["hard"]["gamma"] == sl.bounds.needed_margin(20000, 0.1, 1000, arm="hard")
    assert document["guarantees"]["paper"]["soft"] == {"epsilon": None, "gamma": None}


def test_terminal_shows_widths_crossovers_and_always_the_caveats(capsys):
    assert run(["bounds", "--width", "1000000", "--kappa", "2"]) == 0
    out = capsys.readouterr().out
    for words in (
        "tight, soft",
        "without n, soft",
        "γ⁻⁸",
        "1,000,000 neurons guarantee",
        "no version with temperature",
    ):
        assert words in out
    for line in sl.bounds.CAVEATS:
        assert line in out
    assert run(["bounds"]) == 0
    out = capsys.readouterr().out
    assert "256,754" in out
    assert "refined: γ < 0.4276" in out
    assert "tight: soft always" in out


@pytest.mark.parametrize("name", ["widths.png", "deep/widths.svg"])
def test_figure(tmp_path, capsys, name):
    path = tmp_path / name
    assert run(["bounds", "--figure", str(path), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["families"]
    assert str(path) in captured.err
    head = path.read_bytes()[:300]
    assert head.startswith(b"\x89PNG") or b"<?xml" in head


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--gamma 0", "--gamma must satisfy 0 < γ ≤ 0.5, got 0.0; inputs of norm ≤ 1 have margins of at most 0.5, "),
        ("--gamma 0.51", "--gamma must satisfy 0 < γ ≤ 0.5, got 0.51; "),
        ("--gamma nan", "--gamma must satisfy 0 < γ ≤ 0.5, got nan; "),
        ("--epsilon 0", "--epsilon must satisfy 0 < ε < 1, got 0.0; "),
        ("--epsilon 1", "--epsilon must satisfy 0 < ε < 1, got 1.0; "),
        ("--epsilon nan", "--epsilon must satisfy 0 < ε < 1, got nan; "),
        ("--n 0", "--n must be a whole number of examples ≥ 1, got 0; "),
        ("--n 2.5", "Invalid value for '--n': "),
        ("--delta 0.34", "--delta must satisfy 0 < δ < ⅓, got 0.34; "),
        ("--delta nan", "--delta must satisfy 0 < δ < ⅓, got nan; "),
        ("--c 0", "--c must satisfy 0 < c ≤ 1, got 0.0; "),
        ("--c 1.1", "--c must satisfy 0 < c ≤ 1, got 1.1; "),
        ("--kappa -1", "--kappa must satisfy 0 < κ < ∞, got -1.0; "),
        ("--kappa inf", "--kappa must satisfy 0 < κ < ∞, got inf; "),
        ("--alpha 0", "--alpha must satisfy 0 < α < ∞, got 0.0; "),
        ("--alpha nan", "--alpha must satisfy 0 < α < ∞, got nan; "),
        ("--width 7", "--width must be an even whole number ≥ 2 (neurons come in pairs), got 7; "),
        ("--width 0", "--width must be an even whole number ≥ 2 (neurons come in pairs), got 0; "),
        ("--figure widths.jpeg", "--figure must end in .png or .svg, got 'widths.jpeg'; "),
        ("--gama 0.1", "No such option: --gama"),
    ],
)
def test_wrong_inputs_are_one_line_and_exit_code_2(arguments, message, capsys):
    assert run(["bounds", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"softlabel: {message}")
    assert captured.err.count("\n") == 1


def test_a_figure_that_cannot_be_written_is_the_users_to_mend(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(["bounds", "--figure", str(tmp_path / "file" / "widths.png")]) == 2
    assert "softlabel: --figure must be a file that can be written: " in capsys.readouterr().err


def test_help_names_every_option(capsys):
    assert run(["bounds", "--help"]) == 0
    out = capsys.readouterr().out
    for option in ("gamma", "epsilon", "--n", "delta", "--c", "kappa", "alpha", "width", "figure", "json"):
        assert option in out


def test_margin_rows_and_smallest_norm_are_those_of_data(capsys, tmp_path):
    """The same numbers as `margin` and `bounds` one after the other; text and gaps are welcome."""
    rows = ["size,color,kind"]
    rows += [f"{k % 7 + (9 if k % 2 else 0)},{'red' if k % 3 else ''},{'ab'[k % 2]}" for k in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n")
    document = answer(capsys, str(path), "--label", "kind", "--epsilon", "0.2", "--work-limit", "1e8")
    margin = sl.margin(path, label="kind", work_limit=1e8)
    assert document["margin"]["gamma_lower"] == margin.lower
    assert document["inputs"]["gamma"] == margin.teacher_lower > 0
    assert document["inputs"]["n"] == 40
    assert 0 < document["inputs"]["c"] == margin.smallest_norm <= 1
    overview = sl.bounds.overview(margin.teacher_lower, 0.2, 40, c=margin.smallest_norm)
    assert document["families"] == overview.to_dict()["families"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--label kind", "--label is about data"),
        ("digits --gamma 0.1", "--gamma is that of the data"),
        ("digits --c 0.5", "--c is that of the data"),
        ("nothing.csv --label y --epsilon 2", "epsilon"),
        ("same.csv --label y", "no width suffices for 'same.csv': γ* = 0"),
    ],
)
def test_data_that_do_not_fit(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.csv").write_text("a,b,y\n" + "1,2,0\n1,2,1\n" * 20)
    assert run(["bounds", *arguments.split(), "--work-limit", "1e8"]) == 2
    assert message in capsys.readouterr().err
