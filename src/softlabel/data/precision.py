"""Inputs are stored in float32; columns that lose too much precision by it are refused."""

from collections.abc import Iterable

import numpy as np

from softlabel.errors import InputError

MAX_ROUNDING = 0.01  # share of a column's range


def check_float32(columns: Iterable[tuple[str, np.ndarray]], where: str) -> None:
    """Raise for a column (n,) whose values float32 rounds by more than a hundredth of their range.

    This happens where values vary little around a large number, or are tiny. Missing and infinite values and values
    beyond float32 are checked elsewhere.
    """
    for name, values in columns:
        if values.dtype.kind not in "iuf" or (values.dtype.kind == "f" and values.dtype.itemsize <= 4):
            continue
        wide = values[np.isfinite(values)].astype(np.float64)
        if not len(wide) or np.abs(wide).max() > np.finfo(np.float32).max:
            continue
        spread = float(np.ptp(wide))
        if spread > 0 and np.abs(wide - wide.astype(np.float32)).max() > MAX_ROUNDING * spread:
            raise InputError(
                f"{where}: column '{name}' varies by {spread:.3g} around {np.median(wide):.6g}, which float32 cannot "
                "distinguish: subtract a constant from it or rescale it first"
            )
