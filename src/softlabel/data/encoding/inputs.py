"""The inputs of a table: plain numbers, or columns that an encoder has to learn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.encoding.columns import NUMBERS_ROWS, ColumnPlan, plan_columns
from softlabel.data.encoding.encoder import date_values, number_values
from softlabel.data.encoding.written import parse_numbers
from softlabel.data.precision import check_float32
from softlabel.data.roles import ColumnRoles
from softlabel.errors import InputError, few, quoted

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False)
class TableInputs:
    """Input columns of a table, and what each is.

    X           float32 (n, d) where the used columns are numbers without gaps, otherwise (n, 0)
    table       the columns for an encoder; None where X has them
    columns     names of the columns of X
    plans       what each column is
    notes       which columns were left out of X
    """

    X: np.ndarray
    table: "polars.DataFrame | None"
    columns: tuple[str, ...]
    plans: tuple[ColumnPlan, ...]
    notes: tuple[str, ...] = ()


def table_inputs(frame: "polars.DataFrame", roles: ColumnRoles, where: str) -> TableInputs:
    """Decide what the columns of a frame are, and read them where they are plain numbers.

    Columns that number the rows are left out, unless there are no others. Constant columns stay where everything is
    plain: they do no harm, and inputs have the width that a teacher expects.
    """
    check_not_empty(frame, where)
    plans = plan_columns(frame, numeric=roles.numeric, categorical=roles.categorical, where=where)
    if all(plan.kind == "dropped" for plan in plans):  # better than nothing
        plans = tuple(replace(plan, kind="number") if plan.reason == NUMBERS_ROWS else plan for plan in plans)
    indexes = [plan.name for plan in plans if plan.kind == "dropped" and plan.reason == NUMBERS_ROWS]
    used = [plan for plan in plans if plan.name not in indexes]
    check_precision(frame, plans, where)
    if not used or not all(_plain(plan, frame[plan.name]) for plan in used):
        check_entries(frame, plans, where)  # here, because an encoder counts the training rows only
        empty = np.empty((frame.height, 0), dtype=np.float32)
        left = few(f"'{plan.name}' ({plan.reason})" for plan in plans if plan.kind == "dropped")
        return TableInputs(empty, frame, (), plans, (f"columns left out: {left}",) if left else ())
    columns = [_number_column(frame[plan.name], where) for plan in used]
    notes = []
    if indexes:
        many = len(indexes) > 1
        notes.append(
            f"left out, because {'they number' if many else 'it numbers'} the rows: {quoted(indexes)} (to use "
            f"{'them' if many else 'it'} anyway: `numeric` '{few(indexes)}')"
        )
    names = tuple(plan.name for plan in used)
    return TableInputs(np.stack(columns, axis=1), None, names, plans, tuple(notes))


def check_not_empty(frame: "polars.DataFrame", where: str) -> None:
    """Raise for a table without rows or columns."""
    if not frame.width or not frame.height:
        raise InputError(
            f"{where} has {frame.height} rows and {frame.width} input columns: at least one of each is needed"
        )


def check_entries(frame: "polars.DataFrame", plans: Sequence[ColumnPlan], where: str) -> None:
    """Raise for an entry of another frame that is not what its column is."""
    for plan in plans:
        if plan.kind == "number":
            number_values(frame[plan.name], plan.style, where)
        elif plan.kind == "date":
            date_values(frame[plan.name], plan.style, where)


def check_precision(frame: "polars.DataFrame", plans: Sequence[ColumnPlan], where: str) -> None:
    """Raise for a column of numbers that float32 cannot distinguish."""
    numbers = (frame[plan.name] for plan in plans if plan.kind == "number")
    check_float32(((column.name, column.to_numpy()) for column in numbers if column.dtype.is_numeric()), where)


def _plain(plan: ColumnPlan, column: "polars.Series") -> bool:
    """Whether a column is numbers as the file has them, without gaps."""
    import polars as pl

    if plan.style not in (None, "plain") or column.null_count() or plan.kind not in ("number", "dropped"):
        return False
    if column.dtype == pl.String:
        return not parse_numbers(column, "plain").null_count() and plan.kind == "number"
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        return False
    return not (column.dtype.is_float() and column.is_nan().any())


def _number_column(column: "polars.Series", where: str) -> np.ndarray:
    """Plain numbers as float32 (n,); an infinite one, or one beyond float32, is an error."""
    import polars as pl

    values = parse_numbers(column, "plain") if column.dtype == pl.String else column
    numbers = values.cast(pl.Float32).to_numpy()
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        raise InputError(
            f"{where} has infinite values, or values beyond float32, in column '{column.name}' ({wrong.sum()}, first "
            f"in row {wrong.argmax() + 1}): fix or rescale them, or leave the columns out with `drop`"
        )
    return numbers
