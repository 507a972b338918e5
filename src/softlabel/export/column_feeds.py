"""Columns of a table as the inputs of an ONNX model with one input per column.

A missing number is NaN and missing text is empty; integers, and true or false, cannot be missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.encoding.encoder import TableEncoder, category_text, number_values
from softlabel.errors import InputError, require, short
from softlabel.teachers.onnx_session import FLOATS, TYPES

if TYPE_CHECKING:
    import polars

STRING, BOOLEAN = "tensor(string)", "tensor(bool)"
COLUMN_TYPES: dict[str, type] = TYPES | {STRING: np.object_, BOOLEAN: np.bool_}


@dataclass(frozen=True)
class RawColumns:
    """How a model takes the columns of a table, each with its own type.

    read        makes the model's inputs of a polars frame with these columns; the second argument is what messages
                call the table
    text        columns of a CSV file that are read as they are written
    only        whether the model takes nothing else, in particular no array of numbers
    encoder     what was learned of the columns, if the model is a student of softlabel
    """

    read: "Callable[[polars.DataFrame, str], Any]"
    text: tuple[str, ...]
    only: bool
    encoder: TableEncoder | None = None


def column_feed(column: "polars.Series", kind: str, where: str) -> np.ndarray:
    """A column as an input (n, 1) of a type of ONNX; an entry that is not of this type is an error with its row."""
    import polars as pl

    if kind == STRING:
        text = column if column.dtype == pl.String else category_text(column)  # text as it is written
        return np.array(text.fill_null("").to_list(), dtype=object)[:, None]
    if column.dtype == pl.String and kind == BOOLEAN:
        column = _truth_values(column, where)
    if column.dtype.is_integer() and kind not in FLOATS and not column.null_count():
        values = column.to_numpy()  # exact beyond float64
    else:
        values = number_values(column, None, where)
    if kind not in FLOATS:
        allowed = np.isin(values, (0, 1)) if kind == BOOLEAN else values == np.round(values)
        _require_all(allowed, column, "true and false" if kind == BOOLEAN else "integers", where)
    return np.ascontiguousarray(values, dtype=COLUMN_TYPES[kind])[:, None]


def _truth_values(column: "polars.Series", where: str) -> "polars.Series":
    """Words as truth values; other words are an error."""
    words = column.str.strip_chars().str.to_lowercase()
    _require_all(words.is_in(["true", "false", "1", "0"]).fill_null(False).to_numpy(), column, "true and false", where)
    return words.is_in(["true", "1"])


def _require_all(allowed: np.ndarray, column: "polars.Series", what: str, where: str) -> None:
    if not allowed.all():
        row = int((~allowed).argmax())
        entry = column[row]
        has = "is missing" if entry is None or entry != entry else f"has '{short(entry)}'"
        raise InputError(
            f"{where}: the model takes {what} in column '{column.name}', which {has} in row {row + 1}: correct the "
            "entry, or export the model with an input of floats"
        )


def empty_feed(kind: str, rows: int = 1) -> np.ndarray:
    """An input (rows, 1) by which a model is tried."""
    return np.full((rows, 1), "", dtype=object) if kind == STRING else np.zeros((rows, 1), dtype=COLUMN_TYPES[kind])


def shaped(feed: np.ndarray, declared: Any) -> np.ndarray:
    """A column (n, 1) in the declared shape, which may be (n,)."""
    return feed[:, 0] if len(declared.shape) == 1 else feed


def check_inputs(inputs: list[Any], path: Any, encoded: bool) -> bool:
    """Whether a model takes one column for each of its inputs; anything that is neither this nor a table is refused.

    encoded     whether the model contains an encoder
    """
    single = len(inputs) == 1 and inputs[0].type == STRING and tuple(inputs[0].shape[1:]) in ((), (1,))
    by_column = len(inputs) > 1 or single or encoded
    for one in inputs:
        known = COLUMN_TYPES if by_column else TYPES
        require(
            one.type in known,
            f"'{path}' takes {one.type} for '{one.name}': only numeric inputs are supported"
            + (", and text in inputs of one column each: export it with one input per column" if not by_column else ""),
        )
    sides = {side for one in inputs for side in one.shape[1:]}
    require(
        not by_column or sides <= {1},
        f"'{path}' takes {len(inputs)} inputs: one table, or one column each, is needed",
    )
    return by_column
