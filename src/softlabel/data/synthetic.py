"""Synthetic inputs near the training rows, for a teacher to label.

Tables, after Bucilă, Caruana and Niculescu-Mizil (2006), "MUNGE": a new row begins as a training row; each of its
columns takes, with probability 1/2, a value from one of the row's nearest neighbors. Where both have numbers of a
continuous column, the value is drawn from a normal distribution around the neighbor's with a third of their distance as
deviation; otherwise the neighbor's value is taken as it is, so that categories, counts, dates and gaps stay possible.

Images are training images moved by up to two pixels, and color images are mirrored half of the time.
"""

from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import require

if TYPE_CHECKING:
    import polars

SWAP = 0.5  # probability that a column comes from the neighbor
NARROW = 3.0  # the distance of two values in deviations of the noise
NEIGHBORS = 5
SEARCHED = 20_000  # training rows among which neighbors are looked for
FEW_VALUES = 20  # a column with so few different numbers is not continuous
SHIFT = 2  # pixels


def synthetic_rows(problem: Problem, count: int, seed: int = 0) -> "tuple[np.ndarray, polars.DataFrame | None]":
    """That many rows near the training rows; the same for the same seed.

    Parameters
    ----------
    problem : Problem
        Its training rows are the origin; validation and test rows are never looked at.
    count : int
        Number of rows.
    seed : int
        Random seed.

    Returns
    -------
    X : ndarray of shape (count, d)
        Inputs as the problem has them.
    table : polars.DataFrame or None
        Their columns before the encoder, where the problem has one.
    """
    require(count >= 1, f"at least one synthetic row is needed, got {count}")
    rng = np.random.default_rng(seed)
    if problem.has_images:
        return _moved_images(problem, count, rng), None
    near, neighbor = _neighbors(problem, count, rng)
    if problem.table is None or problem.encoder is None:
        X = problem.train.X
        mixed = [_mixed_numbers(X[near, k], X[neighbor, k], _is_continuous(X[:, k]), rng) for k in range(X.shape[1])]
        return np.stack(mixed, axis=1).astype(np.float32), None
    table = problem.table[problem.train.rows].select(problem.encoder.columns)
    frame = _mixed_table(table, near, neighbor, rng)
    return problem.encoder.transform(frame), frame


def _neighbors(problem: Problem, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """For every new row the training row it begins as, and a near one (count,) each."""
    from sklearn.neighbors import NearestNeighbors

    X = problem.train.scaled
    searched = np.sort(rng.permutation(len(X))[:SEARCHED])
    near = searched[np.arange(count) % len(searched)]
    others = min(NEIGHBORS, len(searched) - 1)
    require(others >= 1, f"'{problem.name}' has one training row: synthetic rows need at least two")
    search = NearestNeighbors(n_neighbors=others + 1).fit(X[searched])
    bases, places = np.unique(near, return_inverse=True)
    nearest = searched[search.kneighbors(X[bases], return_distance=False)]
    pairs = zip(bases, nearest, strict=True)
    nearest = np.array([[other for other in row if other != base][:others] for base, row in pairs])
    return near, nearest[places, rng.integers(others, size=count)]


def _is_continuous(values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    return bool((known != np.round(known)).any()) and len(np.unique(known)) > FEW_VALUES


def _mixed_numbers(own: np.ndarray, other: np.ndarray, continuous: bool, rng: np.random.Generator) -> np.ndarray:
    swapped = rng.random(len(own)) < SWAP
    noise = rng.standard_normal(len(own)) * np.abs(own - other) / NARROW
    return np.where(swapped, other + noise if continuous else other, own)


def _mixed_table(
    table: "polars.DataFrame", near: np.ndarray, neighbor: np.ndarray, rng: np.random.Generator
) -> "polars.DataFrame":
    """Columns of every type; numbers that are continuous are drawn around the neighbor's."""
    import polars as pl

    columns = []
    for column in table.get_columns():
        own, other = column.gather(near), column.gather(neighbor)
        if column.dtype.is_float() and _is_continuous(column.fill_null(float("nan")).to_numpy()):
            values, others = (each.fill_null(float("nan")).to_numpy() for each in (own, other))
            mixed = _mixed_numbers(values, others, True, rng)
            gap = np.isnan(mixed)
            mixed[gap] = others[gap]
            columns.append(pl.Series(column.name, mixed).fill_nan(None).cast(column.dtype))
        else:
            swapped = pl.Series(rng.random(len(own)) < SWAP)
            columns.append(pl.select(pl.when(swapped).then(other).otherwise(own)).to_series().alias(column.name))
    return pl.DataFrame(columns)


def _moved_images(problem: Problem, count: int, rng: np.random.Generator) -> np.ndarray:
    """Training images moved by up to `SHIFT` pixels, edges repeated, as rows of the problem."""
    X = problem.train.X
    images = problem.as_images(X)[np.arange(count) % len(X)]
    height, width = images.shape[2:]
    most = min(SHIFT, height // 4, width // 4)
    moves = rng.integers(-most, most + 1, size=(count, 2))
    mirrored = (rng.random(count) < 0.5) & (images.shape[1] == 3)
    rows = np.clip(np.arange(height)[None] + moves[:, :1], 0, height - 1)
    columns = np.clip(np.arange(width)[None] + moves[:, 1:], 0, width - 1)
    columns[mirrored] = columns[mirrored, ::-1]
    moved = images[np.arange(count)[:, None, None], :, rows[:, :, None], columns[:, None, :]]  # (count, h, w, channels)
    return np.ascontiguousarray(moved if problem.channels_last else moved.transpose(0, 3, 1, 2)).reshape(count, -1)
