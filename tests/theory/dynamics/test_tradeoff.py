"""λ's trade-off: the printed error formula, monotone error, faster poles; and what changes without full rank."""

from dataclasses import replace

import numpy as np
import pytest

from softlabel.errors import InputError
from softlabel.theory.dynamics import all_poles, exact_dynamics
from softlabel.theory.dynamics.tradeoff import strength_tradeoff
from tests.theory.dynamics.problems import problem

STRENGTHS = [0.0, 0.01, 0.1, 1.0, 10.0, 100.0]


@pytest.mark.parametrize("seed", range(4))
def test_error_rises_and_poles_quicken_with_the_strength(seed):
    p = problem(seed=seed, away=0.05, m=6)
    result = strength_tradeoff(p, STRENGTHS)
    errors = [trade.error for trade in result]
    assert errors[0] == pytest.approx(0, abs=1e-5)
    assert errors == sorted(errors)
    teacher = float((p.mix @ p.privileged - p.y).norm())
    for trade in result:
        expected = trade.strength / (p.a + trade.strength) * teacher
        assert trade.error == pytest.approx(expected, abs=1e-5)
        assert trade.printed_error == pytest.approx(expected, abs=1e-9)
    assert result[-1].slowest_active > result[1].slowest_active


def test_with_more_examples_than_inputs_labels_are_not_reached_at_all():
    result = strength_tradeoff(problem(n=40, d=4, m=3), [0.0, 1.0])
    assert result[0].error > 0.5
    assert result[0].printed_error == pytest.approx(0, abs=1e-9)


def test_infinite_strength_is_the_end_of_the_line():
    p = problem()
    result = strength_tradeoff(p, [1e6, np.inf])
    assert result[0].error == pytest.approx(result[1].error, rel=1e-4)


def test_bad_share():
    with pytest.raises(InputError, match="`active` must lie"):
        strength_tradeoff(problem(), [1.0], active=0)


def test_settled_and_slowest_by_their_definitions():
    p = problem(m=6)
    (trade,) = strength_tradeoff(p, [0.7])
    exact = exact_dynamics(p)
    end, start = exact(None), exact(0.0)
    left = np.linalg.norm(exact(trade.settled) - end) / np.linalg.norm(start - end)
    assert left == pytest.approx(0.1, rel=1e-4)
    assert (np.abs(all_poles(p) / trade.slowest_active - 1) < 1e-6).any()


def test_many_equal_movements_still_have_a_slowest():
    """No pole carries a large share by itself; a share of all of it decides."""
    for seed in range(5):
        for trade in strength_tradeoff(problem(n=30, d=40, m=8, seed=seed), [0.1, 10.0], active=0.2):
            assert trade.slowest_active > 0


def test_a_little_strength_may_slow_learning():
    """Every pole grows with λ, but at λ = 0 the slow ones do not move f: small λ makes them active."""
    p = problem(n=20, d=22, m=30, away=0.0)
    none, little, much = strength_tradeoff(p, [0.0, 0.1, 100.0])
    assert little.settled > 2 * none.settled
    assert much.settled < none.settled
    poles = [all_poles(replace(p, strength=strength)) for strength in (0.0, 0.1, 100.0)]
    assert (poles[0] <= poles[1] + 1e-9).all()
    assert (poles[1] <= poles[2] + 1e-9).all()
