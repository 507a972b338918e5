"""CSV files that a spreadsheet shows and does not execute.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return for a formula. Text
from a user's data (class names, ids) may begin so; it is written with an apostrophe before it, which spreadsheets take
for "this is text". Numbers stay as they are.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

FORMULAS = "=+-@\t\r"


def csv_bytes(table: "polars.DataFrame") -> bytes:
    """The table as CSV, with text that would be a formula marked as text."""
    import io

    import polars as pl

    texts = [name for name, kind in table.schema.items() if kind in (pl.String, pl.Categorical, pl.Object)]
    safe = table.with_columns(
        pl.Series(name, [_text(value) for value in table[name].to_list()], dtype=pl.String) for name in texts
    ).rename({name: _text(name) for name in table.columns})
    content = io.BytesIO()
    safe.write_csv(content)
    return content.getvalue()


def _text(value: Any) -> Any:
    if value is None or not str(value).startswith(tuple(FORMULAS)) or _is_number(str(value)):
        return value
    return f"'{value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
