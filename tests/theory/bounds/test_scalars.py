import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from softlabel.theory.bounds import RHO, coin_divergence, divergence, error_from_loss
from softlabel.theory.bounds.scalars import log_share, ratio, refined_spread, safe_margin_for_loss, spread

LOGITS = st.floats(-40, 40)
TINY = 1e-14  # rounding of a divergence computed from two softplus values


def exact_coin_divergence(z: float) -> float:
    """ψ from its definition in 80 digits."""
    with localcontext() as context:
        context.prec = 80
        half = Decimal(z) / 2
        grow, shrink = half.exp(), (-half).exp()
        cosh, sinh = (grow + shrink) / 2, (grow - shrink) / 2
        return float(half * sinh / cosh - cosh.ln())


@pytest.mark.parametrize("z", [*np.geomspace(1e-12, 200, 60), 0.5, 1 - 1e-12, 1 + 1e-12])
def test_coin_divergence_is_exact_everywhere(z):
    assert coin_divergence(z) == pytest.approx(exact_coin_divergence(z), rel=1e-14)
    assert coin_divergence(-z) == coin_divergence(z)


def test_coin_divergence_limits():
    assert coin_divergence(0.0) == 0.0
    assert coin_divergence(1e-9) == pytest.approx(1e-18 / 8, rel=1e-12)
    assert coin_divergence(math.inf) == coin_divergence(1e5) == math.log(2)
    assert coin_divergence(1e-200) == 0.0
    assert coin_divergence(np.array([[0.1, 3.0]])).shape == (1, 2)
    z = 0.01
    assert coin_divergence(z) == pytest.approx(z**2 / 8 - z**4 / 64 + z**6 / 576, rel=1e-12)


def test_rho_is_the_maximum():
    result = minimize_scalar(lambda w: -((1 - math.exp(-w)) ** 2) / w, bounds=(0.1, 5), options={"xatol": 1e-12})
    assert pytest.approx(-result.fun, rel=1e-13) == RHO
    assert pytest.approx(0.407264, abs=5e-7) == RHO
    w = np.geomspace(1e-6, 700, 200_001)
    assert ((1 - np.exp(-w)) ** 2 / w).max() <= RHO * (1 + 1e-14)


def test_spreads():
    assert spread(1000, 0.05, 0.5) == pytest.approx(2 * math.sqrt(2 / math.pi) + 3 * math.sqrt(math.log(40_000)))
    expected = math.sqrt(2 / math.pi) + math.sqrt(2 * math.log(40_000)) + math.sqrt(math.log(20_000))
    assert refined_spread(1000, 0.05) == pytest.approx(expected)
    assert log_share(2, 10**400, 1e-300) == pytest.approx(math.log(2) + 700 * math.log(10))


@pytest.mark.parametrize("beta", [0.9, 1e-3, 1e-20, 5e-324])
def test_at_the_safe_margin_the_logistic_loss_is_the_share(beta):
    margin = safe_margin_for_loss(beta, 0.5)
    assert 0 < margin < 750
    assert math.log1p(math.exp(-margin)) == pytest.approx(beta / 2, rel=1e-12, abs=5e-324)


def test_a_ratio_with_an_underflown_denominator_is_infinite():
    assert ratio(1.0, 0.0) == math.inf
    assert ratio(3.0, 2.0) == 1.5


# --- the inequalities that the refined family stands on -------------------------------------------------------------


def grids(largest: float = 30.0, points: int = 601) -> tuple[np.ndarray, np.ndarray]:
    line = np.linspace(-largest, largest, points)
    return np.meshgrid(line, line)


def sigmoid(f):
    return 1 / (1 + np.exp(-f))


def test_divergence_is_below_an_eighth_of_the_squared_distance():
    for largest in (0.5, 3, 30):
        z, f = grids(largest)
        assert (divergence(z, f) <= (z - f) ** 2 / 8 + TINY).all()


@given(LOGITS, LOGITS)
def test_divergence_is_below_an_eighth_of_the_squared_distance_anywhere(z, f):
    assert divergence(z, f) <= (z - f) ** 2 / 8 + TINY


def test_soft_gradient_is_bounded_by_the_loss():
    for largest in (0.5, 3, 30):
        z, f = grids(largest)
        assert ((sigmoid(f) - sigmoid(z)) ** 2 <= divergence(z, f) / 2 + TINY).all()


@given(LOGITS, LOGITS)
def test_soft_gradient_is_bounded_by_the_loss_anywhere(z, f):
    assert (sigmoid(f) - sigmoid(z)) ** 2 <= divergence(z, f) / 2 + TINY


def test_hard_gradient_is_bounded_by_the_loss():
    f = np.linspace(-50, 50, 200_001)
    assert (sigmoid(-f) ** 2 <= RHO * np.logaddexp(0, -f) * (1 + 1e-12)).all()
    assert (sigmoid(-f) ** 2 / np.logaddexp(0, -f)).max() == pytest.approx(RHO, rel=1e-8)


@given(st.floats(-700, 700))
def test_hard_gradient_is_bounded_by_the_loss_anywhere(f):
    assert sigmoid(-np.float64(f)) ** 2 <= RHO * np.logaddexp(0, -f) * (1 + 1e-12)


@given(st.floats(1e-3, 40), st.floats(0, 40))
def test_a_misclassified_point_loses_at_least_what_a_coin_does(z, wrong):
    assert divergence(z, -wrong) >= coin_divergence(z) - TINY
    assert divergence(-z, wrong) >= coin_divergence(z) - TINY


@given(st.floats(0, 40))
def test_a_misclassified_point_has_logistic_loss_at_least_ln_2(wrong):
    assert np.logaddexp(0, wrong) >= math.log(2)


def test_coin_divergence_is_at_least_a_square_over_8_4_and_the_constant_is_attained():
    gamma = np.geomspace(1e-8, 0.5, 20_001)
    assert (coin_divergence(gamma) >= gamma**2 / 8.4).all()
    assert error_from_loss(0.3) * divergence(0.3, 0.0) == pytest.approx(1, rel=1e-12)  # f = 0 is the worst mistake


def test_a_half_silent_term_is_subgaussian_with_proxy_one_half():
    """E e^{λ(X−EX)} ≤ e^{λ²/4} for |X| ≤ 1 that is 0 half the time (Lemma 6); two points ±1 are the extreme."""
    tilt, mean = np.meshgrid(np.linspace(-30, 30, 1201), np.linspace(-1, 1, 401))
    up, down = np.log((1 + mean) / 4 + 1e-300) + tilt, np.log((1 - mean) / 4 + 1e-300) - tilt
    log_moment = np.logaddexp(math.log(0.5), np.logaddexp(up, down)) - tilt * mean / 2
    assert (log_moment <= tilt**2 / 4 + 1e-12).all()
    assert (np.abs(log_moment) / np.maximum(tilt**2, 1e-9) > 0.249).any()  # nothing smaller than ¼ would do
