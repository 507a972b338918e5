"""Inputs are kept in float32; columns that it cannot hold are refused, not rounded away."""

from collections.abc import Iterable

import numpy as np

from softlabel.errors import InputError

WORST = 0.01  # of a column's range


def check_float32(columns: Iterable[tuple[str, np.ndarray]], where: str) -> None:
    """Raise for a column (n,) whose values float32 rounds by more than a hundredth of their range.

    That happens where they vary little about a large number, or are tiny. Missing and infinite values, and ones beyond
    float32, are for others to refuse.
    """
    for name, values in columns:
        if values.dtype.kind not in "iuf" or (values.dtype.kind == "f" and values.dtype.itemsize <= 4):
            continue
        wide = values[np.isfinite(values)].astype(np.float64)
        if not len(wide) or np.abs(wide).max() > np.finfo(np.float32).max:
            continue
        spread = float(np.ptp(wide))
        if spread > 0 and np.abs(wide - wide.astype(np.float32)).max() > WORST * spread:
            raise InputError(
                f"{where}: column '{name}' varies by {spread:.3g} about {np.median(wide):.6g}, which float32 cannot "
                "tell apart: subtract a constant from it, or rescale it, first"
            )
