"""Arrays and frames of users (NumPy, pandas, polars) as polars frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.errors import InputError

if TYPE_CHECKING:
    import polars


def as_polars(data: Any, names: Sequence[str] | None = None) -> "polars.DataFrame":
    """A pandas or polars frame, a dictionary of columns, or an array (n, d) as a polars frame.

    names   of the columns of an array; by default they are numbered from 1
    """
    import polars as pl

    if isinstance(data, pl.DataFrame):
        objects = [_series(column.name, column.to_list()) for column in data.get_columns() if column.dtype == pl.Object]
        return data.with_columns(objects)
    if isinstance(data, dict):
        return pl.DataFrame([_series(str(name), column) for name, column in data.items()])
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        return pl.DataFrame([_series(str(name), data.iloc[:, k]) for k, name in enumerate(data.columns)])
    table = np.asarray(data)
    if table.ndim != 2:
        raise InputError(f"inputs must be a table (n, d), got shape {table.shape}")
    names = names or [str(k + 1) for k in range(table.shape[1])]
    return pl.DataFrame([_series(name, table[:, k]) for k, name in enumerate(names)])


def _series(name: str, column: Any) -> "polars.Series":
    """One column; objects are numbers, text or times where all of them are, otherwise text."""
    import polars as pl

    if isinstance(column, pl.Series):
        return column.alias(name)
    dtype = str(getattr(column, "dtype", "object"))
    if hasattr(column, "to_numpy") and dtype.startswith(("datetime64", "timedelta64")):
        zone = getattr(column.dtype, "tz", None)
        column = column.dt.tz_convert(None) if zone is not None else column
        return pl.Series(name, column.to_numpy())
    values = np.asarray(column, dtype=object) if isinstance(column, list) else np.asarray(column)
    if values.dtype.kind in "biufM":
        return pl.Series(name, values)
    entries = [None if _is_missing(value) else _plain(value) for value in values.tolist()]
    kinds = {type(value) for value in entries if value is not None}
    if kinds <= {int, float} or len(kinds) == 1:
        try:
            return pl.Series(name, entries, strict=False)
        except (TypeError, ValueError, OverflowError):
            pass
    return pl.Series(name, [None if value is None else str(value) for value in entries], dtype=pl.String)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _plain(value: Any) -> Any:
    """A NumPy number as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def take_rows(source: Any, rows: np.ndarray) -> Any:
    """These rows of a user's array or frame."""
    if hasattr(source, "iloc"):
        return source.iloc[rows]
    return source[rows] if hasattr(source, "shape") else np.asarray(source)[rows]
