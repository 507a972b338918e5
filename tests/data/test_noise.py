import numpy as np
import pytest

from softlabel.data.noise import add_noise
from softlabel.errors import InputError


def test_noise_has_its_deviation_and_depends_on_its_seed():
    inputs = np.ones((200, 50), np.float32)
    noisy = add_noise(inputs, 0.5, seed=3)
    assert noisy.dtype == np.float32
    assert (noisy - inputs).std() == pytest.approx(0.5, rel=0.02)
    assert (noisy - inputs).mean() == pytest.approx(0, abs=0.02)
    np.testing.assert_array_equal(noisy, add_noise(inputs, 0.5, seed=3))
    assert not np.array_equal(noisy, add_noise(inputs, 0.5, seed=4))
    np.testing.assert_array_equal(add_noise(inputs, 0, seed=1), inputs)


@pytest.mark.parametrize("std", [-1, float("nan"), float("inf")])
def test_a_deviation_that_is_none(std):
    with pytest.raises(InputError, match="noise std must be"):
        add_noise(np.ones((1, 1)), std, 0)
