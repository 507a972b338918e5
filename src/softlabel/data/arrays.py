"""Arrays and frames in memory as tables of numbers and class numbers."""

from collections import Counter
from typing import Any

import numpy as np

from softlabel.data.class_names import class_name
from softlabel.data.precision import check_float32
from softlabel.errors import InputError, counted, few, require

MISSING = "(missing)"  # stands for missing labels where classes are left out


def number_table(inputs: Any, name: str) -> np.ndarray:
    """Inputs as float32 (n, d); a value that is not a finite number is refused with its row and column."""
    try:
        table = np.asarray(inputs)
        if table.dtype.kind not in "biuf":
            table = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(f"{name}: inputs must be numbers; encode text columns first ({reason})") from None
    require(
        table.ndim == 2 and min(table.shape) >= 1, f"{name}: inputs must be a table (n, d), got shape {table.shape}"
    )
    names = [str(column) for column in getattr(inputs, "columns", range(1, table.shape[1] + 1))]
    duplicates = sorted(column for column, count in Counter(names).items() if count > 1)
    require(not duplicates, f"{name}: inputs have columns of the same name: {few(duplicates)}; rename them")
    check_float32(zip(names, table.T, strict=True), name)
    with np.errstate(over="ignore"):
        table = np.asarray(table, dtype=np.float32)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0].tolist()
        raise InputError(
            f"{name}: inputs contain missing or infinite values (first in row {row + 1}, column {column + 1}); "
            "fill them in or remove these rows"
        )
    return table


def label_array(labels: Any, rows: int) -> np.ndarray:
    """Labels as an array (n,) with one entry per row."""
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    require(
        array.shape == (rows,),
        f"labels must have one entry per row: there are {counted(rows, 'row')}, and labels have shape {array.shape}",
    )
    return array


def missing_labels(labels: np.ndarray) -> np.ndarray:
    """Which labels are missing, (n,): None, NaN or empty text."""
    return np.array([value is None or value != value or value == "" for value in labels.tolist()], dtype=bool)


def encode_classes(labels: np.ndarray, where: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers (n,) and the names of the sorted classes: numbers by value, text alphabetically.

    where   what messages call the labels
    """
    missing = missing_labels(labels)
    require(
        not missing.any(),
        f"{where} has {counted(missing.sum(), 'missing value')} (first in row {np.argmax(missing) + 1}): "
        f"fill them in or remove these rows, for example with `leave_out` '{MISSING}'",
    )
    labels = labels.astype(str) if labels.dtype == object else labels
    labels = np.char.strip(labels) if labels.dtype.kind == "U" else labels
    values, codes = np.unique(labels, return_inverse=True)
    require(len(values) >= 2, f"{where} has one class only ('{class_name(values[0])}'): two are needed")
    require(
        len(values) <= max(20, len(labels) // 2),
        f"{where} has {len(values)} different values in {len(labels)} rows, so it does not name classes: choose "
        "another label or group its values into classes first",
    )
    return codes.astype(np.int64), tuple(map(class_name, values.tolist()))
