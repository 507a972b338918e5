"""The margin of a student at initialization."""

import numpy as np
import pytest

from softlabel.errors import InputError
from softlabel.networks.initialization import draw_weights
from softlabel.theory.margin import init_margin
from tests.theory.margin.problems import digits, two_xor


def test_starts_approach_the_margin():
    x, y = two_xor(3)
    result = {
        m: [init_margin(x, y, draw_weights("symmetric", width=m, inputs=3, seed=seed).hidden) for seed in range(4)]
        for m in (4, 64, 4096)
    }
    assert all(0 <= gamma <= 0.5 for gammas in result.values() for gamma in gammas)
    assert result[4096] == pytest.approx(np.full(4, 1 / 6), rel=0.05)
    errors = [np.abs(np.array(result[m]) - 1 / 6).max() for m in result]
    assert errors == sorted(errors, reverse=True)
    assert min(result[4]) < 0.1
    assert np.mean(result[64]) <= 1 / 6 + 0.03  # E γ_m ≤ γ*


def test_a_start_counts_its_pairs_once():
    x, y = digits(40)
    weights = draw_weights("symmetric", width=128, inputs=64, seed=1).hidden
    assert init_margin(x, y, weights) == pytest.approx(init_margin(x, y, weights[:64]), rel=1e-9)
    assert init_margin(x, y, weights[:1]) == 0


@pytest.mark.parametrize("weights", [np.ones((4, 3)), np.ones(4), np.ones((0, 4)), np.full((2, 4), np.nan)])
def test_bad_weights_are_named(weights):
    with pytest.raises(InputError, match="`weights` must"):
        init_margin(np.eye(4), np.array([1.0, -1, 1, -1]), weights)
