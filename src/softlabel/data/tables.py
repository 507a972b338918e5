"""From a user's table to a `Dataset`.

A table that needs a decision by the user (missing labels, one class only) is an error that names the remedy; equal
inputs with different labels are reported in notes. Rows are counted from 1, without the header.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.arrays import encode_classes, missing_labels
from softlabel.data.dataset import Dataset
from softlabel.data.encoding.inputs import check_not_empty, table_inputs
from softlabel.data.encoding.written import as_dates, as_numbers, days, first_unreadable
from softlabel.data.frames import NAMED_FILES, as_text
from softlabel.data.roles import ColumnRoles
from softlabel.data.table_files import RawTable, read_labeled, read_table
from softlabel.errors import InputError, counted, few, require, short
from softlabel.numerics.local_files import local_path

if TYPE_CHECKING:
    import polars

_BLOCK = 4096


def load_table(
    path: Path | str,
    label: str | int | None = None,
    drop: Sequence[str] = (),
    roles: ColumnRoles | None = None,
    *,
    labeled_only: bool = False,
) -> Dataset:
    """A user's CSV, Parquet, NPZ or NPY file as a data set with the part 'train' only.

    path            the file
    label           the label column: its name, in an NPY file its number or 'last', in an NPZ file the name of an array
                    (default: 'y')
    drop            columns to leave out
    roles           what some columns are
    labeled_only    leave out rows without a label, instead of an error
    """
    path, roles = local_path(path), roles or ColumnRoles()
    label, drop = None if label is None else str(label), list(map(str, drop))
    if path.suffix.lower() in NAMED_FILES:
        return _from_frame(path, label, drop, roles, labeled_only)
    table = read_table(path, label, drop)
    roles.check(table.columns, (), f"'{table.path}'")
    require(not roles.parting, f"'{path}' has no column names for `group` or `time`: use a .csv or .parquet file")
    known, total = np.arange(len(table.labels)), len(table.labels)
    if labeled_only:
        known = np.flatnonzero(~missing_labels(table.labels))
        table = replace(table, inputs=table.inputs[known], labels=table.labels[known])
    labels, classes = encode_labels(table)
    _check_finite(table)
    data = Dataset(
        table.path.name, table.inputs, labels, classes, {"train": slice(0, len(labels))}, table.image_shape,
        table.columns, frame=_frame_of(table, roles), file_rows=known, rows_in_file=total,
    )  # fmt: skip
    if data.frame is None:
        return replace(data, notes=contradiction_notes(table.inputs, labels))
    inputs = table_inputs(data.frame, roles, f"'{table.path}'")
    return replace(data, inputs=inputs.X, columns=inputs.columns, plans=inputs.plans, notes=inputs.notes)


def _from_frame(path: Path, label: str | None, drop: list[str], roles: ColumnRoles, labeled_only: bool) -> Dataset:
    """A file whose columns have names."""
    frame, labels = read_labeled(path, label, drop)
    check_not_empty(frame, f"'{path}'")
    roles.check([*frame.columns, str(label), *drop], [str(label), *drop], f"'{path}'")
    known, total = np.arange(len(labels)), len(labels)
    if labeled_only:
        known = np.flatnonzero(~missing_labels(labels))
        frame, labels = frame[known], labels[known]
        check_not_empty(frame, f"'{path}' (rows with a label)")
    codes, classes = encode_classes(labels, f"'{path}': label '{label}'")
    groups = None if roles.group is None else as_text(frame[roles.group], path).fill_null("").to_numpy()
    times = None if roles.time is None else time_values(frame[roles.time], f"'{path}'")
    frame = frame.drop(roles.parting)
    inputs = table_inputs(frame, roles, f"'{path}'")
    notes = inputs.notes + (contradiction_notes(inputs.X, codes) if inputs.table is None else ())
    return Dataset(
        path.name, inputs.X, codes, classes, {"train": slice(0, len(codes))}, columns=inputs.columns, notes=notes,
        frame=frame, plans=inputs.plans, groups=groups, times=times, file_rows=known, rows_in_file=total,
    )  # fmt: skip


def _frame_of(table: RawTable, roles: ColumnRoles) -> "polars.DataFrame | None":
    """Columns of an array that need an encoder, because values are missing or are categories; None for others."""
    import polars as pl

    if not (np.isnan(table.inputs).any() or roles.categorical):
        return None
    require(table.image_shape is None, f"'{table.path}': images cannot have missing values: fill them in")
    return pl.DataFrame(table.inputs, schema=list(table.columns))


def time_values(column: "polars.Series", where: str) -> np.ndarray:
    """Times or numbers of a column as float64 (n,), which only their order matters of; a missing one is an error."""
    import polars as pl

    if column.dtype == pl.String:
        read = as_numbers(column) or as_dates(column)
        values = None if read is None else read[0]
    elif column.dtype in (pl.Date, pl.Datetime):
        values = days(column)
    else:
        values = column.cast(pl.Float64, strict=False)
    if values is None:
        row = first_unreadable(column, dates=True)
        raise InputError(
            f"{where}: `time` '{column.name}' has '{short(column[row])}' in row {row + 1}, which is neither a number "
            "nor a date written as the others: write dates as 2024-12-31"
        )
    numbers = values.fill_null(float("nan")).to_numpy().astype(np.float64)
    missing = np.isnan(numbers)
    require(
        not missing.any(),
        f"{where}: `time` '{column.name}' has {counted(int(missing.sum()), 'missing value')} (first in row "
        f"{missing.argmax() + 1}): fill them in or remove these rows",
    )
    return numbers


def encode_labels(table: RawTable) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers (n,) of a table and the names of its classes."""
    return encode_classes(table.labels, f"'{table.path}': label '{table.label}'")


def contradiction_notes(inputs: np.ndarray, labels: np.ndarray) -> tuple[str, ...]:
    """What to say about rows with the same input and different labels; nothing where there are none."""
    clashes = contradictions(inputs, labels)
    if not clashes:
        return ()
    more = "; ..." if len(clashes) > 3 else ""
    rows = "; ".join(f"rows {first + 1} and {second + 1}" for first, second in clashes[:3])
    return (
        f"{counted(len(clashes), 'row repeats', 'rows repeat')} an earlier input with a different label "
        f"({rows}{more}): no function of the inputs separates them, so the margin γ is 0 where their labels have "
        "opposite signs",
    )


def contradictions(inputs: np.ndarray, labels: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of rows (first, later) that have the same input and different labels, in row order.

    Rows are compared by a 64-bit hash and then value by value, in blocks that need little memory.
    """
    factors = np.random.PCG64(0).random_raw(inputs.shape[1]) | np.uint64(1)
    hashes = np.empty(len(inputs), dtype=np.uint64)
    for start in range(0, len(inputs), _BLOCK):
        block = inputs[start : start + _BLOCK] + np.float32(0)  # −0 becomes 0
        hashes[start : start + _BLOCK] = (block.view(np.uint32) * factors).sum(axis=1, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    pairs, origins, previous = [], [], -2
    for position in same.tolist():
        if position != previous + 1:
            origins = [int(order[position])]
        previous, row = position, int(order[position + 1])
        origin = next((other for other in origins if np.array_equal(inputs[other], inputs[row])), None)
        if origin is None:
            origins.append(row)
        elif labels[row] != labels[origin]:
            pairs.append((origin, row))
    return sorted(pairs)


def _check_finite(table: RawTable) -> None:
    """Infinite values are an error."""
    wrong = np.isinf(table.inputs)
    if wrong.any():
        places = [
            f"column '{table.columns[at]}' ({wrong[:, at].sum()}, first in row {wrong[:, at].argmax() + 1})"
            for at in np.flatnonzero(wrong.any(axis=0))
        ]
        raise InputError(
            f"'{table.path}' has infinite values, or values beyond float32, in {few(places)}: fix or rescale them, or "
            "leave the columns out with `drop`"
        )
