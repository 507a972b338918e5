"""A user's files: data with labels, and files of a teacher's labels.

A file with the label column is a data file. The first one contains the training rows, the others are other splits. Text
is not an error here: equal words have equal codes in all files, so that rows can be compared, and a text column that
reveals the label is noticed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.class_names import plain_name
from softlabel.data.frames import as_text, label_values, read_column, read_frame
from softlabel.data.table_files import MISSING_WORDS, READERS, RawTable, read_table
from softlabel.data.tables import encode_labels
from softlabel.errors import require
from softlabel.numerics.array_files import read_array
from softlabel.teachers.label_files import SUFFIXES

if TYPE_CHECKING:
    import polars

NAMED = (".csv", ".parquet")
UNKNOWN = -1
_COUNTING = 10


@dataclass(frozen=True, eq=False)
class Sheet:
    """One data file.

    inputs      (n, d) float32, NaN where missing; text as codes
    labels      (n,) indices in `classes`, the classes of the first file; −1 for other classes
    names       (n,) labels in one spelling
    ids         (n,) values of the id column, None without one
    counting    columns that only number or name the rows
    text        columns of words, dates and the like
    frame       the content of the file, if it has named columns
    """

    path: Path
    inputs: np.ndarray
    columns: tuple[str, ...]
    labels: np.ndarray
    names: np.ndarray
    classes: tuple[str, ...]
    ids: np.ndarray | None = None
    id_column: str | None = None
    counting: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    frame: "polars.DataFrame | None" = None

    def __len__(self) -> int:
        return len(self.inputs)

    def missing(self) -> dict[str, np.ndarray]:
        """Columns with missing values, and a mask (n,) of their rows.

        Missing are nulls, numbers that are not finite, words in a column of numbers, and in a column of words empty
        ones and the usual words for "missing" (NA, null, ?).
        """
        missing = {}
        for k, column in enumerate(self.columns):
            gaps = ~np.isfinite(self.inputs[:, k])
            if self.frame is not None and column in self.text:
                gaps = _is_gap(self.frame[column])
            if gaps.any():
                missing[column] = gaps
        if self.ids is not None:
            gaps = np.isin(np.char.lower(np.char.strip(self.ids.astype(str))), MISSING_WORDS)
            if gaps.any():
                missing[self.id_column or "id"] = gaps
        return missing

    def select(self, columns: Sequence[str]) -> np.ndarray:
        """Inputs (n, …) of these columns, in this order; missing values are equal to each other."""
        known = {column: k for k, column in enumerate(self.columns)}
        indices = [known[column] for column in columns]
        table = self.inputs if indices == list(range(len(self.columns))) else self.inputs[:, indices]
        return np.where(np.isnan(table), np.float32(-3e38), table) if np.isnan(table).any() else table


def read_files(paths: Sequence[Path], label: str | None, id_column: str | None) -> tuple[list[Sheet], list[Path]]:
    """Data files, and files of teachers' labels."""
    frames: dict[Path, polars.DataFrame] = {}
    for path in paths:
        require(path.exists(), f"there is no file or directory '{path}': check the path")
        require(
            path.suffix.lower() in READERS,
            f"'{path}' ends in '{path.suffix}': doctor reads {', '.join(READERS)} files and run directories",
        )
        if path.suffix.lower() in NAMED:
            frames[path] = read_frame(path)
    data = [path for path, frame in frames.items() if label in frame.columns]
    data += [path for path in paths if path.suffix.lower() == ".npz"]
    if not data and frames:
        read_table(next(iter(frames)), label)  # raises an error about the label column
    data = data or _arrays_with_labels(paths, label)
    data.sort(key=list(paths).index)
    named = [frames[path].columns for path in data if path in frames]
    require(
        id_column is None or any(id_column in columns for columns in named),
        f"no data file has the column '{id_column}': change `id_column`, or leave it out",
    )
    label_files = [path for path in paths if path not in data]
    for path in label_files:
        require(
            path.suffix.lower() in SUFFIXES, f"'{path}' is not a file of labels: these end in {', '.join(SUFFIXES)}"
        )
    return _sheets(data, frames, label, id_column), label_files


def _arrays_with_labels(paths: Sequence[Path], label: str | None) -> list[Path]:
    """NPY files with a label column: the first, and others with as many columns."""
    columns = read_table(paths[0], label).inputs.shape[1] + 1
    return [paths[0], *(path for path in paths[1:] if open_array(path).shape[1:] == (columns,))]


def open_array(path: Path) -> np.ndarray:
    """The array in an NPY file, memory-mapped."""
    return read_array(path, mmap=True)


def _sheets(
    paths: Sequence[Path], frames: dict[Path, "polars.DataFrame"], label: str | None, id_column: str | None
) -> list[Sheet]:
    text = {column for path in paths if path in frames for column in _text(frames[path], (label, id_column))}
    codes = _codes({path: frames[path] for path in paths if path in frames}, text)
    sheets: list[Sheet] = []
    classes: tuple[str, ...] = ()
    for path in paths:
        table = _table(path, frames.get(path), label, id_column, codes)
        if not classes:
            classes = encode_labels(table)[1]
        sheets.append(_sheet(table, classes, frames.get(path), id_column, text))
    return sheets


def _text(frame: "polars.DataFrame", besides: Sequence[str | None]) -> list[str]:
    """Columns that are not numbers: dates, and text of which less than half can be read as numbers."""
    text = []
    for column in frame.get_columns():
        if column.name in besides or column.dtype.is_numeric() or str(column.dtype) in ("Boolean", "Null"):
            continue
        known = len(column) - column.null_count()
        if str(column.dtype) != "String" or 2 * (~np.isnan(_numbers(column))).sum() < known:
            text.append(column.name)
    return text


def _numbers(column: "polars.Series") -> np.ndarray:
    """A column as numbers (n,), NaN where it has none."""
    import polars as pl

    if column.dtype == pl.String:
        column = column.str.strip_chars()
    return column.cast(pl.Float64, strict=False).to_numpy()


def _is_gap(column: "polars.Series") -> np.ndarray:
    """Mask (n,) of the missing entries of a column of words."""
    import polars as pl

    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    return words.is_in(list(MISSING_WORDS)).fill_null(True).to_numpy()


def _codes(frames: dict[Path, "polars.DataFrame"], columns: set[str]) -> dict[str, np.ndarray]:
    """The sorted words of each text column in all files; the code of a word is its index."""
    words: dict[str, list[np.ndarray]] = {}
    for path, frame in frames.items():
        for column in frame.get_columns():
            if column.name in columns:
                words.setdefault(column.name, []).append(_words(column, path))
    return {column: np.unique(np.concatenate(parts)) for column, parts in words.items()}


def _words(column: "polars.Series", path: Path) -> np.ndarray:
    return as_text(column, path).fill_null("").to_numpy().astype(str)


def _table(
    path: Path, frame: "polars.DataFrame | None", label: str | None, id_column: str | None, codes: dict[str, np.ndarray]
) -> RawTable:
    """Inputs and labels of one file without the id column, text as codes."""
    if frame is None:
        return read_table(path, label)
    assert label is not None
    columns = [column for column in frame.columns if column not in (label, id_column)]
    require(bool(columns) and frame.height > 0, f"'{path}' has {frame.height} rows and {len(columns)} input columns")
    inputs = np.empty((frame.height, len(columns)), dtype=np.float32)
    for k, name in enumerate(columns):
        column = frame[name]
        with np.errstate(over="ignore"):
            inputs[:, k] = np.searchsorted(codes[name], _words(column, path)) if name in codes else _numbers(column)
    return RawTable(path, inputs, label_values(frame[label], path), tuple(columns), label)


def _sheet(
    table: RawTable,
    classes: tuple[str, ...],
    frame: "polars.DataFrame | None",
    id_column: str | None,
    text: set[str],
) -> Sheet:
    missing = np.array([value is None or value != value or value == "" for value in table.labels.tolist()])
    require(
        not missing.any(),
        f"'{table.path}': label '{table.label}' has {missing.sum()} missing values (first in row "
        f"{np.argmax(missing) + 1}): fill them in or remove these rows",
    )
    values, inverse = np.unique(np.array([str(value) for value in table.labels.tolist()]), return_inverse=True)
    own = [plain_name(name) for name in classes]
    names = [plain_name(value) for value in values.tolist()]
    codes = np.array([own.index(name) if name in own else UNKNOWN for name in names])
    sheet = Sheet(
        path=table.path,
        inputs=np.ascontiguousarray(table.inputs, dtype=np.float32),
        columns=table.columns,
        labels=codes[inverse],
        names=np.array(names)[inverse],
        classes=classes,
        frame=frame,
    )
    if frame is None:
        return sheet
    sheet = replace(sheet, text=tuple(column for column in table.columns if column in text))
    ids = read_column(table.path, id_column) if id_column is not None and id_column in frame.columns else None
    return replace(
        sheet, ids=ids, id_column=id_column, counting=tuple(c for c in table.columns if _counts(frame[c], c in text))
    )


def _counts(column: "polars.Series", text: bool) -> bool:
    """Whether a column only numbers the rows, or gives each a different name."""
    if len(column) < _COUNTING or column.null_count():
        return False
    if column.dtype.is_integer():
        return column[0] in (0, 1) and bool((np.diff(column.to_numpy().astype(np.int64)) == 1).all())
    return text and column.n_unique() == len(column)
