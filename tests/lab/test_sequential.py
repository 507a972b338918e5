"""Adding seeds must not make verdicts wrong more often."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.verdicts import rare_failures
from hypothesis import given
from hypothesis import strategies as st

from softlabel.lab.scores import Unmet
from softlabel.lab.sequential import Look, analyze, follow, planned_looks


@given(st.integers(2, 500), st.floats(0.6, 0.999))
def test_looks_end_with_all_seeds_and_spend_all_of_the_failure(seeds, confidence):
    looks = planned_looks(seeds, confidence)
    places = [look.seeds for look in looks]
    assert places == sorted(set(places))
    assert places[-1] == seeds
    assert sum(look.failure for look in looks) == pytest.approx(1 - confidence)
    assert all(look.failure > 0 for look in looks)


def tables(rng, gap, seeds=20, rows=800, between=0.008, example=0.12, rest=0.15):
    """Scores of two arms with a gap (a share), as a two-way table has them."""
    spread = between * rng.standard_normal((seeds, 1)) + example * rng.standard_normal((1, rows))
    soft = gap + spread + rest * rng.standard_normal((seeds, rows))
    return soft, np.zeros_like(soft)


def test_without_a_difference_a_winner_is_rare_however_often_one_looks():
    rng = np.random.default_rng(1)
    looks = planned_looks(20)
    words = [follow(looks, *tables(rng, 0.0), 0.1)[-1].verdict for _ in range(300)]
    assert sum(word.endswith("wins") for word in words) <= 24  # 5% of 300 are 15; more than 24: once in 100


def test_looking_at_plain_intervals_would_be_wrong_far_more_often():
    rng = np.random.default_rng(2)
    careless = [Look(seeds, 0.05) for seeds in range(3, 41)]
    wrong = sum(
        follow(careless, *tables(rng, 0.0, seeds=40, rows=60, example=0.0), 0.01)[-1].verdict.endswith("wins")
        for _ in range(150)
    )
    assert wrong > 22


def test_a_gap_is_found_and_its_sign_is_right():
    rng = np.random.default_rng(3)
    looks = planned_looks(20)
    for gap, word in ((0.04, "soft wins"), (-0.04, "hard wins")):
        verdicts = [follow(looks, *tables(rng, gap), 0.5)[-1].verdict for _ in range(30)]
        assert verdicts.count(word) >= 28


def test_equal_arms_end_without_a_difference():
    rng = np.random.default_rng(4)
    *_, analysis = follow(planned_looks(20), *tables(rng, 0.0, rows=5000, between=0.001, example=0.01, rest=0.02), 0.5)
    assert analysis.verdict == "no difference"
    assert analysis.look.seeds < 20
    assert analysis.needed is None


def hide(*class_rows: int, metric: str = "accuracy"):
    return Unmet(metric, class_rows)


def test_rows_that_never_differ_do_not_prove_that_none_would():
    same = np.ones((5, 100))
    assert analyze(Look(5, 0.05), same, same, 0.5, hide(100)).verdict == "undecided"
    assert analyze(Look(5, 0.05), same, same, 0.5, hide(100)).hopeless
    many = np.ones((5, 2000))
    assert analyze(Look(5, 0.05), many, many, 0.5, hide(2000)).verdict == "no difference"
    assert analyze(Look(5, 0.05), same, same, 0.5).verdict == "no difference"


def test_a_rare_class_decides_what_a_balanced_metric_can_show():
    """Four rows of the rare class: a gap of 5 points of balanced accuracy is not called none."""
    rng = np.random.default_rng(7)
    rows, rare, looks, words = 2000, 4, planned_looks(20), []
    weight = np.where(np.arange(rows) < rare, rows / (2 * rare), rows / (2 * (rows - rare)))
    hidden = hide(rare, rows - rare, metric="balanced accuracy")
    for _ in range(60):
        hard, soft = np.ones((20, rows)), np.ones((20, rows))
        hard[:, :rare] = rng.random((20, rare)) < 0.9
        words.append(follow(looks, soft * weight, hard * weight, 0.5, hidden)[-1].verdict)
    assert "no difference" not in words


def test_an_open_question_says_what_would_decide_it():
    rng = np.random.default_rng(5)
    soft, hard = tables(rng, 0.004, seeds=6, rows=4000, between=0.012, example=0.0, rest=0.05)
    at = analyze(Look(6, 0.05), soft, hard, 0.5)
    assert at.verdict == "undecided"
    assert not at.hopeless
    assert at.needed is not None
    assert at.needed > 6


def test_too_few_test_rows_are_hopeless_and_reported():
    rng = np.random.default_rng(6)
    *_, analysis = follow(planned_looks(40), *tables(rng, 0.0, seeds=40, rows=60, between=0.002, example=0.3), 0.5)
    assert analysis.verdict == "undecided"
    assert analysis.hopeless
    assert analysis.look.seeds == 5  # nothing more is trained
    assert analysis.rows is not None
    assert analysis.rows > 1000


@pytest.mark.parametrize("gap", [0.0, 0.25, 0.4, 2.0])
def test_as_many_test_rows_as_it_says_decide(gap):
    """Equal seeds, so that rows alone leave it open; a tenth more of them decide, a tenth fewer do not."""

    def at(rows):
        half = np.full(rows // 2, 0.2)
        difference = gap / 100 + np.concatenate([half, -half])
        table = np.repeat(difference[None], 5, axis=0)
        return analyze(Look(5, 0.05), table, np.zeros_like(table), 0.5)

    rows = at(100).rows
    assert rows is not None
    assert at(int(1.1 * rows)).verdict != "undecided"
    assert at(int(0.9 * rows)).verdict == "undecided"


def test_as_many_rows_without_a_difference_as_it_says_decide():
    def at(rows):
        same = np.ones((5, rows))
        return analyze(Look(5, 0.05), same, same, 0.5, hide(rows))

    rows = at(100).rows
    assert rows is not None
    assert at(int(1.1 * rows)).verdict == "no difference"
    assert at(int(0.9 * rows)).verdict == "undecided"


@pytest.mark.parametrize("between", [0.0, 0.01, 0.05, 0.2])
def test_as_many_rows_and_seeds_as_it_says_decide_together(between):
    """The gap is 2.9 points, the part of 120 rows alone ±6.2: the noise of seeds counts, too."""
    rng = np.random.default_rng(8)
    runs, examples = (rng.standard_normal(count) for count in (5, 120))
    runs, examples = ((x - x.mean()) / x.std(ddof=1) for x in (runs, examples))
    table = 0.029 + between * runs[:, None] + 0.34 * examples
    at = analyze(Look(5, 0.05), table, np.zeros_like(table), 0.5)
    assert at.verdict == "undecided"
    assert at.needed is None

    def half_width(rows, seeds):
        more = at.gap.with_runs(seeds)
        return replace(more, examples=rows, example_part=at.gap.example_part * 120 / rows).half_width(0.05)

    assert half_width(at.rows, at.seeds) == pytest.approx(at.gap.mean, rel=0.02)
    assert half_width(int(0.9 * at.rows), at.seeds) > at.gap.mean
    assert (at.seeds == 5) == (between <= 0.01)
    if between > 0.01:
        assert half_width(at.rows, at.seeds // 2) > 1.1 * at.gap.mean


def test_rare_failures_of_seeds_inflate_the_error_rate():
    """A limit of Student's intervals that the docs state: one seed in 16 far off, and winners are named too often."""
    assert rare_failures(10**6, 400) < 0.07
    assert rare_failures(16, 400) > 0.1
