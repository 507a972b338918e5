"""Soft labels in a file: CSV, Parquet or NPY, one row per example, matched by position or by id."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.catalogue import CATALOGUE
from softlabel.data.class_names import plain_name
from softlabel.data.frames import read_column, read_frame
from softlabel.data.problem import Problem
from softlabel.data.table_files import is_number
from softlabel.errors import InputError, counted, quoted, require, short
from softlabel.numerics.array_files import read_array
from softlabel.teachers.agreement import check_order, learning_rows
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.reading import SUM_TOLERANCE, decide_reading, find_class_columns

if TYPE_CHECKING:
    import polars

SUFFIXES = (".csv", ".tsv", ".parquet", ".npy")


def read_labels(
    problem: Problem, path: Path, *, kind: str | None = None, id_column: str | None = None
) -> TeacherPredictions:
    """Soft labels or logits from a file.

    Matched by position, the file has as many rows as the problem's own file, as the problem, or (without the rows of a
    separate test part) as its training part. With `id_column`, its ids are matched with the problem's.
    """
    began = time.perf_counter()
    name = f"label file '{path}'"
    matched = None if id_column is None else _by_id(problem, path, id_column, name)
    table, columns, implied, notes = _read(path, problem.classes, kind, id_column, name)
    if matched is not None:
        known, places, remarks = matched
        notes += remarks
    else:
        known, places = _by_position(problem, len(table), name)
    reading = decide_reading(
        table[places], classes=problem.classes, columns=columns, kind=kind or implied, name=name, rows=places
    )
    logits = np.full((len(problem), len(problem.classes)), np.nan)
    logits[known] = reading.logits(table[places], places)
    learned = learning_rows(problem)
    remedy = "match them by `id_column`, or check the row order" if id_column is None else "check the ids"
    notes += check_order(problem.y[learned], logits[learned], problem.classes, name, remedy)
    how = "by row" if id_column is None else f"by id '{id_column}'"
    return TeacherPredictions(
        logits,
        f"{reading.kind} in {path.name}, matched {how}",
        reading.kind,
        seconds=time.perf_counter() - began,
        notes=tuple(notes),
    )


def _read(
    path: Path, classes: Sequence[str], kind: str | None, id_column: str | None, name: str
) -> tuple[np.ndarray, tuple[int, ...] | None, str | None, list[str]]:
    """Numbers (m, K) or (m, 1) (NaN where missing), `TeacherReading.columns`, the kind their names mean, remarks."""
    if path.suffix.lower() == ".npy":
        return _read_array(path, len(classes), name), None, None, []
    frame = read_frame(path)
    present = [column for column in frame.columns if column != id_column]
    names, columns, implied = find_class_columns(present, classes, kind, name)
    if names:
        table = _numbers(frame, names, name)
        unread = [column for column in present if column not in names and not _counts_rows(frame[column])]
        _refuse_missing_class(frame, table, unread, name)
        return table, columns, implied, [f"columns {quoted(unread)} of the label file are not read"] if unread else []
    names = _other_columns(frame, classes, id_column, name)
    remark = f"columns {quoted(names)} are taken for the classes {quoted(classes)}, in this order"
    return _numbers(frame, names, name), None, None, [remark]


def _refuse_missing_class(frame: "polars.DataFrame", table: np.ndarray, unread: Sequence[str], name: str) -> None:
    """Refuse rows that add up to 1 only together with a column that is not named after a class of the data."""
    if table.shape[1] == 1 or _adds_up(table.sum(axis=1)):
        return
    for column in unread:
        values = frame[column]
        if values.dtype.is_numeric() and _adds_up(table.sum(axis=1) + values.cast(float).to_numpy()):
            raise InputError(
                f"{name}: its rows add up to 1 only with column '{column}', which is not a class of the data; leave "
                "that class out of both, or bring labels for the data's classes only"
            )


def _adds_up(sums: np.ndarray) -> bool:
    known = sums[np.isfinite(sums)]
    return len(known) > 0 and bool((np.abs(known - 1) <= SUM_TOLERANCE).all())


def _read_array(path: Path, classes: int, name: str) -> np.ndarray:
    table = read_array(path)
    require(table.dtype.kind in "biuf", f"{name} must be numbers, got {table.dtype}")
    table = table[:, None] if table.ndim == 1 else table
    fits = table.ndim == 2 and table.shape[1] in (classes, 1 if classes == 2 else classes)
    require(fits, f"{name} has shape {table.shape}, the data have {classes} classes: it needs one column per class")
    return table.astype(np.float64)


def _other_columns(frame: "polars.DataFrame", classes: Sequence[str], id_column: str | None, name: str) -> list[str]:
    """Columns that are not named after the classes, if they are as many (or one for two classes)."""
    columns = [column for column in frame.columns if column != id_column and not _counts_rows(frame[column])]
    only_numbers = all(is_number(column.split("_duplicated_")[0]) for column in columns)
    if only_numbers and columns != list(map(str, range(len(columns)))):
        raise InputError(
            f"{name}: the first line is numbers ({', '.join(columns[:3])}): add a line of column names at the top"
        )
    text = [column for column in columns if not frame[column].dtype.is_numeric()]
    hint = f"; if '{text[0]}' holds ids, pass it as `id_column`" if text and id_column is None else ""
    fits = len(columns) == len(classes) or (len(classes) == 2 and len(columns) == 1)
    require(
        fits,
        f"{name} has {counted(len(columns), 'column')} ({quoted(columns)}), the data {len(classes)} classes: name one "
        f"column after each class ({quoted(classes)}){hint}",
    )
    return columns


def _counts_rows(column: "polars.Series") -> bool:
    """Whether a column only numbers the rows, as an index does."""
    if not column.dtype.is_integer() or len(column) < 3 or column.null_count():
        return False
    numbers = column.to_numpy()
    return numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def _numbers(frame: "polars.DataFrame", columns: Sequence[str], name: str) -> np.ndarray:
    """Columns as float64 (m, …); missing values are NaN, text is an error."""
    import polars as pl

    tables = []
    for column in columns:
        values = frame[column]
        numbers = values.cast(pl.Float64, strict=False)
        lost = (numbers.is_null() & values.is_not_null()).to_numpy()
        if lost.any():
            row = int(np.argmax(lost))
            raise InputError(
                f"{name}: column '{column}' holds '{short(values[row])}' (row {row + 1}); it must be numbers"
            )
        tables.append(numbers.to_numpy())
    return np.stack(tables, axis=1)


def _by_position(problem: Problem, rows: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of the problem a file with this number of rows labels, and with which of its rows."""
    everything, own = np.arange(len(problem)), problem.rows
    possible = [
        (problem.file_rows + problem.test_file_rows, everything, own),
        (len(problem), everything, everything),
    ]
    entry = CATALOGUE.get(problem.name)
    apart = problem.file_rows if problem.test_file_rows else None
    if entry is not None and "test" in entry.examples:
        apart = entry.examples["train"]
    if apart is not None:
        learned = np.sort(learning_rows(problem))
        possible += [(apart, learned, own[learned]), (len(learned), learned, np.arange(len(learned)))]
    fitting = [(known, places) for expected, known, places in possible if expected and rows == expected]
    if fitting:
        same = all(np.array_equal(a, first) for each in fitting for a, first in zip(each, fitting[0], strict=True))
        require(same, f"{name} has {counted(rows, 'row')}, which fit the data in two ways: match them by `id_column`")
        return fitting[0]
    wanted = " or ".join(dict.fromkeys(f"{expected:,}" for expected, _, _ in possible if expected))
    raise InputError(
        f"{name} has {counted(rows, 'row')}, the data {wanted}: it needs one row for each, or match them by `id_column`"
    )


def _by_id(problem: Problem, path: Path, id_column: str, name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Which rows of the problem the file labels, with which of its rows, and remarks; test files need no labels."""
    require(
        path.suffix.lower() != ".npy",
        f"{name} has no column names, so no id '{id_column}': write a .csv or .parquet file, or leave out `id_column`",
    )
    file_ids = read_column(path, id_column).astype(str)
    if problem.ids is None:
        raise InputError(
            f"{name}: the data were read without ids, so '{id_column}' matches nothing: read them with `id_column`"
        )
    ids = np.asarray(problem.ids).astype(str)
    if not np.isin(ids, file_ids).any():  # 1.0 and 1 are the same id
        ids, file_ids = (np.array([plain_name(text) for text in each.tolist()], dtype=str) for each in (ids, file_ids))
    _refuse_duplicates(ids, ids, f"the data's id column '{id_column}'")
    missing = np.flatnonzero(~np.isin(ids, file_ids))
    apart = problem.test_file_rows > 0 and np.array_equal(missing, problem.test.rows)
    if len(missing) and not apart:
        raise InputError(
            f"{name} lacks {len(missing):,} of the data's {len(ids):,} ids ('{id_column}'): "
            f"{quoted(ids[missing].tolist())}; every row needs its labels"
        )
    _refuse_duplicates(file_ids, ids, f"{name}: the id column '{id_column}'")
    known = np.setdiff1d(np.arange(len(ids)), missing)
    order = np.argsort(file_ids, kind="stable")
    places = order[np.searchsorted(file_ids[order], ids[known])]
    unused = len(file_ids) - len(known)
    remark = f"{unused:,} rows of {path.name} have ids that the data do not have; they are left out"
    return known, places, [remark] if unused else []


def _refuse_duplicates(ids: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Refuse ids that are wanted and occur more than once."""
    values, counts = np.unique(ids, return_counts=True)
    twice = values[(counts > 1) & np.isin(values, wanted)]
    if len(twice):
        rows = np.flatnonzero(ids == twice[0])[:2] + 1
        raise InputError(
            f"{what} has {len(twice):,} ids more than once ({quoted(twice.tolist())}; '{twice[0]}' in rows {rows[0]} "
            f"and {rows[1]}): each row needs its own"
        )
