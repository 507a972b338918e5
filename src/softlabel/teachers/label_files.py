"""Soft labels in a file: CSV, Parquet or NPY, one row an example, matched by row or by id.

Rows in another order would teach nonsense, so the labels are held against the given ones (agreement.py).
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.catalogue import CATALOGUE
from softlabel.data.class_names import match_names, number_name, plain_name
from softlabel.data.frames import read_column, read_frame
from softlabel.data.problem import Problem
from softlabel.errors import InputError, quoted, require, short
from softlabel.numerics.array_files import read_array
from softlabel.teachers.agreement import check_order, learning_rows
from softlabel.teachers.answers import (
    SUM_TOLERANCE,
    TeacherAnswers,
    read_answers,
    row_numbers,
)

if TYPE_CHECKING:
    import polars

SUFFIXES = (".csv", ".parquet", ".npy")
_PREFIXES = {
    "": None,
    "p_": "probabilities",
    "prob_": "probabilities",
    "proba_": "probabilities",
    "probability_": "probabilities",
    "logit_": "logits",
    "logits_": "logits",
}


def read_labels(
    problem: Problem, path: Path, *, kind: str | None = None, id_column: str | None = None
) -> TeacherAnswers:
    """Soft labels or logits from a file.

    By row, the file has as many as the problem's own file, as the problem, or (test rows that stand apart left out) as
    its training part. By `id_column`, its ids are held against the problem's.
    """
    began = time.perf_counter()
    name = f"label file '{path}'"
    matched = None if id_column is None else _by_id(problem, path, id_column, name)
    table, kind, notes = _read(path, problem.classes, kind, id_column, name)
    if matched is not None:
        known, places, more = matched
        notes = [*notes, *more]
    else:
        known, places = _by_row(problem, len(table), name)
    found, kind = read_answers(table[places], len(problem.classes), kind, name, places)
    logits = np.full((len(problem), len(problem.classes)), np.nan)
    logits[known] = found
    learned = learning_rows(problem)
    remedy = "match them by --id COLUMN, or check the row order" if id_column is None else "check the ids"
    notes += check_order(problem.labels[learned], logits[learned], problem.classes, name, remedy)
    how = "by row" if id_column is None else f"by id '{id_column}'"
    return TeacherAnswers(
        logits, f"{kind} in {path.name}, matched {how}", kind, seconds=time.perf_counter() - began, notes=tuple(notes)
    )


def _read(
    path: Path, classes: Sequence[str], kind: str | None, id_column: str | None, name: str
) -> tuple[np.ndarray, str | None, list[str]]:
    """Numbers (m, K) or (m, 1) in the order of the classes (NaN where missing), their kind, and remarks."""
    if path.suffix.lower() == ".npy":
        return _read_array(path, len(classes), name), kind, []
    frame = read_frame(path)
    present = [column for column in frame.columns if column != id_column]
    columns, implied = _named_columns(present, classes, kind, name)
    if columns:
        table, kind = _numbers(frame, columns, name), kind or implied
        if len(columns) == 1 and len(classes) == 2 and _is_for(columns[0], classes[0]):
            inside = (np.isnan(table) | ((table >= 0) & (table <= 1))).all()
            kind = kind or ("probabilities" if inside else "logits")
            table = 1 - table if kind == "probabilities" else -table
        unread = [column for column in present if column not in columns and not _counts_rows(frame[column])]
        _refuse_further_mass(frame, table, unread, name)
        return table, kind, [f"columns {quoted(unread)} of the label file are not read"] if unread else []
    columns = _other_columns(frame, classes, id_column, name)
    remark = f"columns {quoted(columns)} are taken for the classes {quoted(classes)}, in this order"
    return _numbers(frame, columns, name), kind, [remark]


def _refuse_further_mass(frame: "polars.DataFrame", table: np.ndarray, unread: Sequence[str], name: str) -> None:
    """Raise where rows add up to 1 only with a column that is called as no class of the data."""
    if table.shape[1] == 1 or _adds_up(table.sum(axis=1)):
        return
    for column in unread:
        held = frame[column]
        if held.dtype.is_numeric() and _adds_up(table.sum(axis=1) + held.cast(float).to_numpy()):
            raise InputError(
                f"{name}: its rows add up to 1 with column '{column}' only, which is no class of the data; leave that "
                "class out of both, or bring labels for the data's classes alone"
            )


def _adds_up(sums: np.ndarray) -> bool:
    known = sums[np.isfinite(sums)]
    return len(known) > 0 and bool((np.abs(known - 1) <= SUM_TOLERANCE).all())


def _read_array(path: Path, classes: int, name: str) -> np.ndarray:
    table = read_array(path)
    require(table.dtype.kind in "biuf", f"{name} must be numbers, got {table.dtype}")
    table = table[:, None] if table.ndim == 1 else table
    fits = table.ndim == 2 and table.shape[1] in (classes, 1 if classes == 2 else classes)
    require(fits, f"{name} has shape {table.shape}, the data have {classes} classes: one column for each")
    return table.astype(np.float64)


def _named_columns(
    columns: Sequence[str], classes: Sequence[str], kind: str | None, name: str
) -> tuple[list[str], str | None]:
    """Columns called as the classes, in their order, and the kind that their prefix means; none found: empty."""
    for prefix, implied in sorted(_PREFIXES.items(), key=lambda entry: (entry[0] == "", entry[1] != kind)):
        named = [column for column in columns if column.lower().startswith(prefix)]
        found = _called(named, len(prefix), classes)
        held = [column for column in found if column is not None]
        if len(held) == len(classes):
            return held, implied
        if len(classes) == 2 and len(held) == 1:
            require(
                prefix != "" or found[0] is None or not plain_name(classes[0]).isdigit(),
                f"{name}: it is not clear which class the one column '{held[0]}' is for; call it p_{classes[0]} or "
                f"p_{classes[1]}",
            )
            return held, implied
        if len(held) > 1:
            missing = [own for own, column in zip(classes, found, strict=True) if column is None]
            raise InputError(f"{name} has columns {quoted(held)}, but none for the classes {quoted(missing)}")
    return [], None


def _called(columns: Sequence[str], prefix: int, classes: Sequence[str]) -> list[str | None]:
    """The first column for each class, called as it after a prefix of so many letters; None where there is none."""
    exact: dict[str, str] = {}
    plain: dict[str, list[str]] = {}
    for column in columns:
        exact.setdefault(column[prefix:], column)
        plain.setdefault(number_name(column[prefix:]), []).append(column)
    return [
        exact.get(own) or next((one for one in plain.get(number_name(own), ()) if _same(one[prefix:], own)), None)
        for own in classes
    ]


def _same(text: str, own: str) -> bool:
    return text == own or match_names([text], [own]) is not None


def _is_for(column: str, own: str) -> bool:
    """Whether a column is called as that class."""
    return any(column.lower().startswith(prefix) and _same(column[len(prefix) :], own) for prefix in _PREFIXES)


def _other_columns(frame: "polars.DataFrame", classes: Sequence[str], id_column: str | None, name: str) -> list[str]:
    """Columns that are not called as the classes, if they are as many (or one for two)."""
    columns = [column for column in frame.columns if column != id_column and not _counts_rows(frame[column])]
    if all(map(_is_number, columns)) and columns != [str(place) for place in range(len(columns))]:
        raise InputError(
            f"{name}: the first line is numbers ({', '.join(columns[:3])}): add a line of names at the top"
        )
    text = [column for column in columns if not frame[column].dtype.is_numeric()]
    hint = f"; is '{text[0]}' an id? then give --id {text[0]}" if text and id_column is None else ""
    fits = len(columns) == len(classes) or (len(classes) == 2 and len(columns) == 1)
    require(
        fits,
        f"{name} has {len(columns)} columns ({quoted(columns)}), the data {len(classes)} classes: call one column for "
        f"each as the class ({quoted(classes)}){hint}",
    )
    return columns


def _counts_rows(column: "polars.Series") -> bool:
    """Whether a column only numbers the rows, as an index does."""
    if not column.dtype.is_integer() or len(column) < 3 or column.null_count():
        return False
    numbers = column.to_numpy()
    return numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def _is_number(text: str) -> bool:
    try:
        float(text.split("_duplicated_")[0])
    except ValueError:
        return False
    return True


def _numbers(frame: "polars.DataFrame", columns: Sequence[str], name: str) -> np.ndarray:
    """Columns as float64 (m, …); missing values are NaN, text is an error."""
    import polars as pl

    tables = []
    for column in columns:
        held = frame[column]
        numbers = held.cast(pl.Float64, strict=False)
        lost = (numbers.is_null() & held.is_not_null()).to_numpy()
        if lost.any():
            row = int(np.argmax(lost))
            raise InputError(
                f"{name}: column '{column}' holds '{short(held[row])}' (row {row + 1}); it must be numbers"
            )
        tables.append(numbers.to_numpy())
    return np.stack(tables, axis=1)


def _by_row(problem: Problem, rows: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of the problem a file of so many rows labels, and with which of its rows."""
    everything, own = np.arange(len(problem)), row_numbers(problem)
    whole = problem.file_rows + problem.test_file_rows
    possible = [(whole, everything, own), (len(problem), everything, everything)]
    named = CATALOGUE.get(problem.name)
    apart = problem.file_rows if problem.test_file_rows else None
    if named is not None and "test" in named.examples:
        apart = named.examples["train"]
    if apart is not None:
        learned = np.sort(np.concatenate([problem.parts["train"], problem.parts["validation"]]))
        possible += [(apart, learned, own[learned]), (len(learned), learned, np.arange(len(learned)))]
    fitting = [(known, places) for expected, known, places in possible if expected and rows == expected]
    if fitting:
        same = all(np.array_equal(one, first) for each in fitting for one, first in zip(each, fitting[0], strict=True))
        require(same, f"{name} has {rows:,} rows, which fit the data in two ways: match them by --id COLUMN")
        return fitting[0]
    wanted = " or ".join(dict.fromkeys(f"{expected:,}" for expected, _, _ in possible if expected))
    raise InputError(
        f"{name} has {rows:,} rows, the data {wanted}: give one row for each, or match them by --id COLUMN"
    )


def _by_id(problem: Problem, path: Path, id_column: str, name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Which rows of the problem the file labels, in which of its own, and remarks; a test file's need no labels."""
    require(
        path.suffix.lower() != ".npy",
        f"{name} has no columns with names, so no id '{id_column}': write a .csv or .parquet file, or leave out --id",
    )
    given = read_column(path, id_column).astype(str)
    if problem.ids is None:
        raise InputError(
            f"{name}: the data were read without ids, so '{id_column}' matches nothing: read them with --id"
        )
    ids = np.asarray(problem.ids).astype(str)
    if not np.isin(ids, given).any():  # 1.0 and 1 are the same id
        ids, given = (np.array([plain_name(text) for text in texts.tolist()], dtype=str) for texts in (ids, given))
    _refuse_twice(ids, ids, f"the data's id column '{id_column}'")
    missing = np.flatnonzero(~np.isin(ids, given))
    apart = problem.test_file_rows > 0 and np.array_equal(missing, problem.parts["test"])
    if len(missing) and not apart:
        raise InputError(
            f"{name} lacks {len(missing):,} of the data's {len(ids):,} ids ('{id_column}'): "
            f"{quoted(ids[missing].tolist())}; every row needs its labels"
        )
    _refuse_twice(given, ids, f"{name}: the id column '{id_column}'")
    known = np.setdiff1d(np.arange(len(ids)), missing)
    order = np.argsort(given, kind="stable")
    places = order[np.searchsorted(given[order], ids[known])]
    extra = len(given) - len(known)
    return (
        known,
        places,
        [f"{extra:,} rows of {path.name} have ids that the data have not; they are left out"] if extra else [],
    )


def _refuse_twice(given: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Raise where an id that is wanted occurs more than once."""
    values, counts = np.unique(given, return_counts=True)
    twice = values[(counts > 1) & np.isin(values, wanted)]
    if len(twice):
        rows = np.flatnonzero(given == twice[0])[:2] + 1
        raise InputError(
            f"{what} has {len(twice):,} ids more than once ({quoted(twice.tolist())}; '{twice[0]}' in rows {rows[0]} "
            f"and {rows[1]}): each row needs its own"
        )
