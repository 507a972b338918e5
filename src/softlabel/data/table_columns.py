"""Every column of a user's file before its label is chosen, as the file has it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.encoding.inputs import check_not_empty
from softlabel.data.frames import NAMED_FILES, read_frame
from softlabel.data.table_files import (
    INPUT_ARRAYS,
    LABEL_KINDS,
    array_name,
    check_file,
    check_inputs,
    check_numbers,
    holds_images,
    is_number,
    labeled_array,
    without_names,
)
from softlabel.errors import InputError
from softlabel.numerics.array_files import array_headers, array_names, read_arrays

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a file.

    columns     in the order of the file; those of arrays of inputs are numbered
    labels      positions in `columns` of those that can be named as the label
    plain       positions of those that are used as they are if they are inputs: numbers of an array without gaps
    """

    columns: "list[polars.Series]"
    labels: range
    plain: range


def read_table_columns(path: Path) -> TableColumns:
    """Every column of a CSV, Parquet, NPZ or NPY file, labels included."""
    check_file(path)
    if path.suffix.lower() in NAMED_FILES:
        return _named_columns(path)
    if path.suffix.lower() == ".npz":
        return _archive_columns(path)
    columns = _numbered(labeled_array(path), path)
    return TableColumns(columns, range(len(columns)), _plain(columns))


def _named_columns(path: Path) -> TableColumns:
    frame = read_frame(path)
    if all(map(is_number, frame.columns)) and not _counts(frame.columns):
        raise without_names(frame.columns, path)
    check_not_empty(frame, f"'{path}'")
    return TableColumns(frame.get_columns(), range(frame.width), range(0))


def _counts(names: list[str]) -> bool:
    """Whether names are 0, 1, 2, … or 1, 2, 3, …, as programs number columns."""
    return any(names == [str(number + first) for number in range(len(names))] for first in (0, 1))


def _archive_columns(path: Path) -> TableColumns:
    """The columns of the array of inputs, and behind them every array with one entry per row."""
    import polars as pl

    if holds_images(path):
        raise InputError(f"'{path}' holds images, which have no columns to look at: load it as it is, without a label")
    inputs = array_name(array_names(path), INPUT_ARRAYS, None, path, "inputs")
    (array,) = read_arrays(path, [inputs])
    check_inputs(array, path)
    columns, rows = _numbered(array, path), len(array)
    labels = [
        name
        for name, (shape, dtype) in array_headers(path).items()
        if name != inputs and shape in ((rows,), (rows, 1)) and dtype.kind in LABEL_KINDS
    ]
    extra = [
        pl.Series(name, _plain_type(values.reshape(-1)))
        for name, values in zip(labels, read_arrays(path, labels), strict=True)
    ]
    return TableColumns([*columns, *extra], range(len(columns), len(columns) + len(extra)), _plain(columns))


def _numbered(array: np.ndarray, path: Path) -> "list[polars.Series]":
    """The columns of an array (n, …)."""
    import polars as pl

    check_numbers(array, path)
    table = array.reshape(len(array), -1)
    return [pl.Series(str(number), _plain_type(table[:, number])) for number in range(table.shape[1])]


def _plain_type(values: np.ndarray) -> np.ndarray:
    """The same values in a type that polars has."""
    if values.dtype.kind != "f" or values.dtype.itemsize in (4, 8):
        return values
    return values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)


def _plain(columns: "list[polars.Series]") -> range:
    gaps = any(column.dtype.is_float() and column.is_nan().any() for column in columns)
    return range(0 if gaps else len(columns))
