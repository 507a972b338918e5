"""Reading a user's file: CSV, Parquet, NPZ or NPY, with a one-line answer to whatever is wrong with it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.frames import NAMED_FILES, kind_of, label_values, need_columns, read_frame
from softlabel.data.precision import check_float32
from softlabel.errors import InputError, few, short
from softlabel.numerics.array_files import array_names, is_archive, read_array, read_arrays
from softlabel.numerics.local_files import require_regular_file

if TYPE_CHECKING:
    import polars

_INPUT_ARRAYS = ("X", "x", "data", "inputs")
_LABEL_ARRAYS = ("y", "Y", "labels", "label", "target")
_COMMAS = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*[%€$£]?")  # 1,5 and 1.000,00 and 12 %
_MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "?", "-")


@dataclass(frozen=True, eq=False)
class Table:
    """What a file holds: inputs (n, d) numbers, labels (n,) as written, the names of the columns of inputs.

    A missing number is NaN; a missing label is None, NaN or an empty string.
    """

    path: Path
    inputs: np.ndarray
    labels: np.ndarray
    columns: tuple[str, ...]
    label: str
    image_shape: tuple[int, ...] | None = None


def read_table(path: Path, label: str | None, drop: Sequence[str] = (), mmap: bool = False) -> Table:
    """The table in a file, without the columns `drop`; `mmap` maps an NPY file instead of reading it."""
    _check_file(path)
    if mmap and path.suffix.lower() != ".npy":
        raise InputError(f"'{path}' cannot be memory-mapped: only a .npy file can; convert it or leave mmap out")
    return READERS[path.suffix.lower()](path, label, drop, mmap)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"'{path}' is a folder: name a file in it ({', '.join(READERS)})")
    require_regular_file(path)
    if path.suffix.lower() not in READERS:
        raise InputError(
            f"'{path}' ends in '{path.suffix}': softlabel reads {', '.join(READERS)}; convert or rename it"
        )


def read_inputs(path: Path, drop: Sequence[str] = ()) -> Table:
    """The table in a file that has no labels; every column is an input (`labels` is empty)."""
    _check_file(path)
    if path.suffix.lower() in NAMED_FILES:
        frame = read_frame(path)
        need_columns(drop, frame.columns, path)
        inputs = _numeric(frame.drop(drop), path)
        return Table(path, inputs.to_numpy(order="c"), np.empty(0), tuple(inputs.columns), "")
    if is_archive(path):
        (held,) = read_arrays(path, [_array_name(array_names(path), _INPUT_ARRAYS, None, path, "inputs")])
    else:
        held = read_array(path)
    if held.ndim < 2 or not held.size:
        raise InputError(f"'{path}' holds inputs of shape {held.shape}: they must be (n, d), not empty")
    shape = held.shape[1:] if held.ndim > 2 else None
    flat = held.reshape(len(held), -1)
    return _from_array(path, flat, np.empty(0), "", tuple(map(str, range(flat.shape[1]))), drop, shape)


def read_columns(path: Path, columns: Sequence[str] | None, drop: Sequence[str] = ()) -> np.ndarray:
    """Inputs (n, d) float32 of a file without labels: these columns in this order, or (files without names)
    all but those to drop."""
    if columns is None or path.suffix.lower() not in NAMED_FILES:
        return read_inputs(path, list(drop)).inputs
    frame = read_frame(path)
    need_columns(columns, frame.columns, path)
    return _numeric(frame.select(columns), path).to_numpy(order="c")


def _read_named(path: Path, label: str | None, drop: Sequence[str], mmap: bool) -> Table:
    return _from_frame(read_frame(path), path, label, drop)


def _from_frame(frame: "polars.DataFrame", path: Path, label: str | None, drop: Sequence[str]) -> Table:
    if label not in frame.columns and all(is_number(name) for name in frame.columns):
        raise InputError(
            f"'{path}' has no column names, its first line is numbers ({few(frame.columns, 3)}): "
            f"add a line of names at its top"
        )
    if label is None:
        raise InputError(f"'{path}' needs to know its label column: give --label, one of {few(frame.columns, 20)}")
    need_columns([label, *drop], frame.columns, path)
    if label in drop:
        raise InputError(f"'{path}': column '{label}' is the label and cannot be dropped as well; mend --drop")
    inputs = _numeric(frame.drop([label, *drop]), path)
    return Table(
        path=path,
        inputs=inputs.to_numpy(order="c"),
        labels=label_values(frame[label], path),
        columns=tuple(inputs.columns),
        label=label,
    )


def _numeric(inputs: "polars.DataFrame", path: Path) -> "polars.DataFrame":
    """Input columns as float32; text in them is an error with its remedy."""
    import polars as pl

    if not inputs.width or not inputs.height:
        raise InputError(
            f"'{path}' has {inputs.height} rows and {inputs.width} input columns: it needs at least one each"
        )
    columns = [_numbers_in_text(column) if column.dtype == pl.String else column for column in inputs.get_columns()]
    text = [one for one in columns if not (one.dtype.is_numeric() or one.dtype in (pl.Boolean, pl.Null))]
    if text:
        raise _not_numbers(text, path)
    check_float32(((column.name, column.to_numpy()) for column in columns), f"'{path}'")
    return pl.DataFrame([column.cast(pl.Float32) for column in columns])


def _not_numbers(columns: "Sequence[polars.Series]", path: Path) -> InputError:
    """What to say of input columns that are not numbers."""
    import polars as pl

    names, first = [column.name for column in columns], columns[0]
    remedy = " ".join(f"--drop {_quoted(short(name))}" for name in names[:5]) + (" ..." if len(names) > 5 else "")
    how, found = "encode them as numbers", f" ('{short(first.name)}' holds values of type {kind_of(first)})"
    if not (first.dtype.is_nested() or first.dtype in (pl.Binary, pl.Object)):
        values = first.drop_nulls()
        found = f" ('{short(first.name)}' holds '{short(values[0])}')" if len(values) else ""
        if len(values) and _COMMAS.fullmatch(short(values[0])):
            how = "write numbers with a decimal point and without separators or signs of units"
    return InputError(
        f"'{path}' has columns that are not numbers: {few(names, 20)}{found}; {how} or leave them out: {remedy}"
    )


def _numbers_in_text(column: "polars.Series") -> "polars.Series":
    """A text column of numbers and words for 'missing' (NA, ?) as numbers; any other unchanged."""
    import polars as pl

    blank = column.str.strip_chars().str.to_lowercase().is_in(_MISSING_WORDS)
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    understood = (numbers.is_not_null() | blank.fill_null(True)).all()
    return numbers if understood else column


def _read_npz(path: Path, label: str | None, drop: Sequence[str], mmap: bool) -> Table:
    names = array_names(path)
    inputs_name = _array_name(names, _INPUT_ARRAYS, None, path, "inputs")
    label = _array_name(names, _LABEL_ARRAYS, label, path, "labels")
    inputs, labels = read_arrays(path, [inputs_name, label])
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InputError(f"'{path}': array '{label}' has shape {labels.shape}; labels are one class a row, shape (n,)")
    if inputs.ndim < 2 or len(inputs) != len(labels) or not inputs.size:
        raise InputError(
            f"'{path}': inputs '{inputs_name}' have shape {inputs.shape}, labels '{label}' {labels.shape}: "
            f"they must be (n, d) and (n,) with the same n, not empty"
        )
    shape = inputs.shape[1:] if inputs.ndim > 2 else None
    flat = inputs.reshape(len(inputs), -1)
    return _from_array(path, flat, labels, label, tuple(map(str, range(flat.shape[1]))), drop, shape)


def _array_name(names: Sequence[str], known: Sequence[str], wanted: str | None, path: Path, role: str) -> str:
    if wanted is not None and wanted in names:
        return wanted
    found = next((name for name in known if name in names), None) if wanted is None else None
    if found is None:
        looked = f"'{wanted}'" if wanted is not None else f"any of {', '.join(known)}"
        raise InputError(f"'{path}' has no array of {role} called {looked}: it has {few(names, 20) or 'none'}")
    return found


def _read_npy(path: Path, label: str | None, drop: Sequence[str], mmap: bool) -> Table:
    array = read_array(path, mmap=mmap)
    if array.ndim != 2 or array.shape[1] < 2 or not len(array):
        raise InputError(f"'{path}' holds an array of shape {array.shape}: it must be (n, d + 1), one column the label")
    if label is None:
        raise InputError(
            f"'{path}' needs to know its label column: give --label last or --label 0..{array.shape[1] - 1}"
        )
    width = array.shape[1]
    at = _column_number(label, width, path)
    names = tuple(str(index) for index in range(width) if index != at)
    if not mmap:
        return _from_array(path, np.delete(array, at, axis=1), np.array(array[:, at]), str(at), names, drop, None)
    if at not in (0, width - 1) or array.dtype != np.float32 or drop:
        raise InputError(
            f"'{path}' ({array.dtype}, label column {at}) cannot be memory-mapped: that takes float32, the label "
            f"in the first or last column, and nothing dropped; rewrite the file so or leave mmap out"
        )
    inputs = array[:, 1:] if at == 0 else array[:, :-1]
    return Table(path, inputs, np.array(array[:, at]), names, str(at))


def _column_number(label: str, width: int, path: Path) -> int:
    if label == "last":
        return width - 1
    try:
        at = int(label)
    except ValueError:
        at = width
    if not -width <= at < width:
        raise InputError(f"'{path}' has no column '{label}': its columns are 0..{width - 1}, or 'last'")
    return at % width


def _from_array(
    path: Path,
    inputs: np.ndarray,
    labels: np.ndarray,
    label: str,
    names: tuple[str, ...],
    drop: Sequence[str],
    image_shape: tuple[int, ...] | None,
) -> Table:
    if inputs.dtype.kind not in "biuf":
        raise InputError(f"'{path}' holds inputs of type {inputs.dtype}: convert them to real numbers")
    if labels.dtype.kind not in "biufU":
        raise InputError(f"'{path}' holds labels of type {labels.dtype}: convert them to numbers or strings")
    need_columns(drop, names, path)
    if drop:
        dropped = set(drop)
        kept = [index for index, name in enumerate(names) if name not in dropped]
        if not kept:
            raise InputError(f"'{path}': every column is dropped; keep at least one input")
        inputs, names, image_shape = inputs[:, kept], tuple(names[index] for index in kept), None
    check_float32(zip(names, inputs.T, strict=True), f"'{path}'")
    with np.errstate(over="ignore"):
        inputs = np.ascontiguousarray(inputs, dtype=np.float32)
    return Table(path, inputs, labels, names, label, image_shape)


READERS: dict[str, Callable[[Path, str | None, Sequence[str], bool], Table]] = {
    ".csv": _read_named,
    ".parquet": _read_named,
    ".npz": _read_npz,
    ".npy": _read_npy,
}


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
