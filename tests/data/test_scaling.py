import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from softlabel.data.scaling import Scaler, norms
from softlabel.errors import InputError

_VALUES = st.floats(-1e6, 1e6, width=32).filter(lambda v: v == 0 or abs(v) > 1e-6)
_MATRICES = hnp.arrays(np.float32, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=_VALUES)


def scale(inputs, how):
    scaler = Scaler.fit(inputs, how)
    return scaler.apply(inputs), scaler


@given(_MATRICES.filter(np.any))
def test_max_bounds_the_training_norms_by_one_and_reaches_it(inputs):
    scaled, scaler = scale(inputs, "max")
    assert scaled.dtype == np.float32
    assert norms(scaled).max() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(scaled * np.float32(scaler.factor), inputs, rtol=1e-5)


@given(_MATRICES.filter(lambda m: np.any(m, axis=1).all()))
def test_unit_makes_every_norm_one(inputs):
    scaled, _ = scale(inputs, "unit")
    np.testing.assert_allclose(norms(scaled), 1, atol=1e-5)


@given(_MATRICES)
def test_none_changes_nothing(inputs):
    assert scale(inputs, "none")[0] is inputs


def test_standard_brings_columns_to_mean_0_and_rows_to_norm_1_and_leaves_constant_ones():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((4000, 5)) * [1, 10, 1e3, 1e-3, 0] + [0, 5, 1e6, 0, 7]
    scaled, scaler = scale(inputs, "standard")
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled[:, :4].std(0) * np.sqrt(5), 1, atol=1e-4)
    assert not scaled[:, 4].any()
    assert norms(scaled).mean() == pytest.approx(np.sqrt(4 / 5), rel=0.1)
    assert scaler == Scaler.fit(inputs, "standard")


def test_weights_count_rows():
    inputs = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 0.0]])
    repeated = Scaler.fit(inputs[[0, 1, 1, 2, 2, 2]], "standard")
    weighted = Scaler.fit(inputs, "standard", np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(weighted.shift, repeated.shift)
    np.testing.assert_allclose(weighted.spread, repeated.spread)


def test_the_test_part_is_scaled_by_the_training_part():
    scaler = Scaler.fit(np.array([[3.0, 4.0], [0.0, 1.0]]), "max")
    assert scaler.factor == 5
    np.testing.assert_allclose(scaler.apply(np.array([[10.0, 0.0]])), [[2, 0]])
    assert str(scaler) == "inputs divided by the largest norm (5)"


@pytest.mark.parametrize(
    ("inputs", "how", "message"),
    [
        ([[1.0]], "maximum", "unknown scale 'maximum': did you mean 'max'"),
        ([[0.0]], "max", "largest norm, which is 0.0"),
        (np.empty((0, 2)), "max", "needs at least one training input"),
        ([[1.0], [0.0], [0.0]], "unit", r"2 of 3 rows are zero \(rows 2, 3, counted from 1\); remove them or use"),
        (np.zeros((9, 1)), "unit", r"rows 1, 2, 3, 4, 5, \.\.\."),
    ],
)
def test_what_cannot_be_scaled(inputs, how, message):
    with pytest.raises(InputError, match=message):
        scale(np.asarray(inputs), how)
