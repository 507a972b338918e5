"""Inputs of arrays and frames in memory."""

from typing import Any

import numpy as np

from softlabel.data.arrays import number_table
from softlabel.data.encoding.inputs import table_inputs
from softlabel.data.roles import ColumnRoles
from softlabel.data.user_frames import as_polars
from softlabel.errors import require


def inputs_in_memory(X: Any, name: str, roles: ColumnRoles) -> tuple[np.ndarray, dict[str, Any]]:
    """Inputs float32 (n, d) of a user's table, or (n, 0) where they need an encoder, and fields of its problem."""
    named = hasattr(X, "columns")
    if not named and _all_numbers(X) and not (roles.numeric or roles.categorical):
        return number_table(X, name), {}
    frame = as_polars(X)
    if named:
        require(
            len(set(frame.columns)) == frame.width == len(list(X.columns)),
            f"{name}: inputs have columns of the same name: rename them",
        )
    inputs = table_inputs(frame, roles, name)
    if inputs.table is None:
        notes = inputs.notes
        return inputs.X, {"columns": inputs.columns if named else None, "plans": inputs.plans, "notes": notes}
    return inputs.X, {"table": inputs.table, "plans": inputs.plans, "notes": inputs.notes}


def _all_numbers(X: Any) -> bool:
    """Whether an array has numbers without gaps, or is refused by `number_table` for another reason."""
    try:
        table = np.asarray(X)
        table = table if table.dtype.kind in "biuf" else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return np.ndim(X) != 2
    return table.ndim != 2 or table.dtype.kind != "f" or not np.isnan(table).any()
