"""`signed_rows`: training rows, and test rows that are not among them."""

import numpy as np
import pytest

from softlabel.studies.signed_rows import signed_rows


def signed_array():
    x = np.linspace(0.1, 0.7, 40).reshape(20, 2)
    return x, np.where(np.arange(20) % 3, 1.0, -1.0)


@pytest.mark.parametrize("source", ["digits", "array"])
@pytest.mark.parametrize("seed", [0, 5])
def test_test_rows_are_other_rows(source, seed):
    arguments = signed_array() if source == "array" else (source,)
    data = signed_rows(*arguments, rows=12, seed=seed, test_rows=8)
    alone = signed_rows(*arguments, rows=12, seed=seed)
    everything = signed_rows(*arguments, seed=seed)
    assert alone.test is None
    assert np.array_equal(data.X, alone.X)
    assert np.array_equal(data.y, alone.y)
    assert data.test is not None
    assert data.test[0].shape == (8, data.X.shape[1])
    train, test = ({row.tobytes() for row in table} for table in (data.X, data.test[0]))
    labels = {row.tobytes(): label for row, label in zip(everything.X, everything.y, strict=True)}
    assert len(test) == 8
    assert not train & test
    assert [labels[row.tobytes()] for row in data.test[0]] == data.test[1].tolist()


def test_double_precision():
    data = signed_rows("digits", rows=5, test_rows=4).in_double_precision()
    assert data.test is not None
    assert {array.dtype for array in (data.X, data.y, *data.test)} == {np.dtype(np.float64)}
