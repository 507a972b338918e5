"""Labeled points as theory takes them."""

from typing import Any

import numpy as np

from softlabel.errors import InputError, require


def checked_points(inputs: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, d) of norm at most 1 and labels (n,), −1 and +1, in float64; raises where they are not."""
    x = np.asarray(inputs, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    require(x.ndim == 2 and x.size > 0, f"`inputs` must be a table of rows and columns, got shape {x.shape}")
    if not np.isfinite(x).all():
        row = int(np.argwhere(~np.isfinite(x))[0][0])
        raise InputError(f"`inputs`: row {row} is not finite; remove or fill such values")
    require(y.shape == (len(x),), f"labels have shape {y.shape}, `inputs` have {len(x)} rows; they must match")
    require(bool(np.isin(y, (-1, 1)).all()), "labels must be −1 and +1; choose two classes with `task` or `classes`")
    require(len(np.unique(y)) == 2, "labels have one class only; a margin needs two")
    largest = float(np.linalg.norm(x, axis=1).max())
    require(
        largest <= 1 + 1e-5,
        f"`inputs` must have norms ≤ 1, the largest is {largest:.4g}; set `scale` to max or unit",
    )
    return x, y
