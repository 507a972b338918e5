"""Rows that are nearly those of another part are reported; neighbors of ordinary data are not."""

import numpy as np
import polars as pl
import pytest
from sklearn import datasets

from softlabel.studies.doctor import doctor
from softlabel.studies.doctor.near import near_rows

INSIDE, ACROSS = "rows nearly twice", "nearly equal rows in two splits"


def table(rows=300, seed=0, columns=5):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"x{k}": rng.standard_normal(rows) for k in range(columns)})
    return frame.with_columns(
        pl.Series("town", rng.choice(["Rome", "Oslo", "Bern"], rows)),
        pl.Series("kind", rng.choice(["cat", "dog"], rows)),
    )


def rounded(frame, digits=2):
    return frame.with_columns(pl.selectors.float().round(digits))


def one_column(frame, seed=0):
    rng = np.random.default_rng(seed)
    return frame.with_columns(pl.Series("x1", rng.standard_normal(frame.height)))


def examine(tmp_path, *frames):
    paths = []
    for k, frame in enumerate(frames):
        paths.append(tmp_path / f"part{k}.csv")
        frame.write_csv(paths[-1])
    return {one.name: one for one in doctor(*paths, label="kind").findings}


@pytest.mark.parametrize("change", [rounded, one_column])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_the_test_that_are_nearly_training_rows(tmp_path, change, seed):
    train, test = table(seed=seed), table(100, seed=seed + 50)
    result = examine(tmp_path, train, pl.concat([test, change(train[:20])]))
    assert set(result) == {ACROSS}
    finding = result[ACROSS]
    assert finding.severity == "mistake"
    assert finding.evidence["of"] == 120
    assert 15 <= finding.evidence["rows that nearly equal another"] <= 22
    assert "rows 1 and 101" in finding.evidence["the first"]
    if change is one_column:
        assert finding.evidence["this column is mostly"] == "'x1'"


@pytest.mark.parametrize("change", [rounded, one_column])
def test_rows_that_are_nearly_twice_in_a_file(tmp_path, change):
    frame = table()
    result = examine(tmp_path, pl.concat([frame, change(frame[:40])]))
    assert set(result) == {INSIDE}
    assert result[INSIDE].severity == "hint"
    assert "`group`" in result[INSIDE].remedy
    assert 60 <= result[INSIDE].evidence["rows that nearly equal another"] <= 84


def test_missing_values_are_equal_in_both_files(tmp_path):
    train = table().with_columns(pl.when(pl.col("x2") > 1).then(None).otherwise(pl.col("x2")).alias("x2"))
    gaps = train.filter(pl.col("x2").is_null())[:30]
    other = table(100, seed=9)
    result = examine(tmp_path, train, pl.concat([other, rounded(gaps)]))
    assert result[ACROSS].evidence["rows that nearly equal another"] >= gaps.height - 3


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("columns", [1, 2, 3, 8])
def test_healthy_files(tmp_path, columns, seed):
    result = examine(tmp_path, table(seed=seed, columns=columns), table(150, seed + 50, columns))
    assert not result.keys() & {INSIDE, ACROSS}


@pytest.mark.parametrize("load", ["iris", "breast_cancer", "digits", "wine"])
def test_ordinary_data(load):
    inputs = np.unique(getattr(datasets, f"load_{load}")().data, axis=0)
    numbers = np.zeros(inputs.shape[1], dtype=bool)
    assert near_rows(inputs, inputs, numbers, same=True) is None
    half = np.random.default_rng(0).permutation(len(inputs))
    assert near_rows(inputs[half[::2]], inputs[half[1::2]], numbers, same=False) is None


@pytest.mark.parametrize("seed", range(3))
def test_points_on_a_curve_are_near_by_nature(seed):
    """Their neighbors are close in all columns, and at all distances alike."""
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, 800)
    inputs = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert near_rows(inputs, inputs, np.zeros(2, dtype=bool), same=True) is None


def test_inputs_of_few_values_are_near_by_nature():
    rng = np.random.default_rng(0)
    inputs = np.unique(rng.integers(0, 6, (500, 6)).astype(float), axis=0)
    assert near_rows(inputs, inputs, np.zeros(6, dtype=bool), same=True) is None
    assert near_rows(inputs, inputs, np.ones(6, dtype=bool), same=True) is None


def test_a_plain_loop_finds_the_same_pairs():
    rng = np.random.default_rng(3)
    inputs = rng.standard_normal((80, 4))
    inputs = np.concatenate([inputs, inputs[:12] + 1e-3 * rng.standard_normal((12, 4))])
    near = near_rows(inputs, inputs, np.zeros(4, dtype=bool), same=True)
    scaled = inputs / inputs.std(axis=0)
    expected = {}
    for k, row in enumerate(scaled):
        largest = np.abs(scaled - row).max(axis=1)
        largest[k] = np.inf
        if np.sort(largest)[0] <= 0.1 * np.sort(largest)[3]:
            expected[k] = int(largest.argmin())
    assert near is not None
    assert dict(zip(near.query.tolist(), near.partner.tolist(), strict=True)) == expected
    assert len(expected) >= 24
