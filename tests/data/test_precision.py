"""Columns that float32 cannot hold are refused, wherever they come from."""

import numpy as np
import polars as pl
import pytest

from softlabel.data import Problem, load
from softlabel.data.precision import check_float32
from softlabel.errors import InputError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "values", [RNG.normal(size=200) + 1e9, RNG.normal(size=200) * 1e-300, 2**40 + RNG.permutation(200)]
)
def test_what_rounding_would_take_away_is_refused(values, tmp_path):
    table = np.stack([RNG.normal(size=200), values], axis=1)
    labels = np.arange(200) % 2
    pl.DataFrame({"a": table[:, 0], "b": values, "y": labels}).write_csv(tmp_path / "t.csv")
    np.savez(tmp_path / "t.npz", X=table, y=labels)
    for path, label in (("t.csv", "y"), ("t.npz", None)):
        with pytest.raises(InputError, match=r"column '(b|1)' varies by .* which float32 cannot distinguish"):
            load(tmp_path / path, label)
    with pytest.raises(InputError, match="column '2' varies by"):
        Problem.from_arrays(table, labels)


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=200), np.full(200, 1e9), 1e6 + np.arange(200) % 2, 1.7e9 + 1e7 * RNG.normal(size=200),
        np.arange(200), RNG.normal(size=200) * 1e-30, np.array([np.nan, np.inf, 1e300]),
    ],
)  # fmt: skip
def test_what_float32_holds_well_enough_is_not(values):
    check_float32([("a", values)], "data")
