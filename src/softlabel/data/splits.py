"""Splitting rows into training, validation and test parts."""

from collections.abc import Sequence

import numpy as np

from softlabel.errors import counted, require

SALT = 0x9E3779B97F4A7C15


def split(
    n: int,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    stratify: np.ndarray | None = None,
    *,
    salt: int = SALT,
) -> tuple[np.ndarray, ...]:
    """Split the row numbers 0 … n − 1 into parts.

    The split depends on its arguments alone: rows are ordered by the raw stream of a PCG64 generator, which NumPy
    guarantees to be stable across versions and machines.

    Parameters
    ----------
    n : int
        Number of rows.
    fractions : sequence of float
        Share of the rows that each part gets. The shares must add up to 1.
    seed : int
        Random seed, at least 0.
    stratify : array of shape (n,), optional
        Class of each row. Every class is then spread over the parts in proportion; the sizes of the parts stay the
        same.
    salt : int
        Number added to the seed, so that data simulated from the same seed are not sorted into the parts by their
        values.

    Returns
    -------
    tuple of arrays
        Sorted row numbers of each part. Every row is in exactly one part.

    Examples
    --------
    >>> train, test = split(10, (0.8, 0.2), seed=0)
    >>> len(train), len(test)
    (8, 2)
    """
    require(n >= 1, f"n must be at least 1, got {n}")
    require(seed >= 0, f"seed must be at least 0, got {seed}")
    require(
        len(fractions) >= 1 and all(0 < f <= 1 for f in fractions) and abs(sum(fractions) - 1) < 1e-9,
        f"fractions must be positive and add up to 1, got {tuple(fractions)}",
    )
    draws = np.random.PCG64(seed + salt).random_raw(n)
    order = np.argsort(draws, kind="stable")
    if stratify is not None:
        require(len(stratify) == n, f"stratify must have one entry for each of {n} rows, got {len(stratify)}")
        order = order[np.argsort(_position_in_class(np.asarray(stratify)[order]), kind="stable")]
    edges = np.floor(np.cumsum(fractions) * n + 0.5).astype(int)
    edges[-1] = n
    parts = np.split(order, edges[:-1])
    require(
        all(len(part) for part in parts),
        f"{n} rows are too few for `fractions` {tuple(fractions)}: at least one part would be empty",
    )
    return tuple(np.sort(part) for part in parts)


def _position_in_class(labels: np.ndarray) -> np.ndarray:
    """Relative position (0 to 1) of each row in its class; sorting by it deals every class out evenly."""
    positions = np.empty(len(labels))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        positions[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return positions


def split_by_groups(
    groups: np.ndarray, fractions: Sequence[float], seed: int, classes: np.ndarray, *, salt: int = SALT
) -> tuple[np.ndarray, ...]:
    """Split row numbers so that rows of a group are in one part; parts have about their shares of every class.

    Groups are taken from the largest to the smallest (in random order among equals); each goes to the part that lacks
    its rows most, counted class by class.
    """
    names, members = np.unique(groups, return_inverse=True)
    require(
        len(names) >= len(fractions),
        f"`group` has {counted(len(names), 'different entry', 'different entries')}, too few for {len(fractions)} "
        "parts, of which every one needs its own: choose another column, or leave it out",
    )
    kinds = int(classes.max()) + 1
    counts = np.zeros((len(names), kinds))
    np.add.at(counts, (members, classes), 1.0)
    draws = np.random.PCG64(seed + salt).random_raw(len(names))
    order = np.lexsort((draws, -counts.sum(1)))
    totals = np.maximum(counts.sum(0), 1.0)
    wanted = np.outer(fractions, totals)
    filled, part_of = np.zeros_like(wanted), np.empty(len(names), dtype=np.int64)
    for place, group in enumerate(order.tolist()):
        lack = ((wanted - filled) / wanted) @ (counts[group] / counts[group].sum())
        empty = filled.sum(1) == 0
        if len(order) - place <= empty.sum():  # the last groups are for parts that have none
            lack = np.where(empty, lack, -np.inf)
        part_of[group] = int(lack.argmax())
        filled[part_of[group]] += counts[group]
    return tuple(np.flatnonzero(part_of[members] == part) for part in range(len(fractions)))


def split_by_time(times: np.ndarray, fractions: Sequence[float]) -> tuple[np.ndarray, ...]:
    """Split row numbers by time, earliest part first; rows of the same time are in one part."""
    n, order = len(times), np.argsort(times, kind="stable")
    edges = np.floor(np.cumsum(fractions)[:-1] * n + 0.5).astype(int)
    starts = times[order[np.clip(edges, 0, n - 1)]]  # the time at which each later part begins
    part = np.searchsorted(starts, times, side="right")
    parts = tuple(np.flatnonzero(part == k) for k in range(len(fractions)))
    require(
        all(len(rows) for rows in parts),
        f"`time` has too few different values for {len(fractions)} parts: at least one part would be empty",
    )
    return parts
