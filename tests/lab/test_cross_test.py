"""Cross-tested gaps: metrics are means over folds, variances are those of the model, and winners are rarely false."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from benchmarks.cross_test import Scenario, cross_test, curve_coverage, pairs_of, ridge_student, summarize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from softlabel.errors import InputError
from softlabel.lab.cross_test import cross_tested_mean, crossed_gap, fold_scores, overlap_factor
from softlabel.lab.scores import METRICS, Unmet, example_scores
from softlabel.lab.sequential import Look, analyze, follow, planned_looks
from softlabel.lab.statistics import crossed_mean, paired_gap


def predictions(seed: int, rows: int, classes: int, folds: int):
    """Probabilities, class numbers and folds of unequal size, each of which has every class."""
    rng = np.random.default_rng(seed)
    likely = rng.dirichlet(np.ones(classes), rows)
    sure = np.arange(classes * folds)
    truth = np.r_[sure % classes, rng.integers(classes, size=rows - len(sure))]
    places = np.r_[sure // classes, np.minimum(rng.integers(2 * folds, size=rows - len(sure)), folds - 1)]
    return likely, truth, places


@given(st.integers(0, 10**6), st.sampled_from(list(METRICS)), st.sampled_from([2, 3]), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_the_mean_of_scores_is_the_mean_over_folds_weighted_by_their_rows(seed, metric, classes, folds):
    likely, truth, places = predictions(seed, 60, classes, folds)
    of_folds = [example_scores(metric, likely[places == k], truth[places == k]).mean() for k in range(folds)]
    expected = np.average(of_folds, weights=np.bincount(places))
    assert fold_scores(metric, likely, truth, places).mean() == pytest.approx(expected)


def test_rows_of_other_folds_do_not_change_a_rank():
    """Students of different folds have scales of their own."""
    likely, truth, places = predictions(1, 80, 2, 4)
    scaled = likely.copy()
    scaled[places == 2] **= 3  # keeps the order within the fold
    expected = fold_scores("auc", likely / likely.sum(1, keepdims=True), truth, places)
    assert fold_scores("auc", scaled / scaled.sum(1, keepdims=True), truth, places) == pytest.approx(expected)


def test_a_fold_of_one_class_has_no_auc():
    likely, truth, places = predictions(2, 40, 2, 2)
    truth[places == 1] = 0
    with pytest.raises(InputError, match=r"fold 1 are all of one class.*fewer folds or another `metric`"):
        fold_scores("auc", likely, truth, places)
    assert np.isfinite(fold_scores("balanced accuracy", likely, truth, places)).all()


def slow_parts(x, folds):
    """Variances of seeds and rows by the definition, fold by fold."""
    names = sorted(set(folds.tolist()))
    within = residual = 0.0
    for name in names:
        part = x[:, folds == name]
        rows = part.mean(0)
        within += ((rows - rows.mean()) ** 2).sum()
        residual += ((part - rows - part.mean(1, keepdims=True) + part.mean()) ** 2).sum()
    spare = x.shape[1] - len(names)
    return x.mean(1).var(ddof=1) / len(x), (within / spare - residual / (spare * (len(x) - 1)) / len(x)) / x.shape[1]


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_variances_are_those_of_the_definition(seed, runs, count):
    rng = np.random.default_rng(seed)
    folds = rng.permutation(np.arange(40) % count)
    x = rng.standard_normal((runs, 40)) + 2 * rng.standard_normal(40) + rng.standard_normal(count)[folds]
    run_part, example_part = slow_parts(x, folds)
    plain, estimate = cross_tested_mean(x, folds, overlap=False), cross_tested_mean(x, folds)
    assert estimate.mean == pytest.approx(x.mean())
    assert plain.run_part == estimate.run_part == pytest.approx(run_part)
    assert plain.example_part == pytest.approx(max(0, example_part), abs=1e-12)
    assert estimate.example_part == pytest.approx(plain.example_part * (1 + count / (count - 1)))


def model(rng, runs=6, rows=100, folds=5, student=0.5, row=2.0, rest=1.5):
    """Students of every seed and fold differ, rows differ; no effect of the training sets."""
    places = np.arange(rows) % folds
    own = student * rng.standard_normal((runs, folds))[:, places]
    return own + row * rng.standard_normal(rows) + rest * rng.standard_normal((runs, rows)), places


def test_variance_parts_are_unbiased_and_intervals_cover():
    rng = np.random.default_rng(0)
    estimates = [cross_tested_mean(*model(rng), overlap=False) for _ in range(1500)]
    run_part, example_part = (np.mean([getattr(e, name) for e in estimates]) for name in ("run_part", "example_part"))
    assert run_part == pytest.approx(0.25 / 30 + 2.25 / 600, rel=0.05)
    assert example_part == pytest.approx(4 / 100, rel=0.03)
    assert np.var([e.mean for e in estimates]) == pytest.approx(run_part + example_part, rel=0.12)
    missed = np.mean([abs(e.mean) > e.half_width(0.05) for e in estimates])
    assert 0.02 <= missed <= 0.067
    wide = [replace(e, example_part=e.example_part * overlap_factor(5)) for e in estimates]
    assert np.mean([abs(e.mean) > e.half_width(0.05) for e in wide]) < 0.01


def test_folds_of_different_difficulty_do_not_widen_the_interval():
    rng = np.random.default_rng(1)
    x, folds = model(rng)
    assert cross_tested_mean(x + 10.0 * folds, folds).example_part == pytest.approx(
        cross_tested_mean(x, folds).example_part
    )
    assert crossed_mean(x + 10.0 * folds).example_part > 10 * cross_tested_mean(x, folds).example_part


def test_the_factor_is_that_of_nadeau_and_bengio():
    assert overlap_factor(5) == 2.25
    assert overlap_factor(10) == pytest.approx(1 + 10 / 9)
    with pytest.raises(InputError, match="at least 2"):
        overlap_factor(1)


@pytest.mark.parametrize("runs", [2, 5])
def test_students_without_randomness(runs):
    """All seeds agree: the interval is that of the rows alone, and no more seeds are trained."""
    rng = np.random.default_rng(2)
    row, folds = 0.3 * rng.standard_normal(200), np.arange(200) % 5
    table = np.repeat((row - row.mean() + 0.01)[None], runs, axis=0)
    gap = crossed_gap(table, np.zeros_like(table), folds)
    assert gap.run_part == 0
    within = sum(((row[folds == k] - row[folds == k].mean()) ** 2).sum() for k in range(5)) / 195
    assert gap.half_width(0.05) == pytest.approx(stats.t.isf(0.025, 199) * np.sqrt(2.25 * within / 200))
    at = analyze(Look(runs, 0.05), table, np.zeros_like(table), 20.0, folds=folds)
    assert at.verdict == "no difference"
    at = analyze(Look(runs, 0.05), table, np.zeros_like(table), 7.0, folds=folds)
    assert at.verdict == "undecided"
    assert at.examples < 7  # wide enough for the equivalence, but no seed can move the gap
    assert at.hopeless
    assert at.needed is None
    assert at.rows is not None


def test_one_interval_for_two_seeds():
    rng = np.random.default_rng(3)
    (look,) = planned_looks(2)
    missed = 0
    for _ in range(600):
        x, folds = model(rng, runs=2, student=2.0, row=0.5)
        at = analyze(look, x / 100, np.zeros_like(x), 0.5, folds=folds)
        missed += not at.low <= 0 <= at.high
    assert missed <= 600 * 0.05 + 3 * np.sqrt(600 * 0.05 * 0.95)


@pytest.mark.parametrize(
    ("folds", "message"),
    [(np.zeros(10, int), "at least two"), (np.arange(10), "at least two"), (np.arange(9) % 3, "one entry per row")],
)
def test_folds_that_cannot_be(folds, message):
    with pytest.raises(InputError, match=message):
        crossed_gap(np.eye(10)[:3], np.zeros((3, 10)), folds)


def test_arms_must_be_paired():
    with pytest.raises(InputError, match="one shape"):
        crossed_gap(np.zeros((3, 4)), np.zeros((2, 4)), np.arange(4) % 2)


def test_looks_use_folds_where_there_are_any():
    rng = np.random.default_rng(4)
    x, folds = model(rng, runs=8, rows=400, row=0.3, rest=0.2, student=0.1)
    looks = planned_looks(8)
    at = follow(looks, x, np.zeros_like(x), 0.5, folds=folds)[0]
    gap = crossed_gap(100 * x[: looks[0].seeds], np.zeros_like(x[: looks[0].seeds]), folds)
    assert (at.low, at.high) == gap.interval(1 - looks[0].failure)
    plain = follow(looks, x, np.zeros_like(x), 0.5)[0]
    gap = paired_gap(100 * x[: looks[0].seeds], 100 * np.zeros_like(x[: looks[0].seeds]))
    assert (plain.low, plain.high) == gap.interval(1 - looks[0].failure)


def test_rows_that_would_decide_are_counted_with_the_factor():
    """A tenth more of all rows decides, a tenth fewer does not."""

    def at(rows):
        difference = 0.02 + np.where(np.arange(rows) // 5 % 2, 0.2, -0.2)
        table = np.repeat(difference[None], 5, axis=0)
        return analyze(Look(5, 0.05), table, np.zeros_like(table), 0.5, folds=np.arange(rows) % 5)

    rows = at(200).rows
    assert rows is not None
    assert at(10 * round(0.11 * rows)).verdict == "soft wins"
    assert at(10 * round(0.09 * rows)).verdict == "undecided"


def small_population():
    """Three classes of normal inputs."""
    rng = np.random.default_rng(9)
    y = rng.integers(3, size=6000)
    return (rng.standard_normal((6000, 8)) + 1.2 * np.eye(8)[y]).astype(np.float32), y


def test_winners_are_rarely_false_on_data_sets_that_are_drawn_anew():
    """Teachers, students, folds and rows are all drawn; at most 5% of the verdicts, and three standard errors."""
    fit = partial(ridge_student, width=12)
    metrics = ("log loss", "auc")
    scenario = Scenario(120, pairs_of(partial(fit, penalty=5.0), partial(fit, penalty=0.1)), metrics, teacher=30)
    population = small_population()
    sets = [cross_test(population, scenario, draw, seeds=6) for draw in range(40)]
    for metric in metrics:
        summary = summarize(metric, sets, 0, 0)
        shares = summary["cross-tested"]
        assert shares["false winners"] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 40)
        assert shares["power at 4"] >= shares["power at 1"]
        assert summary["coverage, cross-tested"]["other data sets"] >= 0.9
        if metric == "auc":
            assert shares["power at 4"] > 0.9


def test_few_positive_rows_can_decide_about_the_auc():
    """60 positive rows: the interval covers, and is far narrower than what counts alone allow."""
    result = curve_coverage(60, 940, (0.9, 0.88), 0.9, 400)
    assert result["missed, with the floor"] <= result["nominal"] + 3 * np.sqrt(result["nominal"] / 400)
    assert result["half-width, with the floor"] < 0.6 * result["floor of counts alone"]
    assert result["half-width, with the floor"] < 1.6 * result["half-width, scores alone"]


def test_the_floor_of_the_auc_grows_with_the_farthest_row():
    rng = np.random.default_rng(5)
    table = np.repeat(0.1 * rng.standard_normal(300)[None], 2, axis=0)
    unmet = Unmet("auc", (60, 240))
    near = crossed_mean(table)
    table[:, 0] = 3.0
    far = crossed_mean(table)
    assert far.farthest == pytest.approx(3.0 - table.mean())
    assert unmet.points(far, 0.01) > 5 * unmet.points(near, 0.01)
    assert unmet.widen(near, 0.01).half_width(0.01) == pytest.approx(
        np.hypot(near.half_width(0.01), np.log(100) * near.farthest / 300)
    )
