from dataclasses import astuple

import numpy as np
import pytest

from softlabel.networks.initialization import INITS, draw_weights


@pytest.mark.parametrize("init", INITS)
def test_a_seed_means_one_initialization(init):
    first, again, other = (draw_weights(init, width=6, inputs=5, outputs=3, seed=seed) for seed in (4, 4, 5))
    for one, two in zip(astuple(first), astuple(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.hidden, other.hidden)
    assert [array.shape for array in astuple(first)] == [(6, 5), (3, 6), (6,), (3,)]
    if init != "torch":
        assert set(np.unique(first.output)) <= {-1.0, 1.0}
        assert not first.hidden_bias.any()
        assert not first.output_bias.any()


def test_symmetric_pairs_share_weights_and_oppose_signs():
    drawn = draw_weights("symmetric", width=8, inputs=3, outputs=2)
    np.testing.assert_array_equal(drawn.hidden[:4], drawn.hidden[4:])
    np.testing.assert_array_equal(drawn.output[:, :4], -drawn.output[:, 4:])


SPREADS = {
    "symmetric": 1,
    "gaussian": 1,
    "he": 0.02**0.5,
    "glorot": (6 / 500 / 3) ** 0.5,
    "torch": (1 / 100 / 3) ** 0.5,
}


@pytest.mark.parametrize("init", INITS)
def test_spreads(init):
    hidden = draw_weights(init, width=400, inputs=100).hidden
    assert hidden.std() == pytest.approx(SPREADS[init], rel=0.03)
    assert abs(hidden.mean()) < 0.02 * SPREADS[init]


def test_torch_has_the_ranges_of_its_linear_layers():
    """Weights and biases of a layer are uniform on ±1/√fan-in."""
    drawn = draw_weights("torch", width=300, inputs=50, outputs=200)
    for array, limit in zip(astuple(drawn), (50, 300, 50, 300), strict=True):
        assert np.abs(array).max() <= limit**-0.5
        assert np.abs(array).max() > 0.95 * limit**-0.5
        assert array.std() == pytest.approx((limit * 3) ** -0.5, rel=0.1)
