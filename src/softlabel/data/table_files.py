"""Reading a user's file: CSV, Parquet, NPZ or NPY, with a one-line answer to whatever is wrong with it."""

import csv
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.precision import check_float32
from softlabel.errors import InputError, few

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
    if not path.exists():
        raise InputError(f"there is no file '{path}': check its path")
    if path.suffix.lower() not in READERS:
        raise InputError(
            f"'{path}' ends in '{path.suffix}': softlabel reads {', '.join(READERS)}; convert or rename it"
        )
    if path.stat().st_size == 0:
        raise InputError(f"'{path}' is empty (0 bytes): was it written completely?")


def read_column(path: Path, column: str) -> np.ndarray:
    """One column of a CSV or Parquet file as text, e.g. its ids; a missing value is ''."""
    frame = read_frame(path)
    _need_columns([column], frame.columns, path)
    import polars as pl

    return frame[column].cast(pl.String).fill_null("").to_numpy()


def read_inputs(path: Path, drop: Sequence[str] = ()) -> Table:
    """The table in a file that has no labels; every column is an input (`labels` is empty)."""
    if path.suffix.lower() in (".csv", ".parquet"):
        frame = read_frame(path)
        _need_columns(drop, frame.columns, path)
        inputs = _numeric(frame.drop(drop), path)
        return Table(path, inputs.to_numpy(order="c"), np.empty(0), tuple(inputs.columns), "")
    _check_file(path)
    with _readable(path, path.suffix[1:].upper()), path.open("rb") as stream:
        held = np.load(stream, allow_pickle=False)
        if isinstance(held, np.lib.npyio.NpzFile):
            with held:
                held = held[_array_name(held.files, _INPUT_ARRAYS, None, path, "inputs")]
    if held.ndim < 2 or not held.size:
        raise InputError(f"'{path}' holds inputs of shape {held.shape}: they must be (n, d), not empty")
    shape = held.shape[1:] if held.ndim > 2 else None
    flat = held.reshape(len(held), -1)
    return _from_array(path, flat, np.empty(0), "", tuple(map(str, range(flat.shape[1]))), drop, shape)


def read_columns(path: Path, columns: Sequence[str] | None, drop: Sequence[str] = ()) -> np.ndarray:
    """Inputs (n, d) float32 of a file without labels: these columns in this order, or (files without names)
    all but those to drop."""
    if columns is None or path.suffix.lower() not in (".csv", ".parquet"):
        return read_inputs(path, list(drop)).inputs
    frame = read_frame(path)
    _need_columns(columns, frame.columns, path)
    return _numeric(frame.select(columns), path).to_numpy(order="c")


def read_frame(path: Path) -> "polars.DataFrame":
    """A CSV or Parquet file as it is, numbers in text columns included."""
    import polars as pl
    from polars.exceptions import PolarsError

    _check_file(path)
    if path.suffix.lower() == ".parquet":
        with _readable(path, "Parquet", PolarsError), path.open("rb") as stream:
            return pl.read_parquet(stream)
    if path.suffix.lower() != ".csv":
        raise InputError(f"'{path}' has no columns with names: a .csv or .parquet file has")
    with _readable(path, "CSV", PolarsError):
        with path.open(encoding="utf-8-sig") as stream:
            header = stream.readline()
        separator = max(",;\t", key=header.count)
        names = next(csv.reader([header], delimiter=separator), [])
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise InputError(f"'{path}' has columns of the same name: {few(twice, 20)}; rename them")
        return pl.read_csv(path, separator=separator, infer_schema_length=None)


def _read_named(path: Path, label: str | None, drop: Sequence[str], mmap: bool) -> Table:
    return _from_frame(read_frame(path), path, label, drop)


def _from_frame(frame: "polars.DataFrame", path: Path, label: str | None, drop: Sequence[str]) -> Table:
    import polars as pl

    if label not in frame.columns and all(is_number(name) for name in frame.columns):
        raise InputError(
            f"'{path}' has no column names, its first line is numbers ({few(frame.columns, 3)}): "
            f"add a line of names at its top"
        )
    if label is None:
        raise InputError(f"'{path}' needs to know its label column: give --label, one of {few(frame.columns, 20)}")
    _need_columns([label, *drop], frame.columns, path)
    if label in drop:
        raise InputError(f"'{path}': column '{label}' is the label and cannot be dropped as well; mend --drop")
    inputs = _numeric(frame.drop([label, *drop]), path)
    labels = frame[label]
    if not (labels.dtype.is_numeric() or labels.dtype == pl.String):
        labels = labels.cast(pl.String)
    return Table(
        path=path,
        inputs=inputs.to_numpy(order="c"),
        labels=np.array(labels.to_list(), dtype=object) if labels.null_count() else labels.to_numpy(),
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
    inputs = inputs.with_columns(
        [_numbers_in_text(inputs[name]) for name, kind in inputs.schema.items() if kind == pl.String]
    )
    text = [name for name, kind in inputs.schema.items() if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null))]
    if text:
        values = inputs[text[0]].drop_nulls()
        found = f" ('{text[0]}' holds '{values[0]}')" if len(values) else ""
        remedy = " ".join(f"--drop {_quoted(name)}" for name in text[:5]) + (" ..." if len(text) > 5 else "")
        how = "encode them as numbers"
        if len(values) and _COMMAS.fullmatch(str(values[0])):
            how = "write numbers with a decimal point and without separators or signs of units"
        raise InputError(
            f"'{path}' has columns that are not numbers: {few(text, 20)}{found}; {how} or leave them out: {remedy}"
        )
    check_float32(((name, inputs[name].to_numpy()) for name in inputs.columns), f"'{path}'")
    return inputs.cast(pl.Float32)


def _numbers_in_text(column: "polars.Series") -> "polars.Series":
    """A text column of numbers and words for 'missing' (NA, ?) as numbers; any other unchanged."""
    import polars as pl

    blank = column.str.strip_chars().str.to_lowercase().is_in(_MISSING_WORDS)
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    understood = (numbers.is_not_null() | blank.fill_null(True)).all()
    return numbers if understood else column


def _read_npz(path: Path, label: str | None, drop: Sequence[str], mmap: bool) -> Table:
    with _readable(path, "NPZ"), path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"'{path}' holds one array, not an NPZ archive: rename it to '{path.stem}.npy'")
        with archive:
            names = archive.files
            inputs_name = _array_name(names, _INPUT_ARRAYS, None, path, "inputs")
            label = _array_name(names, _LABEL_ARRAYS, label, path, "labels")
            inputs, labels = archive[inputs_name], archive[label]
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
    with _readable(path, "NPY"), path.open("rb") as stream:
        array = np.load(path if mmap else stream, mmap_mode="r" if mmap else None, allow_pickle=False)
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"'{path}' is an NPZ archive, not one array: rename it to '{path.stem}.npz'")
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
    _need_columns(drop, names, path)
    if drop:
        kept = [index for index, name in enumerate(names) if name not in drop]
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


@contextmanager
def _readable(path: Path, kind: str, *also: type[Exception]) -> Iterator[None]:
    """Turn whatever a reader raises into one line."""
    try:
        yield
    except InputError:
        raise
    except (*also, OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        if "Object arrays" in str(error):
            raise InputError(
                f"'{path}' holds Python objects, which softlabel never unpickles: save plain arrays"
            ) from None
        if isinstance(error, UnicodeDecodeError):
            raise InputError(f"'{path}' is not UTF-8 text: save it as 'CSV UTF-8' (or export it as Parquet)") from None
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        reason = "NumPy did not write it so" if "pickled" in reason else reason
        raise InputError(f"'{path}' is not a readable {kind} file (truncated or of another kind?): {reason}") from None


def _need_columns(wanted: Sequence[str], names: Sequence[str], path: Path) -> None:
    for name in wanted:
        if name in names:
            continue
        near = get_close_matches(name.casefold(), [known.casefold() for known in names], n=1, cutoff=0.5)
        same = next((known for known in names if near and known.casefold() == near[0]), None)
        hint = f"did you mean '{same}'? " if same else ""
        raise InputError(f"'{path}' has no column '{name}': {hint}there are {few(names, 20)}")


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
