import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.numerics import prepare_inputs


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 60),
    empty=st.floats(0, 1),
    bias=st.booleans(),
    rotate=st.booleans(),
    seed=st.integers(0, 99),
)
def test_products_are_those_of_the_original_columns(rows, columns, empty, bias, rotate, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    x[:, rng.random(columns) < empty] = 0
    table = prepare_inputs(x, bias=bias, dtype=torch.float64, rotate=rotate)
    assert table.columns % 16 == 0
    full = np.hstack([x, np.ones((rows, 1))]) if bias else x
    weights = torch.from_numpy(rng.standard_normal((2, 3, columns + bias)))
    block = table.block(0, rows)
    np.testing.assert_allclose((table.reduce(weights) @ block.t()).numpy(), weights.numpy() @ full.T, atol=1e-10)
    # A gradient step taken on the compact columns is the one on the user's.
    signal = torch.from_numpy(rng.standard_normal((2, 3, rows)))
    np.testing.assert_allclose(table.expand(signal @ block).numpy(), signal.numpy() @ full, atol=1e-10)


def test_empty_columns_are_dropped_and_rows_aligned():
    x = np.zeros((100, 50), dtype=np.float32)
    x[:, [3, 7]] = 1
    table = prepare_inputs(x, bias=False, dtype=torch.float32)
    assert (table.used, table.columns) == (2, 16)


def test_all_zero_inputs_are_still_inputs():
    table = prepare_inputs(np.zeros((5, 3)), bias=False, dtype=torch.float32)
    assert table.block(0, 5).abs().sum() == 0


def test_a_mapped_table_is_not_copied(tmp_path):
    x = np.arange(60, dtype=np.float32).reshape(20, 3)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    table = prepare_inputs(mapped, bias=True, dtype=torch.float32)
    assert table.source is mapped
    np.testing.assert_array_equal(table.block(3, 5)[:, :4], [[9, 10, 11, 1], [12, 13, 14, 1]])
    np.testing.assert_array_equal(table.batch(torch.tensor([7, 2]))[:, :4], [[21, 22, 23, 1], [6, 7, 8, 1]])


def test_large_finite_numbers_are_not_taken_for_infinite():
    x = np.full((4, 2), 1e308)
    prepare_inputs(x, bias=False, dtype=torch.float64)


@pytest.mark.parametrize("kind", [int, bool, np.uint8, np.float16])
def test_any_kind_of_number(kind):
    x = np.array([[1, 0], [0, 1], [1, 1]]).astype(kind)
    table = prepare_inputs(x, bias=False, dtype=torch.float32)
    np.testing.assert_array_equal(table.block(0, 3)[:, :2], [[1, 0], [0, 1], [1, 1]])
