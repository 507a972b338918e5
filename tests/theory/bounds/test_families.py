"""Each family against an independent computation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import erf

from softlabel.errors import InputError
from softlabel.theory import bounds
from softlabel.theory.bounds import refined, tight
from softlabel.theory.bounds.needs import Needs, even_ceiling, integer_ceiling, rounded
from softlabel.theory.bounds.setting import Setting

GAMMAS, EPSILONS = st.floats(1e-4, 0.5), st.floats(1e-4, 0.99)
N, DELTA = 1000, 0.05
LOG_TWO, LOG_ONE = math.log(2 * N / DELTA), math.log(N / DELTA)
A = math.sqrt(2 / math.pi)


def test_paper_is_as_printed():
    gamma, epsilon, c = 0.07, 0.2, 0.6
    k = A / c + 3 * math.sqrt(LOG_TWO)
    soft = bounds.soft(gamma, epsilon, N, c=c, family="paper")
    assert soft.width == 2 * math.ceil(3072 / (1 + math.e**2) * k**2 / (gamma**2 * epsilon) / 2)
    assert soft.learning_rate == pytest.approx(gamma**2 * epsilon / 3)
    assert soft.iterations == math.ceil(9 / (gamma**4 * epsilon**2))
    assert (soft.radius, soft.probability) == (1.0, pytest.approx(0.85))
    log = math.log(2 / (math.log(2) * epsilon))
    hard = bounds.hard(gamma, epsilon, N, c=c, family="paper")
    assert hard.width == 2 * math.ceil(16 / gamma**4 * (2 * A * log / c + 3 * math.sqrt(LOG_TWO)) ** 2 / 2)
    assert hard.iterations == math.ceil(8 * log**2 / (gamma**2 * math.log(2) * epsilon))
    assert (hard.radius, hard.learning_rate) == (pytest.approx(2 * log / gamma), 1.0)
    loss = bounds.soft_for_loss(0.01, N, c=c, family="paper")
    assert loss.width == 2 * math.ceil(96 / (1 + math.e**2) * k**2 / 0.01 / 2)
    assert (loss.learning_rate, loss.iterations) == (pytest.approx(0.01 / 3), 90_000)
    assert bounds.hard_for_loss(gamma, epsilon, N, c=c, family="paper") == hard  # β printed where ε belongs


def test_corrected_parts_add_up_to_the_target():
    """Every part of (27) is β/3 at the corrected soft sizes, every part of the hard bound β/2."""
    beta, c, gamma = 0.02, 0.5, 0.1
    setting = Setting(n=N, delta=DELTA, c=c)
    for entropy in (1.0, 0.3, 1e-4):
        needs = bounds.families.corrected.soft_for_loss(beta, setting, entropy)
        distance = 2 * (A / c + 3 * math.sqrt(LOG_TWO)) / math.sqrt(needs.width)
        comparison = 2 * (1 + math.e**2) * distance**2
        assert comparison == pytest.approx(beta / 6)
        total = bounds.paper_mean_loss(needs.learning_rate, needs.iterations, needs.radius, comparison, entropy)
        assert total <= beta * (1 + 1e-12)
    hard = bounds.families.corrected.hard_for_loss(gamma, beta, setting)
    spent = 2 / math.sqrt(hard.width) * (A * hard.radius**2 / c + 3 * hard.radius * math.sqrt(LOG_TWO))
    margin = hard.radius * gamma - spent
    assert margin == pytest.approx(math.log(4 / beta))
    assert hard.radius**2 / (hard.learning_rate * hard.iterations) + 2 * math.exp(-margin) == pytest.approx(beta)
    gamma, epsilon = 0.07, 0.2
    soft = bounds.soft(gamma, epsilon, N, c=c, family="corrected")
    at_loss = bounds.soft_for_loss(gamma**2 * epsilon / 32, N, c=c, family="corrected")
    assert soft.width == at_loss.width
    assert soft.learning_rate == pytest.approx(at_loss.learning_rate)
    assert abs(soft.iterations - at_loss.iterations) <= 1


def refined_mean_loss(needs: Needs, kappa: float, alpha: float) -> float:
    """The mean loss guaranteed at these sizes, straight from the step inequality."""
    logit = kappa / math.sqrt(needs.width)
    logit *= math.sqrt(2 * LOG_TWO) + A * kappa / alpha + math.sqrt(LOG_ONE)
    gradient = alpha**2 / 2
    spent = (kappa / alpha) ** 2 / (needs.learning_rate * needs.iterations)
    return (spent + 2 * logit**2 / 8) / (2 - gradient * needs.learning_rate)


@pytest.mark.parametrize(("kappa", "alpha", "share"), [(1, 1, 0.5), (0.3, 1, 0.5), (4, 2, 0.5), (1, 5, 0.8)])
def test_refined_soft_spends_exactly_its_target(kappa, alpha, share):
    setting = Setting(n=N, delta=DELTA, kappa=kappa, alpha=alpha, share=share)
    needs = refined.soft(0.08, 0.1, setting)
    assert refined_mean_loss(needs, kappa, alpha) == pytest.approx(0.1 * bounds.coin_divergence(kappa * 0.08))
    assert needs.radius == pytest.approx(kappa / alpha)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_refined_steps_make_the_iterations_least(share):
    """T over η: soft κ²/(2ηβ(1−θ−η/4)) and hard B²/(ηβ(2−2θ−ρη)) are least at the steps given."""
    setting = Setting(n=N, delta=DELTA, share=share)
    soft, hard = refined.soft_for_loss(0.01, setting), refined.hard_for_loss(0.1, 0.01, setting)
    rest = 1 - share
    best = minimize_scalar(lambda step: 1 / (2 * step * 0.01 * (rest - step / 4)), bounds=(1e-3, 4 * rest - 1e-3))
    assert (best.x, best.fun) == (pytest.approx(soft.learning_rate, rel=1e-4), pytest.approx(soft.iterations))
    largest = 2 * rest / bounds.RHO - 1e-3
    best = minimize_scalar(
        lambda step: hard.radius**2 / (step * 0.01 * (2 * rest - bounds.RHO * step)), bounds=(1e-3, largest)
    )
    assert (best.x, best.fun) == (pytest.approx(hard.learning_rate, rel=1e-4), pytest.approx(hard.iterations))


@pytest.mark.parametrize("alpha", [1.0, 7.0])
@pytest.mark.parametrize("gamma", [0.5, 0.05, 0.001])
def test_refined_hard_is_the_best_radius(gamma, alpha):
    epsilon = 0.1
    beta = math.log(2) * epsilon
    margin = -math.log(math.exp(beta / 2) - 1)
    tail = (1 + math.sqrt(2)) * math.sqrt(LOG_ONE)

    def root_width(log_radius: float) -> float:
        radius = math.exp(log_radius)
        spare = alpha * radius * gamma - margin
        return alpha * radius * (A * radius + tail) / spare if spare > 0 else math.inf

    low = math.log(margin / gamma / alpha)
    best = minimize_scalar(root_width, bounds=(low + 1e-9, low + 12), options={"xatol": 1e-12})
    needs = refined.hard(gamma, epsilon, Setting(n=N, delta=DELTA, alpha=alpha))
    assert needs.width == pytest.approx(best.fun**2, rel=1e-9)
    assert needs.radius == pytest.approx(math.exp(best.x), rel=1e-4)
    assert needs.learning_rate == pytest.approx(0.5 / bounds.RHO / alpha**2)
    spent = needs.radius**2 / (needs.learning_rate * needs.iterations)
    assert (spent + 2 * beta / 2) / (2 - bounds.RHO * alpha**2 * needs.learning_rate) == pytest.approx(beta)


def soft_condition(width: float, gamma: float, epsilon: float, kappa: float = 1.0) -> float:
    """Spare logit deviation, written as in the specification."""
    q = erf(kappa / np.sqrt(2 * width))
    flips = kappa * q + 2 * kappa * np.sqrt(q * LOG_ONE / width) + 2 * kappa * LOG_ONE / (3 * width)
    allowed = np.sqrt(8 * 0.5 * epsilon * bounds.coin_divergence(kappa * gamma))
    return allowed - kappa * np.sqrt(2 * LOG_TWO / width) - flips


def hard_condition(width: float, gamma: float, epsilon: float) -> float:
    """Spare margin at the best of many radii."""
    radius = np.geomspace(1e-2, 1e6, 40_001)
    q = erf(radius / np.sqrt(2 * width))
    flips = radius * (q + 2 * np.sqrt(q * LOG_ONE / width) + 2 * LOG_ONE / (3 * width))
    margin = radius * gamma - radius * np.sqrt(2 * LOG_ONE / width) - flips
    return margin.max() + math.log(math.expm1(0.5 * math.log(2) * epsilon))


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.5, 0.9), (0.5, 0.3), (0.3, 0.3), (0.2, 0.05)])
def test_tight_soft_is_the_first_even_width_of_a_scan(gamma, epsilon):
    widths = np.arange(2, 200_000, 2)
    holds = soft_condition(widths, gamma, epsilon) >= 0
    assert bounds.soft_width(gamma, epsilon, N) == widths[holds.argmax()]
    assert holds[holds.argmax() :].all()  # once true, true for ever


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.5, 0.3), (0.3, 0.05), (0.05, 0.1)])
def test_tight_hard_is_where_some_radius_first_suffices(gamma, epsilon):
    width = tight.hard(gamma, epsilon, Setting(n=N, delta=DELTA)).width
    assert hard_condition(width * 1.0001, gamma, epsilon) > 0
    assert hard_condition(width * 0.9999, gamma, epsilon) < 0
    margins = [hard_condition(width * factor, gamma, epsilon) for factor in np.geomspace(0.1, 10, 41)]
    assert (np.diff(margins) >= 0).all()


def test_tight_hard_margin_is_the_largest_over_the_radius():
    setting = Setting(n=N, delta=DELTA)
    for width, gamma in ((5000, 0.5), (10**6, 0.2), (10**9, 0.01)):

        def loss(log_radius, width=width, gamma=gamma) -> float:
            radius = math.exp(log_radius[0])
            deviation = radius * math.sqrt(2 * LOG_ONE / width)
            return -(radius * gamma - deviation - bounds.flip_deviation(width, radius, N, DELTA, sharp=True))

        margin, radius = tight.best_margin(width, gamma, setting)
        best = minimize(loss, [math.log(radius) + 0.3], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
        assert margin == pytest.approx(-best.fun, rel=1e-9)
        assert -loss([math.log(radius)]) == pytest.approx(margin, rel=1e-12)
    assert tight.best_margin(10, 0.05, setting) == (0.0, 0.0)


@settings(max_examples=60, deadline=None)
@given(GAMMAS, EPSILONS, st.integers(1, 10**9), st.floats(1e-6, 0.33))
def test_families_are_ordered_and_fall_with_margin_and_error(gamma, epsilon, n, delta):
    for arm in (bounds.soft_width, bounds.hard_width):
        exact, closed, long = (
            arm(gamma, epsilon, n, delta=delta, family=name) for name in ("tight", "refined", "corrected")
        )
        assert exact <= closed <= long
        assert exact % 2 == closed % 2 == long % 2 == 0
        for family in bounds.FAMILIES:
            width = arm(gamma, epsilon, n, delta=delta, family=family)
            assert arm(gamma / 2, epsilon, n, delta=delta, family=family) >= width
            assert arm(gamma, epsilon / 2, n, delta=delta, family=family) >= width
            assert arm(gamma, epsilon, 2 * n, delta=delta, family=family) >= width


def test_cold_labels_reach_their_limit():
    """As κ → 0 the condition is √(2 ln(2n/δ)/m) + 2L/(3m) ≤ γ√(θε): 2 ln(2n/δ)/(θεγ²) and a lower-order term."""
    allowed = 0.05 * math.sqrt(0.5 * 0.1)
    root = math.sqrt(2 * LOG_TWO)
    limit = ((root + math.sqrt(root**2 + 8 * LOG_ONE / 3 * allowed)) / (2 * allowed)) ** 2
    assert bounds.soft_width(0.05, 0.1, N, kappa=1e-9) == pytest.approx(limit, rel=1e-4)
    assert limit == pytest.approx(2 * LOG_TWO / (0.5 * 0.1 * 0.05**2), rel=0.01)
    assert bounds.soft_width(0.05, 0.1, N, kappa=1e-3) > limit


def test_a_large_output_scale_frees_hard_labels_of_the_fourth_power():
    free = bounds.hard_width(0.01, 0.1, N, alpha=1e9)
    assert free == pytest.approx(((1 + math.sqrt(2)) ** 2) * LOG_ONE / 0.01**2, rel=0.7)
    assert bounds.hard_width(0.005, 0.1, N, alpha=1e9) == pytest.approx(4 * free, rel=0.05)
    refined_free = bounds.hard(0.01, 0.1, N, alpha=1e9, family="refined")
    assert refined_free.width == pytest.approx(((1 + math.sqrt(2)) ** 2) * LOG_ONE / 0.01**2, rel=0.01)
    assert bounds.hard_width(0.005, 0.1, N) == pytest.approx(16 * bounds.hard_width(0.01, 0.1, N), rel=0.1)


def test_limits():
    assert bounds.soft_width(0.5, 1 - 1e-12, 1, delta=0.33) >= 2
    assert bounds.hard(0.5, 1 - 1e-12, 1, delta=0.33).width >= 2
    small, smaller = (bounds.soft_width(gamma, 0.1, 1) for gamma in (1e-5, 1e-6))
    assert smaller == pytest.approx(100 * small, rel=1e-3)  # γ → 0: γ⁻² and γ⁻⁴
    small, smaller = (bounds.hard_width(gamma, 0.1, 1) for gamma in (1e-5, 1e-6))
    assert smaller == pytest.approx(1e4 * small, rel=1e-2)
    assert isinstance(small, float)  # beyond 2⁵³
    assert isinstance(bounds.soft_width(1e-5, 0.1, 1), int)


@pytest.mark.parametrize("family", bounds.FAMILIES)
@pytest.mark.parametrize("gamma", [1e-50, 1e-80, 1e-160, 1e-300, 5e-324])
@pytest.mark.parametrize("epsilon", [0.5, 1e-300, 5e-324])
def test_tiny_inputs_overflow_to_infinity_and_nothing_else(family, gamma, epsilon):
    for arm in (bounds.soft, bounds.hard):
        result = arm(gamma, epsilon, 10**400, delta=1e-300, c=1e-300, family=family)
        assert result.width > 2**53
        assert result.iterations > 1
        assert result.radius > 0
        assert result.learning_rate is None or result.learning_rate > 0
        if math.isinf(result.width):
            assert "beyond" in result.note


def test_numpy_numbers_are_as_good_as_plain_ones():
    result = bounds.hard(
        np.float64(1e-300), np.float32(0.5), np.int64(10), delta=np.float64(0.05), c=np.float64(1e-300)
    )
    assert result.width == math.inf
    assert bounds.soft(np.float64(0.1), 0.1, np.int32(10)) == bounds.soft(0.1, 0.1, 10)


def test_rounding():
    assert [even_ceiling(x) for x in (0.1, 2, 2.1, 3, 4.0)] == [2, 2, 4, 4, 4]
    assert even_ceiling(2.0**53) == 2**53
    assert isinstance(even_ceiling(2.0**53), int)
    assert isinstance(even_ceiling(2.0**54), float)
    assert even_ceiling(math.inf) == integer_ceiling(math.inf) == math.inf
    assert [integer_ceiling(x) for x in (0.2, 1.0, 1.5)] == [1, 1, 2]
    assert rounded(Needs(3.0, 0.0, 2.5, 1.0), 0.9).learning_rate is None  # a step below floating point


@pytest.mark.parametrize("family", ["paper", "corrected"])
def test_the_papers_route_is_silent_about_temperature_and_scale(family):
    warm = bounds.soft(0.1, 0.1, N, kappa=2, family=family)
    assert (warm.width, warm.learning_rate, warm.iterations, warm.radius) == (None, None, None, None)
    assert "temperature" in warm.note
    assert bounds.hard(0.1, 0.1, N, family=family).width is not None
    assert "output scale" in bounds.hard(0.1, 0.1, N, alpha=2, family=family).note
    assert bounds.soft_for_loss(0.01, N, alpha=2, family=family).width is None
    assert bounds.hard_for_loss(0.1, 0.01, N, alpha=2, family=family).width is None


def test_loss_targets_are_the_error_targets_they_imply():
    for family in ("refined", "tight"):
        error = bounds.soft(0.1, 0.2, N, kappa=0.7, family=family)
        assert bounds.soft_for_loss(0.2 * bounds.coin_divergence(0.07), N, kappa=0.7, family=family) == error
        assert bounds.hard_for_loss(0.1, math.log(2) * 0.2, N, family=family) == bounds.hard(0.1, 0.2, N, family=family)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.soft(0.6, 0.1, N), "`gamma` must satisfy 0 < γ ≤ 0.5, got 0.6; "),
        (lambda: bounds.soft(math.nan, 0.1, N), "`gamma` must satisfy 0 < γ ≤ 0.5, got nan; "),
        (lambda: bounds.soft("wide", 0.1, N), "`gamma` must satisfy 0 < γ ≤ 0.5, got wide; "),
        (lambda: bounds.soft(0.1, 1.0, N), "`epsilon` must satisfy 0 < ε < 1, got 1.0; "),
        (lambda: bounds.soft(0.1, 0.1, 0), "`n` must be a whole number of examples ≥ 1, got 0; "),
        (lambda: bounds.soft(0.1, 0.1, 10.5), "`n` must be a whole number of examples ≥ 1, got 10.5; "),
        (lambda: bounds.soft(0.1, 0.1, N, delta=1 / 3), "`delta` must satisfy 0 < δ < ⅓, got 0.333"),
        (lambda: bounds.hard(0.1, 0.1, N, c=0), "`c` must satisfy 0 < c ≤ 1, got 0; "),
        (lambda: bounds.soft(0.1, 0.1, N, kappa=math.inf), "`kappa` must satisfy 0 < κ < ∞, got inf; "),
        (lambda: bounds.soft(0.1, 0.1, N, alpha=-1), "`alpha` must satisfy 0 < α < ∞, got -1; "),
        (lambda: bounds.soft(0.1, 0.1, N, share=1), "`share` must satisfy 0 < θ < 1, got 1; "),
        (lambda: bounds.soft_for_loss(1.5, N), "`beta` must satisfy 0 < β < 1, got 1.5; "),
        (lambda: bounds.soft(0.1, 0.1, N, family="tigt"), "unknown family 'tigt': did you mean 'tight'?"),
        (lambda: bounds.guaranteed_error(100, 0.1, N, arm="sof"), "unknown arm 'sof': did you mean 'soft'?"),
    ],
)
def test_wrong_inputs_are_named(call, message):
    with pytest.raises(InputError) as problem:
        call()
    assert str(problem.value).startswith(message)
    assert "\n" not in str(problem.value)
