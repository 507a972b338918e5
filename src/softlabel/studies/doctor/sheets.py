"""A user's files: data with labels, and files of a teacher's labels.

A file with the label column is a data file. The first one contains the training rows, the others are other splits. What
a column is (number, category, date, text) is decided as `softlabel.load` decides it, from the first file. Equal words
have equal codes in all files, so that rows can be compared, and a text column that reveals the label is noticed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.arrays import encode_classes, missing_labels
from softlabel.data.class_names import plain_name
from softlabel.data.encoding import ColumnPlan, plan_columns
from softlabel.data.encoding.encoder import category_text
from softlabel.data.encoding.written import as_dates, blank, days, parse_dates, parse_numbers
from softlabel.data.frames import NAMED_FILES, as_text, label_values, need_columns, read_frame
from softlabel.data.roles import ColumnRoles
from softlabel.data.table_files import MISSING_WORDS, READERS, RawTable, read_table
from softlabel.errors import require
from softlabel.numerics.array_files import read_array
from softlabel.studies.doctor.identifiers import looks_like_id
from softlabel.teachers.label_files import SUFFIXES

if TYPE_CHECKING:
    import polars

UNKNOWN = -1
NO_LABEL = "(missing)"


@dataclass(frozen=True)
class FileColumns:
    """The columns that a user names: label, ids, columns to leave out, and roles of others."""

    label: str | None = None
    id_column: str | None = None
    drop: Sequence[str] = ()
    roles: ColumnRoles = field(default_factory=ColumnRoles)

    @property
    def besides(self) -> list[str]:
        """Columns that are not inputs."""
        return [name for name in (self.label, self.id_column, *self.drop, *self.roles.parting) if name is not None]


@dataclass(frozen=True, eq=False)
class Sheet:
    """One data file.

    inputs      (n, d) float32, NaN where missing; text as codes
    labels      (n,) indices in `classes`, the classes of the first file; −1 for other classes and missing labels
    names       (n,) labels in one spelling, "(missing)" for missing ones
    ids         (n,) values of the id column, None without one
    groups      (n,) values of the group column, None without one
    plans       what `softlabel.load` takes each column of the first file for
    words       columns whose inputs are codes
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
    groups: np.ndarray | None = None
    plans: Mapping[str, ColumnPlan] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    frame: "polars.DataFrame | None" = None

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def table(self) -> "polars.DataFrame | None":
        """The input columns as they are in the file."""
        return None if self.frame is None else self.frame.select(list(self.plans))

    @property
    def unlabeled(self) -> np.ndarray:
        """Mask (n,) of the rows without a label."""
        return self.names == NO_LABEL

    def missing(self) -> dict[str, np.ndarray]:
        """Columns with missing values, and a mask (n,) of their rows.

        Missing are nulls, NaN, and in text empty entries and the usual words for "missing" (NA, null, ?).
        """
        missing = {
            column: np.isnan(self.inputs[:, k]) if self.frame is None else _is_gap(self.frame[column])
            for k, column in enumerate(self.columns)
        }
        if self.ids is not None:
            missing[self.id_column or "id"] = np.isin(
                np.char.lower(np.char.strip(self.ids.astype(str))), list(MISSING_WORDS)
            )
        return {column: gaps for column, gaps in missing.items() if gaps.any()}

    def identifying(self) -> list[str]:
        """Columns that only number or name the rows."""
        if self.frame is None:
            return []
        return [column for column in self.columns if looks_like_id(self.frame[column], self.plans.get(column))]

    def select(self, columns: Sequence[str]) -> np.ndarray:
        """Inputs (n, …) of these columns, in this order; missing values are equal to each other."""
        known = {column: k for k, column in enumerate(self.columns)}
        indices = [known[column] for column in columns]
        table = self.inputs if indices == list(range(len(self.columns))) else self.inputs[:, indices]
        return np.where(np.isnan(table), np.float32(-3e38), table) if np.isnan(table).any() else table


def read_files(paths: Sequence[Path], chosen: FileColumns) -> tuple[list[Sheet], list[Path]]:
    """Data files, and files of teachers' labels."""
    label, id_column = chosen.label, chosen.id_column
    frames: dict[Path, polars.DataFrame] = {}
    for path in paths:
        require(path.exists(), f"there is no file or directory '{path}': check the path")
        require(
            path.suffix.lower() in READERS,
            f"'{path}' ends in '{path.suffix}': doctor reads {', '.join(READERS)} files and run directories",
        )
        if path.suffix.lower() in NAMED_FILES:
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
    return _sheets(data, frames, chosen), label_files


def _arrays_with_labels(paths: Sequence[Path], label: str | None) -> list[Path]:
    """NPY files with a label column: the first, and others with as many columns."""
    columns = read_table(paths[0], label).inputs.shape[1] + 1
    return [paths[0], *(path for path in paths[1:] if open_array(path).shape[1:] == (columns,))]


def open_array(path: Path) -> np.ndarray:
    """The array in an NPY file, memory-mapped."""
    return read_array(path, mmap=True)


def _sheets(paths: Sequence[Path], frames: dict[Path, "polars.DataFrame"], chosen: FileColumns) -> list[Sheet]:
    plans: dict[str, ColumnPlan] = {}
    for path in paths:
        if path in frames:
            plans = _plans(frames[path], path, chosen, roles=chosen.roles if not plans else ColumnRoles()) | plans
    used = [frames[path] for path in paths if path in frames]
    codes = {name: _all_words([frame[name] for frame in used if name in frame.columns]) for name in plans
             if any(name in frame.columns and _as_words(frame[name], plans[name]) for frame in used)}  # fmt: skip
    sheets: list[Sheet] = []
    classes: tuple[str, ...] = ()
    for path in paths:
        table = _table(path, frames.get(path), chosen, plans, codes)
        if not classes:
            known = table.labels[~missing_labels(table.labels)]
            require(len(known) > 0, f"'{path}': label '{table.label}' has no values: choose another column as `label`")
            classes = encode_classes(known, f"'{path}': label '{table.label}'")[1]
        sheets.append(_sheet(table, classes, frames.get(path), chosen, plans, tuple(codes)))
    return sheets


def _plans(frame: "polars.DataFrame", path: Path, chosen: FileColumns, roles: ColumnRoles) -> dict[str, ColumnPlan]:
    """What each input column of a file is, by its name."""
    taken = [name for name in (chosen.label, chosen.id_column, *chosen.drop) if name is not None]
    roles.check(frame.columns, taken, f"'{path}'")
    if roles == chosen.roles:
        need_columns(chosen.drop, frame.columns, path)
    require(chosen.label not in chosen.drop, f"'{path}': the label column '{chosen.label}' cannot be dropped as well")
    inputs = frame.select([name for name in frame.columns if name not in chosen.besides])
    require(
        inputs.width > 0 and inputs.height > 0,
        f"'{path}' has {inputs.height} rows and {inputs.width} input columns: at least one of each is needed",
    )
    plans = plan_columns(inputs, numeric=roles.numeric, categorical=roles.categorical, where=f"'{path}'")
    return {plan.name: plan for plan in plans}


def _entries(frame: "polars.DataFrame", name: str, path: Path) -> np.ndarray:
    """A column as text (n,), such as ids; a missing entry is ''."""
    return as_text(frame[name], path).fill_null("").to_numpy()


def _is_gap(column: "polars.Series") -> np.ndarray:
    """Mask (n,) of the missing entries of a column."""
    import polars as pl

    if column.dtype == pl.String:
        return blank(column).is_null().to_numpy()
    return (column.fill_nan(None) if column.dtype.is_float() else column).is_null().to_numpy()


def _is_other(column: "polars.Series") -> bool:
    """Whether entries are lists, structures or bytes, which cannot be compared."""
    import polars as pl

    return column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object)


def _as_words(column: "polars.Series", plan: ColumnPlan) -> bool:
    """Whether the entries of a column are compared as words."""
    import polars as pl

    if plan.kind in ("category", "text"):
        return True
    return plan.kind == "dropped" and not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null))


def _words(column: "polars.Series") -> np.ndarray:
    return category_text(column).fill_null("").to_numpy().astype(str)


def _all_words(columns: "Sequence[polars.Series]") -> np.ndarray:
    """The sorted words of a column in all files; the code of a word is its index."""
    words = [_words(column) for column in columns if not _is_other(column)]
    return np.unique(np.concatenate(words)) if words else np.empty(0, dtype=str)


def numbers_of(column: "polars.Series", plan: ColumnPlan | None) -> np.ndarray:
    """A column of numbers or dates as float64 (n,), NaN where an entry is missing or something else."""
    import polars as pl

    if plan is not None and plan.kind == "date":
        if column.dtype == pl.String:
            dates = as_dates(column)
            values = parse_dates(column, plan.style) if plan.style else dates[0] if dates else column
        else:
            values = column if column.dtype.is_numeric() else days(column)
    elif column.dtype == pl.String:
        values = parse_numbers(column, (plan.style if plan else None) or "plain")
    else:
        values = column.cast(pl.Int64) if column.dtype in (pl.Duration, pl.Time) else column
    return values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().astype(np.float64)


def _table(
    path: Path,
    frame: "polars.DataFrame | None",
    chosen: FileColumns,
    plans: Mapping[str, ColumnPlan],
    codes: Mapping[str, np.ndarray],
) -> RawTable:
    """Inputs and labels of one file without columns that are not inputs, text as codes."""
    if frame is None:
        return read_table(path, chosen.label, chosen.drop)
    label = str(chosen.label)
    columns = [name for name in frame.columns if name not in chosen.besides and not _is_other(frame[name])]
    inputs = np.empty((frame.height, len(columns)), dtype=np.float32)
    for k, name in enumerate(columns):
        column = frame[name]
        with np.errstate(over="ignore"):
            inputs[:, k] = (
                np.searchsorted(codes[name], _words(column)) if name in codes else numbers_of(column, plans.get(name))
            )
    return RawTable(path, inputs, label_values(frame[label], path), tuple(columns), label)


def _sheet(
    table: RawTable,
    classes: tuple[str, ...],
    frame: "polars.DataFrame | None",
    chosen: FileColumns,
    plans: Mapping[str, ColumnPlan],
    words: Sequence[str],
) -> Sheet:
    spelled = np.array([str(value) for value in table.labels.tolist()], dtype=object)
    values, inverse = np.unique(spelled.astype(str), return_inverse=True)
    own = [plain_name(name) for name in classes]
    names = [plain_name(value) for value in values.tolist()]
    codes = np.array([own.index(name) if name in own else UNKNOWN for name in names])
    unlabeled = missing_labels(table.labels)
    sheet = Sheet(
        path=table.path,
        inputs=np.ascontiguousarray(table.inputs, dtype=np.float32),
        columns=table.columns,
        labels=np.where(unlabeled, UNKNOWN, codes[inverse]),
        names=np.where(unlabeled, NO_LABEL, np.array(names, dtype=object)[inverse]).astype(str),
        classes=classes,
        frame=frame,
    )
    if frame is None:
        return sheet
    id_column, group = (name if name in frame.columns else None for name in (chosen.id_column, chosen.roles.group))
    return replace(
        sheet,
        ids=None if id_column is None else _entries(frame, id_column, table.path),
        id_column=id_column,
        groups=None if group is None else _entries(frame, group, table.path),
        plans={name: plan for name, plan in plans.items() if name in frame.columns},
        words=tuple(name for name in words if name in table.columns),
    )
