import numpy as np
import pytest

from softlabel.networks.initialization import INITS, draw_init


@pytest.mark.parametrize("init", INITS)
def test_a_seed_means_one_initialization(init):
    first = draw_init(init, width=6, inputs=5, outputs=3, seed=4)
    again = draw_init(init, width=6, inputs=5, outputs=3, seed=4)
    other = draw_init(init, width=6, inputs=5, outputs=3, seed=5)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0], other[0])
    assert set(np.unique(first[1])) <= {-1.0, 1.0}
    assert first[0].shape == (6, 5)
    assert first[1].shape == (3, 6)


def test_symmetric_pairs_share_weights_and_oppose_signs():
    hidden, output = draw_init("symmetric", width=8, inputs=3, outputs=2)
    np.testing.assert_array_equal(hidden[:4], hidden[4:])
    np.testing.assert_array_equal(output[:, :4], -output[:, 4:])


@pytest.mark.parametrize(("init", "spread"), [("symmetric", 1), ("gaussian", 1), ("he", 0.02**0.5), ("glorot", None)])
def test_spreads(init, spread):
    hidden, _ = draw_init(init, width=400, inputs=100)
    spread = (6 / 500) ** 0.5 / 3**0.5 if spread is None else spread
    assert hidden.std() == pytest.approx(spread, rel=0.03)
    assert abs(hidden.mean()) < 0.02 * spread
