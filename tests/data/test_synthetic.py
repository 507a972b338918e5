"""Synthetic rows: near the training rows, of possible values, and from training rows alone."""

import numpy as np
import polars as pl
import pytest

from softlabel.data import Problem, load
from softlabel.data.synthetic import synthetic_rows
from softlabel.errors import InputError


def table(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.normal(10, 3, rows)
    return pl.DataFrame({
        "size": [None if k % 17 == 0 else value for k, value in enumerate(size)],
        "count": rng.integers(0, 5, rows),
        "color": rng.choice(["red", "blue", "green"], rows),
        "y": np.where(size > 10, "large", "small"),
    })  # fmt: skip


def test_rows_are_near_and_not_the_same():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [100.0, 100.0]], 60, axis=0) + rng.normal(size=(120, 2))
    problem = Problem.from_arrays(X, np.repeat([0, 1], 60))
    new = synthetic_rows(problem, 200)[0]
    assert new.shape == (200, 2)
    distance = np.abs(new[:, None] - problem.train.X[None]).max(2).min(1)
    assert distance.max() < 10  # in one of the two clouds, not between them
    assert (distance > 0).mean() > 0.5


def test_a_table_keeps_possible_values_and_its_encoding():
    problem = load(table(), "y")
    X, made = synthetic_rows(problem, 400, seed=1)
    assert set(made["color"].unique()) <= {"red", "blue", "green"}
    assert set(made["count"].unique()) <= set(range(5))
    assert made["size"].null_count() > 0
    np.testing.assert_array_equal(X, problem.encoder.transform(made))
    _, again = synthetic_rows(problem, 400, seed=1)
    assert made.equals(again)
    assert not made.equals(synthetic_rows(problem, 400, seed=2)[1])


def test_integers_stay_integers():
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, 40, 200), rng.normal(size=200)], axis=1)
    new = synthetic_rows(Problem.from_arrays(X, rng.integers(0, 2, 200)), 300)[0]
    assert set(new[:, 0].tolist()) <= set(X[:, 0].tolist())
    assert not set(new[:, 1].tolist()) <= set(X[:, 1].astype(np.float32).tolist())


def test_only_training_rows_are_used():
    frame = table()
    problem = load(frame, "y")
    train = set(problem.parts["train"].tolist())
    spoiled = frame.with_columns(
        size=pl.Series([value if k in train else 1e6 for k, value in enumerate(frame["size"].to_list())])
    )
    assert synthetic_rows(load(spoiled, "y"), 100)[1]["size"].max() < 100


@pytest.mark.parametrize("channels", [1, 3])
def test_images_are_moved_or_mirrored(channels):
    rng = np.random.default_rng(0)
    images = rng.random((60, channels, 12, 10)).astype(np.float32)
    problem = Problem.from_arrays(images, np.arange(60) % 2)
    train = problem.as_images(problem.train.X)
    new = problem.as_images(synthetic_rows(problem, 80, seed=3)[0])
    for k, image in enumerate(new):
        origin = train[k % len(train)]
        views = []
        for seen in (origin, origin[:, :, ::-1]) if channels == 3 else (origin,):
            for down in range(-2, 3):
                for right in range(-2, 3):
                    rows = np.clip(np.arange(12) + down, 0, 11)
                    columns = np.clip(np.arange(10) + (-right if seen is not origin else right), 0, 9)
                    views.append(seen[:, rows][:, :, columns])
        assert any(np.array_equal(image, view) for view in views)


def test_impossible_counts_are_refused():
    with pytest.raises(InputError, match="at least one synthetic row"):
        synthetic_rows(load("digits"), 0)
