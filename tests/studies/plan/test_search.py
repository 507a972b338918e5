import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from softlabel.studies.plan.search import (
    allowed_misses,
    attempt_widths,
    fit_curve,
    next_width,
    reaching_probability,
    smallest_passing,
    tolerance_factor,
    tolerance_limit,
)


def test_the_tolerance_factor_is_the_tabled_one():
    assert tolerance_factor(10, 0.9, 0.95) == pytest.approx(2.355, abs=5e-4)  # Owen's tables
    assert tolerance_factor(50, 0.95, 0.95) == pytest.approx(2.065, abs=1e-3)


def test_the_tolerance_limit_keeps_its_confidence():
    rng = np.random.default_rng(0)
    limits = [tolerance_limit(rng.standard_normal(8), 0.9, 0.95) for _ in range(4000)]
    assert np.mean(np.array(limits) <= -1.2816) == pytest.approx(0.95, abs=0.01)
    assert tolerance_limit([0.5], 0.9, 0.95) == -np.inf
    assert tolerance_limit([0.5] * 3, 0.9, 0.95, least=0.01) < 0.46  # equal values prove little


@given(st.integers(1, 200), st.floats(0.6, 0.99), st.floats(0.001, 0.2))
def test_allowed_misses_are_the_most_that_keep_the_failure(students, share, failure):
    allowed = allowed_misses(students, share, failure)
    if allowed >= 0:
        assert binom.cdf(allowed, students, 1 - share) <= failure
    if allowed + 1 < students:
        assert binom.cdf(allowed + 1, students, 1 - share) > failure


def test_the_default_confirmation_allows_one_miss():
    assert allowed_misses(62, 0.9, 0.05 / 4) == 1
    assert allowed_misses(41, 0.9, 0.05 / 4) == -1
    assert reaching_probability(61, 62, 0.05 / 4) >= 0.9
    assert reaching_probability(0, 10, 0.05) == 0


def test_the_smallest_passing_width_may_be_asked_to_have_only_passing_ones_above_it():
    mixed = {2: False, 4: True, 8: False, 16: True, 32: True}
    assert smallest_passing(mixed) == 4  # fresh students will tell
    assert smallest_passing(mixed, throughout=True) == 16
    assert smallest_passing({2: True, 4: True}, throughout=True) == 2
    assert smallest_passing({2: True, 4: False}, throughout=True) is None
    assert smallest_passing({2: False}) is None


@given(st.lists(st.integers(1, 600), min_size=2, max_size=8, unique=True), st.integers(0, 7))
def test_bisection_ends_and_stays_within_its_bracket(widths, first_passing):
    widths = sorted(widths)
    threshold = widths[min(first_passing, len(widths) - 1)]
    passes = {width: width >= threshold for width in widths}
    for _ in range(12):
        width = next_width(passes)
        if width is None:
            break
        assert width % 2 == 0
        assert width not in passes
        assert max(w for w in passes if not passes[w]) < width < smallest_passing(passes)
        passes[width] = width >= threshold - 1
    else:
        pytest.fail("bisection does not end")


def test_attempts_grow_and_stop_at_the_limit():
    assert attempt_widths(20, 512) == [20, 26, 32, 40]
    assert attempt_widths(512, 512) == [512]
    assert attempt_widths(3, 512) == [3, 4, 6, 8]
    assert attempt_widths(2, 512) == [2, 4, 6, 8]
    assert attempt_widths(2, 7) == [2, 4, 6, 7]
    assert attempt_widths(20, 512, sure=20) == [20, 26, 32, 40]
    assert attempt_widths(20, 512, sure=64) == [20, 26, 32, 64]


def hill(width: int) -> float:
    return 0.1 + 0.87 / (1 + (3 / width) ** 2.2)


def test_a_curve_predicts_the_excluded_width():
    widths = [2, 4, 8, 16, 32, 64, 128]
    fit = fit_curve(widths, [hill(width) for width in widths], 0.1)
    assert fit is not None
    assert fit.excluded == 16
    assert fit.missed_by == pytest.approx(0, abs=1e-4)
    assert (fit.top, fit.half, fit.power) == pytest.approx((0.97, 3, 2.2), rel=1e-2)


def test_a_kink_shows_at_the_excluded_width():
    widths = [2, 4, 8, 16, 32, 64, 128]
    accuracies = [hill(width) for width in widths]
    accuracies[3] -= 0.1
    fit = fit_curve(widths, accuracies, 0.1)
    assert fit is not None
    assert fit.missed_by == pytest.approx(0.1, abs=0.01)
    assert fit_curve(widths[:4], accuracies[:4], 0.1) is None
