"""Columns that identify rows, or what rows belong to, instead of describing them."""

from typing import TYPE_CHECKING

from softlabel.data.encoding import ColumnPlan
from softlabel.data.encoding.columns import FEW_ROWS, plan_column

if TYPE_CHECKING:
    import polars

REPEATS = 10.0  # among random numbers of the same range, for integers that never repeat to be ids


def looks_like_id(column: "polars.Series", plan: ColumnPlan | None) -> bool:
    """Whether the entries of a column only number or name the rows.

    That holds for a column that `softlabel.load` leaves out for this reason, for text of which nearly every entry is
    different, and for integers of which all are, although many of so many random numbers of their range would repeat:
    n²/(2r) for n numbers of r values.
    """
    rows = len(column)
    if rows < FEW_ROWS or column.null_count() or column.n_unique() < 0.95 * rows:
        return False
    if plan is not None and plan.kind in ("dropped", "text"):
        return not (column.dtype.is_nested() or column.dtype.is_float())
    if not column.dtype.is_integer() or column.n_unique() < rows:
        return False
    low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
    return rows**2 / (2 * (high - low + 1)) >= REPEATS


def is_named_as_id(name: str) -> bool:
    """Whether a column with this name and different integers would be left out as an id."""
    import polars as pl

    return plan_column(pl.Series(name, [k * k for k in range(FEW_ROWS, 0, -1)])).kind == "dropped"
