"""What each column of a table is: a number, a category, a date, text, or nothing to learn from.

The decision is made from a column's type and values alone, never from the labels, so it is the same for every split.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from softlabel.data.encoding.written import as_dates, as_numbers, first_unreadable
from softlabel.errors import InputError, require, short

if TYPE_CHECKING:
    import polars

Kind = Literal["number", "category", "date", "text", "dropped"]
FEW_ROWS = 20  # in fewer rows, values that are all different prove nothing
MANY_VALUES = 50  # more different words than this are text rather than categories if they are sentences
NUMBERS_ROWS = "it numbers the rows"
FIRST_ENTRIES = 200
SENTENCE = 3.0  # words of a typical entry of a text column
_ID = re.compile(
    r"(^|[ _.-])(id|ids|index|idx|key|uuid|guid|rownames?|row|nr|no|number)$|^unnamed(: ?\d+)?$|^$", re.IGNORECASE
)
_ID_CASE = re.compile(r"[a-z](Id|ID|Index|Key|No|Nr)$")


@dataclass(frozen=True)
class ColumnPlan:
    """The role of one column.

    name        the column
    kind        "number", "category", "date", "text", or "dropped"
    reason      why, for people
    style       how its numbers or dates are written, see `softlabel.data.encoding.written`; None: as the file's type
    """

    name: str
    kind: Kind
    reason: str
    style: str | None = None


def plan_columns(
    frame: "polars.DataFrame", *, numeric: Sequence[str] = (), categorical: Sequence[str] = (), where: str = "the table"
) -> tuple[ColumnPlan, ...]:
    """The role of every column of a frame of inputs.

    numeric, categorical    columns whose role the user decides
    where                   what messages call the table
    """
    both = sorted(set(numeric) & set(categorical))
    require(not both, f"{where}: column '{(both or [''])[0]}' is in `numeric` and in `categorical`: choose one of them")
    return tuple(
        _forced_number(column, where)
        if column.name in numeric
        else ColumnPlan(column.name, "category", "as requested")
        if column.name in categorical
        else plan_column(column)
        for column in frame.get_columns()
    )


def plan_column(column: "polars.Series") -> ColumnPlan:
    """The role of one column, decided by its type and values."""
    import polars as pl

    name, dtype = column.name, column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return ColumnPlan(name, "dropped", f"its values are of type {str(dtype).partition('(')[0]}")
    values = column.drop_nulls()
    if dtype.is_float():
        values = values.drop_nans()
    if not len(values):
        return ColumnPlan(name, "dropped", "it has no values")
    if values.min() == values.max() and len(values) == len(column):
        return ColumnPlan(name, "dropped", f"it is '{short(values[0])}' in every row")
    if dtype == pl.Boolean:
        return ColumnPlan(name, "number", "true and false become 1 and 0")
    if dtype.is_numeric() or dtype in (pl.Duration, pl.Time):
        if dtype.is_integer() and _is_index(values, name) and values.n_unique() == len(column):
            return ColumnPlan(name, "dropped", NUMBERS_ROWS)
        return ColumnPlan(name, "number", "numbers")
    if dtype in (pl.Date, pl.Datetime):
        return ColumnPlan(name, "date", "dates")
    return _plan_text(column.cast(pl.String))


def _plan_text(column: "polars.Series") -> ColumnPlan:
    """The role of a column of words, decided from its different entries; the first of them rule most roles out."""
    name, rows = column.name, len(column)
    entries = column.drop_nulls().unique(maintain_order=True)
    first, distinct = entries.head(FIRST_ENTRIES), len(entries)
    if as_numbers(first) is not None and (numbers := as_numbers(entries)) is not None:
        values, style = numbers
        if column.null_count() == 0 and values.n_unique() == rows and _is_index(values.drop_nulls(), name):
            return ColumnPlan(name, "dropped", NUMBERS_ROWS)
        return ColumnPlan(name, "number", "numbers" if style == "plain" else f"numbers written as {style}", style)
    if as_dates(first) is not None and (dates := as_dates(entries)) is not None:
        return ColumnPlan(name, "date", f"dates written as {dates[1]}", dates[1])
    words = float(entries.str.count_matches(r"\S+").mean() or 0)  # type: ignore[arg-type]
    if distinct > MANY_VALUES and words >= SENTENCE:
        return ColumnPlan(name, "text", f"{distinct:,} different entries of {words:.0f} words on average")
    if rows >= FEW_ROWS and distinct > 0.95 * rows:
        return ColumnPlan(name, "dropped", "nearly every row has another value, so it only identifies rows")
    return ColumnPlan(name, "category", f"{distinct:,} different values")


def _is_index(values: "polars.Series", name: str) -> bool:
    """Whether different integers only count or identify rows: they are consecutive and sorted, or the name says so."""
    if len(values) < FEW_ROWS or not (values % 1 == 0).all():
        return False
    low, high = values.min(), values.max()
    named = bool(_ID.search(name) or _ID_CASE.search(name))
    consecutive = float(high) - float(low) == len(values) - 1  # type: ignore[arg-type]
    return named or (consecutive and values.is_sorted())


def _forced_number(column: "polars.Series", where: str) -> ColumnPlan:
    """The plan of a column that the user calls numeric; an entry that is no number is an error."""
    import polars as pl

    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Duration, pl.Time):
        return ColumnPlan(column.name, "number", "as requested")
    if column.dtype == pl.String:
        if (numbers := as_numbers(column)) is not None:
            return ColumnPlan(column.name, "number", "as requested", numbers[1])
        row = first_unreadable(column, dates=False)
        raise InputError(
            f"{where}: column '{column.name}' cannot be `numeric`: row {row + 1} has '{short(column[row])}'; correct "
            "or empty it, or leave the column out of `numeric`"
        )
    raise InputError(f"{where}: column '{column.name}' cannot be `numeric`: its values are of type {column.dtype}")
