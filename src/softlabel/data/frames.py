"""CSV and Parquet files as polars frames; whatever is wrong with a file is reported in one line.

polars gets the bytes of a file, never its name: it would read `data[1].csv` as a pattern and `s3://…` as an address.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.trial import require_survivable
from softlabel.errors import InputError, few, short
from softlabel.memory import require_memory
from softlabel.numerics.local_files import read_content, reason_of, require_regular_file, silent_stderr

if TYPE_CHECKING:
    import polars

NAMED_FILES = (".csv", ".tsv", ".parquet")
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"x\x01", b"x\x9c", b"x\xda")  # gzip, Zstandard, zlib
_MARK = b"\xef\xbb\xbf"  # of UTF-8
_CELL = 8  # bytes per number


def read_frame(path: Path, text: Sequence[str] = ()) -> "polars.DataFrame":
    """A CSV or Parquet file, unchanged but for types that NumPy does not have.

    text    columns of a CSV file that are read as they are written, even if they look like numbers

    Integers of 128 bits and decimals become 64-bit integers where they fit, otherwise text that spells them exactly.
    """
    if path.suffix.lower() not in NAMED_FILES:
        require_regular_file(path)
        raise InputError(f"'{path}' has no column names: use a .csv or .parquet file")
    content = read_content(path)
    frame = _read_parquet(content, path) if path.suffix.lower() == ".parquet" else _read_csv(content, path, text)
    return frame.with_columns([_narrow(column) for column in frame.get_columns() if _is_wide(column)])


def read_column(path: Path, column: str) -> np.ndarray:
    """One column of a CSV or Parquet file as text, such as its ids; a missing value is ''."""
    frame = read_frame(path)
    need_columns([column], frame.columns, path)
    return as_text(frame[column], path).fill_null("").to_numpy()


def as_text(column: "polars.Series", path: Path) -> "polars.Series":
    """A column as text; lists, structures and raw bytes are an error."""
    import polars as pl
    from polars.exceptions import PolarsError

    if not (column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object)):
        try:
            return column.cast(pl.String)
        except PolarsError:
            pass
    raise InputError(
        f"'{path}': column '{column.name}' has values of type {kind_of(column)}: write them as text or numbers, or "
        "use another column"
    )


def label_values(column: "polars.Series", path: Path) -> np.ndarray:
    """Labels (n,) as they are written, numbers or text; a missing label is None."""
    import polars as pl

    if not (column.dtype.is_numeric() or column.dtype == pl.String):
        column = as_text(column, path)
    return np.array(column.to_list(), dtype=object) if column.null_count() else column.to_numpy()


def kind_of(column: "polars.Series") -> str:
    """The type of a column, in short."""
    return str(column.dtype).partition("(")[0]


def need_columns(wanted: Iterable[str], names: Sequence[str], path: Path) -> None:
    """Raise where a wanted column is not among the names."""
    known = set(names)
    name = next((name for name in wanted if name not in known), None)
    if name is None:
        return
    near = get_close_matches(name.casefold(), [other.casefold() for other in names[:1000]], n=1, cutoff=0.5)
    same = next((other for other in names if near and other.casefold() == near[0]), None)
    hint = f"did you mean '{same}'? " if same else ""
    raise InputError(f"'{path}' has no column '{name}': {hint}there are {few(names, 20)}")


def _read_parquet(content: bytes, path: Path) -> "polars.DataFrame":
    import polars as pl

    with _readable(path, "Parquet"):
        rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
        columns = len(pl.read_parquet_schema(io.BytesIO(content)))
        require_memory(rows * columns * _CELL, f"'{path}' ({rows:,} rows of {columns:,} columns)")
        require_survivable(path)
        return pl.read_parquet(io.BytesIO(content))


def _read_csv(content: bytes, path: Path, text: Sequence[str] = ()) -> "polars.DataFrame":
    import polars as pl
    from polars.exceptions import ComputeError

    if content.startswith(_PACKED):
        raise InputError(f"'{path}' is compressed, not text: decompress it first")
    if b"\0" in content:
        raise InputError(f"'{path}' contains NUL bytes, so it is not UTF-8 text: save it as 'CSV UTF-8'")
    with _readable(path, "CSV"):
        names, separator = _header(content, path)
        rows = content.count(b"\n") + 1
        require_memory(rows * len(names) * _CELL, f"'{path}' ({rows:,} lines of {len(names):,} columns)")
        if not content.startswith(_MARK):
            content = _MARK + content  # otherwise polars would decompress a table whose first column is called "x^"
        raw = pl.read_csv(content, separator=separator, n_rows=0).columns  # polars keeps "" for a quote in a name
        if len(raw) != len(names):
            names = raw
        types = {other: pl.String for name, other in zip(names, raw, strict=True) if name in text}
        try:
            frame = pl.read_csv(content, separator=separator, infer_schema_length=None, schema_overrides=types)
        except ComputeError as problem:
            if "more fields" in str(problem):
                _require_fields(content, len(names), separator, path)
            raise
        frame.columns = names
        return frame


def _require_fields(content: bytes, count: int, separator: str, path: Path) -> None:
    """Raise for the first row with more fields than there are columns."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    for row, fields in enumerate(csv.reader(text, delimiter=separator)):
        if len(fields) > count:
            raise InputError(
                f"'{path}': row {row} has {len(fields)} entries, but there are {count} columns: correct it (an entry "
                f"with {separator!r} in it must stand in double quotes)"
            )


def _header(content: bytes, path: Path) -> tuple[list[str], str]:
    """The names in the first line of a CSV file, which must be different, and their separator."""
    end = content.find(b"\n")
    line = content if end < 0 else content[:end]
    separator = max(b",;\t", key=lambda sign: line.count(bytes([sign])))
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    try:
        names = next(csv.reader(text, delimiter=chr(separator)), [])
    except csv.Error as problem:
        raise InputError(
            f"'{path}': the column names cannot be read ({problem}): does the first line contain names?"
        ) from None
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise InputError(f"'{path}' has columns of the same name: {few(duplicates, 20)}; rename them")
    return names, chr(separator)


def _is_wide(column: "polars.Series") -> bool:
    return kind_of(column) in ("Int128", "UInt128", "Decimal")


def _narrow(column: "polars.Series") -> "polars.Series":
    import polars as pl

    if column.dtype.is_integer():
        narrow = column.cast(pl.Int64, strict=False)
        if narrow.null_count() == column.null_count():
            return narrow
    return column.cast(pl.String)


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turn exceptions of polars into an `InputError` of one line."""
    from polars.exceptions import PanicException, PolarsError

    try:
        with silent_stderr():
            yield
    except InputError:
        raise
    except (PolarsError, PanicException, OSError, ValueError, TypeError, OverflowError, MemoryError) as problem:
        reason = reason_of(problem)
        if isinstance(problem, UnicodeDecodeError) or "utf-8" in reason.lower() or "utf8" in reason.lower():
            raise InputError(f"'{path}' is not UTF-8 text: save it as 'CSV UTF-8' (or export it as Parquet)") from None
        raise InputError(
            f"'{path}' is not a readable {kind} file (truncated or of another kind?): {short(reason, 200)}"
        ) from None
