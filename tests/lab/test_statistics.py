"""Intervals cover as often as they say, adjustments are the textbook's, and verdicts follow from intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softlabel.errors import InputError
from softlabel.lab.statistics import (
    crossed_difference,
    crossed_mean,
    holm,
    judge,
    paired_gap,
    paired_spread_ratio,
    runs_needed,
    share_interval,
    stratified_difference,
    sum_of_dependent,
    sum_of_independent,
)


def table(rng, runs, examples, run=1.0, example=1.0, rest=1.0, mean=0.0):
    return (
        mean
        + run * rng.standard_normal((runs, 1))
        + example * rng.standard_normal((1, examples))
        + rest * rng.standard_normal((runs, examples))
    )


def test_variance_parts_are_unbiased():
    rng = np.random.default_rng(0)
    estimates = [crossed_mean(table(rng, 6, 40, run=0.5, example=2.0, rest=1.5)) for _ in range(3000)]
    run_part = np.mean([estimate.run_part for estimate in estimates])
    example_part = np.mean([estimate.example_part for estimate in estimates])
    assert run_part == pytest.approx(0.25 / 6 + 2.25 / 240, rel=0.03)
    assert example_part == pytest.approx(4 / 40, rel=0.03)
    spread = np.var([estimate.mean for estimate in estimates])
    assert spread == pytest.approx(run_part + example_part, rel=0.08)


@pytest.mark.parametrize(
    ("runs", "examples", "run", "example"),
    [(3, 200, 1.0, 0.0), (3, 200, 0.1, 1.0), (5, 100, 0.3, 3.0), (10, 1000, 0.05, 0.5), (20, 50, 1.0, 1.0)],
)
def test_intervals_cover_as_often_as_they_say(runs, examples, run, example):
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        low, high = crossed_mean(table(rng, runs, examples, run, example, mean=7.0)).interval(0.95)
        hits += low <= 7 <= high
    assert 0.936 <= hits / 2000 <= 0.985  # three errors below; a little too wide is allowed


@pytest.mark.parametrize(("run", "shared"), [(1.0, 0.0), (0.1, 3.0), (0.5, 1.0)])
def test_differences_of_runs_on_the_same_examples_cover(run, shared):
    """Four runs against thirty on the same examples, whose effects are partly common to both tables."""
    rng, hits, halves = np.random.default_rng(11), 0, []
    for _ in range(1500):
        common = shared * rng.standard_normal((1, 100))
        few, many = (common + table(rng, runs, 100, run, 0.5, mean=mean) for runs, mean in ((4, 5.0), (30, 3.0)))
        interval = crossed_difference(few, many, 0.95)
        hits += interval.low <= 2 <= interval.high
        halves.append((interval.high - interval.low) / 2)
    assert 0.933 <= hits / 1500 <= 0.99
    if shared == 3:  # what is common to both cancels
        apart = sum_of_independent([crossed_mean(few), crossed_mean(many)], 0.95)
        assert np.mean(halves) < 0.6 * (apart.high - apart.low) / 2


def test_a_difference_of_tables_of_other_examples_is_refused():
    with pytest.raises(InputError, match="the same in both tables"):
        crossed_difference(np.zeros((3, 5)), np.zeros((3, 6)), 0.95)


def test_intervals_cover_with_zeros_and_ones():
    """As in a table of accuracies: runs of different quality, examples of different difficulty, paired arms."""
    rng = np.random.default_rng(2)
    examples_truth = 20_000
    difficulty = rng.logistic(size=examples_truth) + 2.5
    hits = 0
    draws = 600
    population = 0.0

    def right(skill, chosen):
        return rng.random((len(skill), len(chosen))) < 1 / (1 + np.exp(-(chosen + skill[:, None])))

    wide = rng.normal(0, 0.3, (2, 400))
    population = float(
        np.mean([1 / (1 + np.exp(-(difficulty + 0.5 + skill))) for skill in wide[0, :100]])
        - np.mean([1 / (1 + np.exp(-(difficulty + skill))) for skill in wide[0, :100]])
    )
    for _ in range(draws):
        chosen = rng.choice(difficulty, 400)
        skill = rng.normal(0, 0.3, 5)
        low, high = paired_gap(right(skill + 0.5, chosen), right(skill, chosen)).interval(0.95)
        hits += low <= population <= high
    assert hits / draws >= 0.92


def test_without_run_variation_it_is_the_interval_of_a_mean():
    x = np.random.default_rng(3).standard_normal(500)
    estimate = crossed_mean(np.tile(x, (4, 1)))
    low, high = estimate.interval(0.95)
    expected = stats.t.interval(0.95, 499, x.mean(), stats.sem(x))
    assert (low, high) == pytest.approx(expected, rel=1e-6)
    assert estimate.p_value() == pytest.approx(stats.ttest_1samp(x, 0).pvalue, rel=1e-6)


def test_without_examples_variation_it_is_the_interval_of_the_runs():
    x = np.random.default_rng(4).standard_normal(6)
    estimate = crossed_mean(np.tile(x[:, None], (1, 300)))
    assert estimate.interval(0.9) == pytest.approx(stats.t.interval(0.9, 5, x.mean(), stats.sem(x)), rel=1e-6)
    assert estimate.effect == pytest.approx(x.mean() / x.std(ddof=1))


def test_the_p_value_is_where_the_interval_reaches_zero():
    gap = crossed_mean(table(np.random.default_rng(8), 4, 60, run=0.5, example=1.0, mean=0.8))
    low, high = gap.interval(1 - gap.p_value())
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)
    far = crossed_mean(table(np.random.default_rng(8), 40, 60, run=1e-9, example=1e-9, rest=1e-9, mean=1.0))
    assert far.p_value() == 1e-12


def test_no_variation_at_all():
    estimate = crossed_mean(np.full((3, 5), 2.0))
    assert estimate.interval() == (2, 2)
    assert estimate.p_value() == 0
    assert crossed_mean(np.zeros((3, 5))).p_value() == 1
    assert estimate.effect is None


@pytest.mark.parametrize("shape", [(1, 10), (10, 1), (10,)])
def test_too_little_for_a_mean(shape):
    with pytest.raises(InputError, match="at least two runs and two examples"):
        crossed_mean(np.zeros(shape))


def test_arms_must_be_paired():
    with pytest.raises(InputError, match="one shape"):
        paired_gap(np.zeros((3, 4)), np.zeros((2, 4)))


def test_holm_is_the_textbooks():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5]) == [0.5]
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_no_adjustment_and_bonferronis_and_keeps_the_order(p):
    adjusted = holm(p)
    assert all(a >= b for a, b in zip(adjusted, p, strict=True))
    assert all(a <= min(1, len(p) * b) + 1e-12 for a, b in zip(adjusted, p, strict=True))
    order = np.argsort(p, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


def test_holm_keeps_the_family_error_rate():
    rng = np.random.default_rng(5)
    wrong = sum(min(holm(list(rng.random(6)))) <= 0.05 for _ in range(4000))
    assert wrong / 4000 <= 0.065


def test_runs_needed_is_enough_and_one_fewer_is_not():
    gap = crossed_mean(table(np.random.default_rng(6), 4, 5000, run=1.0, example=1.0, mean=0.4))
    needed = runs_needed(gap)
    assert needed is not None
    assert needed > 4

    def half(runs):
        of_runs = stats.t.isf(0.025, runs - 1) ** 2 * gap.run_part * 4 / runs
        return math.sqrt(of_runs + stats.t.isf(0.025, gap.examples - 1) ** 2 * gap.example_part)

    assert half(needed) < abs(gap.mean) <= half(needed - 1)


def test_where_test_examples_are_too_few_no_number_of_runs_decides():
    x = table(np.random.default_rng(7), 4, 30, run=0.01, example=5.0, rest=0.1)
    gap = crossed_mean(x - x.mean() + 0.05)
    assert runs_needed(gap) is None
    assert runs_needed(gap, equivalence=100.0) == 2


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.6, 2.0, "soft wins"),
        (0.1, 2.0, "soft wins"),
        (-3.0, -0.1, "hard wins"),
        (-0.4, 0.4, "no difference"),
        (0.1, 0.3, "no difference"),
        (-0.6, 0.2, "undecided"),
        (-2.0, 2.0, "undecided"),
    ],
)
def test_verdicts(low, high, verdict):
    assert judge(low, high, 0.5) == verdict


def test_without_an_equivalence_nothing_is_no_difference():
    assert judge(-0.1, 0.1, 0.0) == "undecided"
    assert judge(0.0, 0.1, 0.0) == "undecided"


def test_shares_have_wilsons_interval():
    """Against the roots of (p − x)² = z² x (1 − x)/n, and the ends of the range."""
    one = share_interval(7, 20, 0.95)
    for x in (one.low, one.high):
        assert (0.35 - x) ** 2 == pytest.approx(1.959964**2 * x * (1 - x) / 20, rel=1e-5)
    assert share_interval(0, 10, 0.95).low == 0
    assert share_interval(10, 10, 0.95).high == 1
    assert share_interval(0, 10, 0.95).high == pytest.approx(0.2775, abs=1e-3)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_ratio_of_paired_spreads_is_covered_as_often_as_it_says(correlation):
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        shared, own = rng.standard_normal(12), rng.standard_normal(12)
        first = shared
        second = 3 * (correlation * shared + np.sqrt(1 - correlation**2) * own)
        one = paired_spread_ratio(first.tolist(), second.tolist(), 0.9)
        covered += one.low <= np.log(1 / 3) <= one.high
        assert one.low < one.mean < one.high
    assert covered / 400 == pytest.approx(0.9, abs=0.04)


def test_spreads_of_constant_or_few_values_are_refused():
    with pytest.raises(InputError, match="differ from run to run"):
        paired_spread_ratio([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], 0.95)
    with pytest.raises(InputError, match="at least three runs"):
        paired_spread_ratio([1.0, 2.0], [1.0, 2.0], 0.95)


def test_sums_of_independent_means():
    rng = np.random.default_rng(0)
    parts = [crossed_mean(rng.normal(k, 1, (5, 30))) for k in range(3)]
    total = sum_of_independent(parts, 0.9)
    assert total.mean == pytest.approx(sum(part.mean for part in parts))
    assert (total.high - total.low) / 2 == pytest.approx(np.sqrt(sum(part.half_width(0.1) ** 2 for part in parts)))
    alone = sum_of_independent(parts[:1], 0.9)
    assert (alone.low, alone.high) == pytest.approx(parts[0].interval(0.9))


def test_sums_of_means_that_may_depend_on_each_other_cover_the_worst_case():
    """The same sample twice: the sum is twice its mean, and so is its half-width."""
    part = crossed_mean(np.random.default_rng(0).normal(1, 1, (5, 30)))
    total = sum_of_dependent([part, part], 0.9)
    assert (total.low, total.high) == pytest.approx([2 * end for end in part.interval(0.9)])


def test_a_stratified_difference_compares_like_with_like():
    """The first values are 1 larger within every stratum, but more of them are in the lower stratum."""
    rng = np.random.default_rng(0)
    strata = (np.repeat([0, 1], [80, 20]), np.repeat([0, 1], [20, 80]))
    first, second = (
        10.0 * group + rng.normal(shift, 0.5, 100) for group, shift in zip(strata, (1.0, 0.0), strict=True)
    )
    result = stratified_difference(first, second, strata, 0.95)
    assert result.low < 1 < result.high
    assert result.high - result.low < 0.8
    assert first.mean() < second.mean()
    assert stratified_difference([1.0], [2.0], ([0], [0]), 0.95) is None
    assert stratified_difference([1.0, 2.0], [2.0, 3.0], ([0, 0], [1, 1]), 0.95) is None


def test_a_stratified_difference_covers():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        strata = (rng.integers(0, 3, 20), rng.integers(0, 3, 20))
        first, second = (rng.normal(2.0 * group, spread) for group, spread in zip(strata, (1.0, 1.0), strict=True))
        result = stratified_difference(first, second, strata, 0.95)
        hits += result.low <= 0 <= result.high
    assert 365 <= hits <= 394
