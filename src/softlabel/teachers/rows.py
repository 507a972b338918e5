"""Rows that a teacher predicts: numbers, and the columns of the user's table where an encoder made these numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.arrays import number_table
from softlabel.data.encoding.raw import text_columns
from softlabel.data.frames import NAMED_FILES, need_columns, read_frame
from softlabel.data.problem import Problem
from softlabel.data.table_files import read_columns
from softlabel.data.user_frames import as_polars
from softlabel.errors import InputError, counted, quoted, require

if TYPE_CHECKING:
    import polars

    from softlabel.data.encoding import TableEncoder


@dataclass(frozen=True, eq=False)
class QueryRows:
    """Rows that a teacher predicts.

    X       inputs (n, d) float32 with the problem's columns, encoded where the problem has an encoder
    table   the raw columns of these rows; None where every input is a number, or only encoded rows are known
    rows    (n,) row numbers in the user's file, from 0, for messages
    encoder what made X of the table
    """

    X: np.ndarray
    table: "polars.DataFrame | None" = None
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    encoder: "TableEncoder | None" = None

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.X):
            object.__setattr__(self, "rows", np.arange(len(self.X)))

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: np.ndarray) -> "QueryRows":
        """Some of the rows, by their positions or by a mask (n,)."""
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        table = None if self.table is None else self.table[places.tolist()]
        return QueryRows(self.X[places], table, self.rows[places], self.encoder)


def problem_rows(problem: Problem) -> QueryRows:
    """All rows of a problem."""
    return QueryRows(problem.X, problem.table, problem.rows, problem.encoder)


def has_names(problem: Problem) -> bool:
    """Whether the columns have names; those of an array are only numbered."""
    return problem.source is None or hasattr(problem.source, "columns")


def unlabeled_rows(transfer: Any, problem: Problem) -> QueryRows:
    """Unlabeled rows from an array, a frame or a file.

    Where the problem has an encoder, a frame or file has the raw columns, and an array the encoded ones. Other columns,
    or numbers that are not finite, are an error.
    """
    if isinstance(transfer, QueryRows):
        if transfer.table is None or transfer.encoder is problem.encoder:
            return transfer
        transfer = transfer.table  # encoded for another split of the data
    if isinstance(transfer, str | Path):
        return read_unlabeled_rows(Path(transfer), problem)
    columns, dimension = getattr(transfer, "columns", None), problem.X.shape[1]
    if problem.encoder is not None and columns is not None:
        return _encoded(as_polars(transfer), problem, "unlabeled rows")
    table = number_table(transfer, "unlabeled rows")
    require(
        table.shape[1] == dimension,
        f"unlabeled rows must have the data's {dimension} columns, they have {table.shape[1]}",
    )
    if columns is not None and problem.columns is not None:
        for own, other in zip(problem.columns, map(str, columns), strict=True):
            require(own == other, f"unlabeled rows must have the data's columns in order: '{other}' is not '{own}'")
    return QueryRows(table)


def read_unlabeled_rows(path: Path, problem: Problem, drop: Sequence[str] = ()) -> QueryRows:
    """Unlabeled rows of a file that has at least the problem's columns, in the problem's order."""
    encoder = problem.encoder
    if encoder is not None and path.suffix.lower() in NAMED_FILES:
        frame = read_frame(path, text_columns(encoder))
        need_columns(encoder.columns, frame.columns, path)
        return _encoded(frame, problem, f"unlabeled rows '{path}'")
    table = read_columns(path, problem.columns, drop)
    require(
        table.shape[1] == problem.X.shape[1],
        f"unlabeled rows '{path}' have {counted(table.shape[1], 'column')}, the data have {problem.X.shape[1]}",
    )
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise InputError(f"unlabeled rows '{path}': row {row + 1} has missing or infinite values; fill them in")
    return QueryRows(table)


def _encoded(frame: "polars.DataFrame", problem: Problem, where: str) -> QueryRows:
    """Rows of a frame with the problem's raw columns; columns that only the problem's table has are missing values."""
    import polars as pl

    encoder, table = problem.encoder, problem.table
    assert encoder is not None
    assert table is not None
    missing = [column for column in encoder.columns if column not in frame.columns]
    require(not missing, f"{where} have no column {quoted(missing)}: they need the columns of the data")
    absent = [name for name in table.columns if name not in frame.columns]
    raw = frame.with_columns([pl.lit(None, dtype=table[name].dtype).alias(name) for name in absent])
    return QueryRows(encoder.transform(raw, where), raw.select(table.columns), encoder=encoder)
