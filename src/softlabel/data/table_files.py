"""Reading a user's CSV, Parquet, NPZ or NPY file; whatever is wrong with it is reported in one line."""

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

INPUT_ARRAYS = ("X", "x", "data", "inputs")
LABEL_KINDS = "biufU"  # NumPy's letters for numbers and text
_LABEL_ARRAYS = ("y", "Y", "labels", "label", "target")
_COMMAS = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*[%€$£]?")  # 1,5 and 1.000,00 and 12 %
MISSING_WORDS = ("", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil", "nat", "?", "-", "--")


@dataclass(frozen=True, eq=False)
class RawTable:
    """The content of a file: inputs (n, d), labels (n,) as they are written, and the names of the input columns.

    A missing number is NaN; a missing label is None, NaN or an empty string.
    """

    path: Path
    inputs: np.ndarray
    labels: np.ndarray
    columns: tuple[str, ...]
    label: str
    image_shape: tuple[int, ...] | None = None


def read_table(path: Path, label: str | None, drop: Sequence[str] = ()) -> RawTable:
    """The table in a file without the columns `drop`."""
    check_file(path)
    return READERS[path.suffix.lower()](path, label, drop)


def check_file(path: Path) -> None:
    """Raise where this is not a file of a kind that can be read as a table."""
    if path.is_dir():
        raise InputError(f"'{path}' is a folder: name a file in it ({', '.join(READERS)})")
    require_regular_file(path)
    if path.suffix.lower() not in READERS:
        raise InputError(
            f"'{path}' ends in '{path.suffix}': softlabel reads {', '.join(READERS)}; convert or rename it"
        )


def holds_images(path: Path) -> bool:
    """Whether this is an NPZ file with an array `images` and no table of inputs."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    names = array_names(path)
    return "images" in names and not set(names) & set(INPUT_ARRAYS)


def read_inputs(path: Path, drop: Sequence[str] = ()) -> RawTable:
    """The table in a file without labels: every column is an input, and `labels` is empty."""
    check_file(path)
    if path.suffix.lower() in NAMED_FILES:
        frame = read_frame(path)
        need_columns(drop, frame.columns, path)
        inputs = _numeric(frame.drop(drop), path)
        return RawTable(path, inputs.to_numpy(order="c"), np.empty(0), tuple(inputs.columns), "")
    if is_archive(path):
        (array,) = read_arrays(path, [array_name(array_names(path), INPUT_ARRAYS, None, path, "inputs")])
    else:
        array = read_array(path)
    check_inputs(array, path)
    return _from_array(path, array, np.empty(0), "", drop)


def read_columns(path: Path, columns: Sequence[str] | None, drop: Sequence[str] = ()) -> np.ndarray:
    """Inputs (n, d) float32 of a file without labels: these columns in this order, or all but `drop` where columns
    have no names."""
    if columns is None or path.suffix.lower() not in NAMED_FILES:
        return read_inputs(path, list(drop)).inputs
    frame = read_frame(path)
    need_columns(columns, frame.columns, path)
    return _numeric(frame.select(columns), path).to_numpy(order="c")


def read_labeled(path: Path, label: str | None, drop: Sequence[str] = ()) -> "tuple[polars.DataFrame, np.ndarray]":
    """The input columns of a CSV or Parquet file as they are, without the columns `drop`, and its labels (n,)."""
    check_file(path)
    frame = read_frame(path)
    if label not in frame.columns and all(is_number(name) for name in frame.columns):
        raise without_names(frame.columns, path)
    if label is None:
        raise InputError(f"'{path}' needs a label column: pass `label`, one of {few(frame.columns, 20)}")
    need_columns([label, *drop], frame.columns, path)
    if label in drop:
        raise InputError(f"'{path}': the label column '{label}' cannot be dropped as well: remove it from `drop`")
    return frame.drop([label, *drop]), label_values(frame[label], path)


def without_names(columns: Sequence[str], path: Path) -> InputError:
    """The error for a table whose first line is numbers instead of names."""
    return InputError(
        f"'{path}' has no column names: its first line is numbers ({few(columns, 3)}); add a first line of names"
    )


def _read_named(path: Path, label: str | None, drop: Sequence[str]) -> RawTable:
    frame, labels = read_labeled(path, label, drop)
    inputs = _numeric(frame, path)
    return RawTable(path, inputs.to_numpy(order="c"), labels, tuple(inputs.columns), str(label))


def _numeric(inputs: "polars.DataFrame", path: Path) -> "polars.DataFrame":
    """Input columns as float32; text in them is an error with its remedy."""
    import polars as pl

    if not inputs.width or not inputs.height:
        raise InputError(
            f"'{path}' has {inputs.height} rows and {inputs.width} input columns: at least one of each is needed"
        )
    columns = [_numbers_in_text(column) if column.dtype == pl.String else column for column in inputs.get_columns()]
    text = [one for one in columns if not (one.dtype.is_numeric() or one.dtype in (pl.Boolean, pl.Null))]
    if text:
        raise _not_numbers(text, path)
    check_float32(((column.name, column.to_numpy()) for column in columns), f"'{path}'")
    return pl.DataFrame([column.cast(pl.Float32) for column in columns])


def _not_numbers(columns: "Sequence[polars.Series]", path: Path) -> InputError:
    """The error for input columns that are not numbers."""
    import polars as pl

    names, first = [column.name for column in columns], columns[0]
    remedy = ", ".join(f"'{short(name)}'" for name in names[:5]) + (", …" if len(names) > 5 else "")
    how, example = "encode them as numbers", f" ('{short(first.name)}' has values of type {kind_of(first)})"
    if not (first.dtype.is_nested() or first.dtype in (pl.Binary, pl.Object)):
        values = first.drop_nulls()
        example = f" ('{short(first.name)}' contains '{short(values[0])}')" if len(values) else ""
        if len(values) and _COMMAS.fullmatch(short(values[0])):
            how = "write numbers with a decimal point and without thousands separators or units"
    return InputError(
        f"'{path}' has columns that are not numbers: {few(names, 20)}{example}; {how} or leave them out with "
        f"`drop` {remedy}"
    )


def _numbers_in_text(column: "polars.Series") -> "polars.Series":
    """A text column of numbers and words for missing values (NA, ?) as numbers; any other column unchanged."""
    import polars as pl

    blank = column.str.strip_chars().str.to_lowercase().is_in(MISSING_WORDS)
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    understood = (numbers.is_not_null() | blank.fill_null(True)).all()
    return numbers if understood else column


def _read_npz(path: Path, label: str | None, drop: Sequence[str]) -> RawTable:
    names = array_names(path)
    inputs_name = array_name(names, INPUT_ARRAYS, None, path, "inputs")
    label = array_name(names, _LABEL_ARRAYS, label, path, "labels")
    inputs, labels = read_arrays(path, [inputs_name, label])
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InputError(f"'{path}': array '{label}' has shape {labels.shape}; labels must have shape (n,)")
    if inputs.ndim < 2 or len(inputs) != len(labels) or not inputs.size:
        raise InputError(
            f"'{path}': inputs '{inputs_name}' have shape {inputs.shape}, labels '{label}' {labels.shape}: "
            f"they must be (n, d) and (n,) with the same n and not empty"
        )
    return _from_array(path, inputs, labels, label, drop)


def array_name(names: Sequence[str], known: Sequence[str], wanted: str | None, path: Path, role: str) -> str:
    """The wanted array of an NPZ file, or else the first known one that it has."""
    name = next((name for name in (known if wanted is None else [wanted]) if name in names), None)
    if name is None:
        expected = f"'{wanted}'" if wanted is not None else f"any of {', '.join(known)}"
        raise InputError(f"'{path}' has no array of {role} called {expected}: it has {few(names, 20) or 'none'}")
    return name


def labeled_array(path: Path) -> np.ndarray:
    """The array (n, d + 1) of an NPY file, of which one column is the label."""
    array = read_array(path)
    if array.ndim != 2 or array.shape[1] < 2 or not len(array):
        raise InputError(f"'{path}' has shape {array.shape}: it must be (n, d + 1) with one column of labels")
    return array


def _read_npy(path: Path, label: str | None, drop: Sequence[str]) -> RawTable:
    array = labeled_array(path)
    last = array.shape[1] - 1
    if label is None:
        raise InputError(f"'{path}' needs a label column: pass `label` as 'last' or a column number from 0 to {last}")
    at = _column_number(label, last, path)
    names = tuple(str(index) for index in range(last + 1) if index != at)
    return _from_array(path, np.delete(array, at, axis=1), np.array(array[:, at]), str(at), drop, names)


def _column_number(label: str, last: int, path: Path) -> int:
    columns = range(last + 1)
    try:
        return columns[last if label == "last" else int(label)]
    except (ValueError, IndexError):
        raise InputError(f"'{path}' has no column '{label}': its columns are 0 to {last}, or 'last'") from None


def check_inputs(inputs: np.ndarray, path: Path) -> None:
    """Raise where an array of inputs has no rows and columns."""
    if inputs.ndim < 2 or not inputs.size:
        raise InputError(f"'{path}' has inputs of shape {inputs.shape}: they must be (n, d) and not empty")


def check_numbers(inputs: np.ndarray, path: Path) -> None:
    """Raise where an array of inputs does not contain real numbers."""
    if inputs.dtype.kind not in "biuf":
        raise InputError(f"'{path}' has inputs of type {inputs.dtype}: convert them to real numbers")


def _from_array(
    path: Path,
    inputs: np.ndarray,
    labels: np.ndarray,
    label: str,
    drop: Sequence[str],
    names: tuple[str, ...] | None = None,
) -> RawTable:
    """The table of inputs (n, …), whose columns are numbered unless they have names."""
    image_shape = inputs.shape[1:] if inputs.ndim > 2 else None
    inputs = inputs.reshape(len(inputs), -1)
    names = names or tuple(map(str, range(inputs.shape[1])))
    check_numbers(inputs, path)
    if labels.dtype.kind not in LABEL_KINDS:
        raise InputError(f"'{path}' has labels of type {labels.dtype}: convert them to numbers or strings")
    need_columns(drop, names, path)
    if drop:
        dropped = set(drop)
        kept = [index for index, name in enumerate(names) if name not in dropped]
        if not kept:
            raise InputError(f"'{path}': all columns are dropped; keep at least one input")
        inputs, names, image_shape = inputs[:, kept], tuple(names[index] for index in kept), None
    check_float32(zip(names, inputs.T, strict=True), f"'{path}'")
    with np.errstate(over="ignore"):
        inputs = np.ascontiguousarray(inputs, dtype=np.float32)
    return RawTable(path, inputs, labels, names, label, image_shape)


READERS: dict[str, Callable[[Path, str | None, Sequence[str]], RawTable]] = {
    ".csv": _read_named,
    ".tsv": _read_named,
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
