"""Cutting examples into training, validation and test parts."""

from collections.abc import Sequence

import numpy as np

from softlabel.errors import require

SALT = 0x9E3779B97F4A7C15


def split_given(
    n: int, fractions: Sequence[float], seed: int = 0, stratify: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """`split` for users' data, which may be simulated from the same seed: they must not sort themselves into parts."""
    require(seed >= 0, f"seed must be a number that is not negative, got {seed}")
    return split(n, fractions, seed + SALT, stratify)


def split(
    n: int,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    stratify: np.ndarray | None = None,
) -> tuple[np.ndarray, ...]:
    """Sorted row numbers of each part; together they are 0..n−1, each once.

    The split depends on n, fractions, seed (and labels) alone: rows are ordered by the raw stream of a PCG64
    generator, which NumPy promises to keep. With `stratify`, labels (n,), every class is spread over the
    parts in proportion; the sizes of the parts are the same either way.
    """
    require(n >= 1, f"n must be at least 1, got {n}")
    require(seed >= 0, f"seed must be a number that is not negative, got {seed}")
    require(
        len(fractions) >= 1 and all(0 < f <= 1 for f in fractions) and abs(sum(fractions) - 1) < 1e-9,
        f"fractions must be positive and add up to 1, got {tuple(fractions)}",
    )
    draws = np.random.PCG64(seed).random_raw(n)
    order = np.argsort(draws, kind="stable")
    if stratify is not None:
        require(len(stratify) == n, f"stratify must have one label for each of {n} examples, got {len(stratify)}")
        order = order[np.argsort(_places(np.asarray(stratify)[order]), kind="stable")]
    edges = np.floor(np.cumsum(fractions) * n + 0.5).astype(int)
    edges[-1] = n
    parts = np.split(order, edges[:-1])
    require(
        all(len(part) for part in parts),
        f"{n} examples are too few for fractions {tuple(fractions)}: one part would be empty",
    )
    return tuple(np.sort(part) for part in parts)


def _places(labels: np.ndarray) -> np.ndarray:
    """Where in its own class each example stands, from 0 to 1: sorting by it deals every class out evenly."""
    places = np.empty(len(labels))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        places[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return places
