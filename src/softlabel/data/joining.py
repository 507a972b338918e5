"""A table and a file of test rows as one data set."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.class_names import places_of
from softlabel.data.dataset import Dataset
from softlabel.data.encoding.inputs import check_entries
from softlabel.data.frames import NAMED_FILES, read_frame
from softlabel.data.loading import load_raw
from softlabel.data.roles import ColumnRoles
from softlabel.errors import counted, few, require

if TYPE_CHECKING:
    import polars


def load_test(
    path: Path, label: str | int | None, data: Dataset, drop: Sequence[str], roles: ColumnRoles
) -> tuple[Dataset, list[str]]:
    """Test rows of a file with the columns of `data` (other columns are left out), and notes."""
    if path.suffix.lower() not in NAMED_FILES:
        return load_raw(path, label, drop=drop), []
    names = read_frame(path).columns
    inputs = data.columns or () if data.frame is None else data.frame.columns
    known, dropped = {*inputs, str(label), *drop, *roles.parting}, set(drop)
    extra = [name for name in names if name not in known]
    notes = [f"columns of test file '{path.name}' that '{data.name}' does not have are left out: {few(extra)}"]
    left = [name for name in names if name not in known or name in dropped]
    left += [name for name in roles.parting if name in names]
    present = ColumnRoles(
        [name for name in roles.numeric if name in names], [name for name in roles.categorical if name in names]
    )
    return load_raw(path, label, drop=left, roles=present), notes if extra else []


def join_test(data: Dataset, test: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """The rows of `data` followed by those of `test` as its test part, matched by column and class names; warnings."""
    where = f"test file '{test.name}'"
    if data.frame is not None and test.frame is not None:
        _require_columns(data.frame.columns, test.frame.columns, data, where)
    plain = data.is_plain and test.is_plain and set(data.columns or ()) <= set(test.columns or ())
    if data.frame is None or test.frame is None or plain:
        joined, shared = _join_numbers(data, test, where)
    else:
        joined, shared = _join_frames(data, data.frame, test.frame.select(data.frame.columns), where)
    count = len(test)
    require(shared < count, f"every row of {where} is also a row of '{data.name}': provide other test rows")
    warning = (
        f"{shared} of {counted(count, 'test row')} {'is also a row' if shared == 1 else 'are also rows'} of "
        f"'{data.name}': students and teacher learn from such rows, so results on the test rows are too good"
    )
    joined = replace(
        joined,
        labels=np.concatenate([data.labels, _labels(data, test, where)]),
        parts={"train": slice(0, len(data)), "test": slice(len(data), len(data) + count)},
    )
    return joined, (warning,) if shared else ()


def _join_numbers(data: Dataset, test: Dataset, where: str) -> tuple[Dataset, int]:
    """Plain numbers of both, and how many test rows are also rows of the data."""
    require(data.is_plain and test.is_plain, f"{where} and '{data.name}' must both be .csv or .parquet files here")
    columns, test_columns = data.columns or (), test.columns or ()
    positions = {name: position for position, name in enumerate(test_columns)}
    _require_columns(columns, test_columns, data, where)
    inputs = test.inputs[:, [positions[name] for name in columns]]
    joined = replace(data, inputs=np.concatenate([data.inputs, inputs]), frame=None)
    return joined, int(meets(inputs, data.inputs).sum())


def _join_frames(data: Dataset, frame: "polars.DataFrame", test: "polars.DataFrame", where: str) -> tuple[Dataset, int]:
    """Columns of both for an encoder, and how many test rows are also rows of the data."""
    import polars as pl

    check_entries(test, data.plans, where)
    text, test_text = (pl.DataFrame([_words(column) for column in each.get_columns()]) for each in (frame, test))
    shared = test_text.join(text, on=frame.columns, how="semi", nulls_equal=True).height
    joined = pl.concat([frame, test], how="vertical_relaxed")
    return replace(data, inputs=np.empty((joined.height, 0), dtype=np.float32), columns=(), frame=joined), shared


def _words(column: "polars.Series") -> "polars.Series":
    """A column as text, to compare entries of different types."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration):
        return pl.Series(column.name, [None if value is None else str(value) for value in column.to_list()], pl.String)
    return column.cast(pl.String)


def _require_columns(columns: Sequence[str], present: Sequence[str], data: Dataset, where: str) -> None:
    known = set(present)
    missing = [name for name in columns if name not in known]
    require(not missing, f"{where} lacks the columns {few(missing)} of '{data.name}'; it has {few(present)}")


def _labels(data: Dataset, test: Dataset, where: str) -> np.ndarray:
    """Labels of the test file as positions in the classes of the data."""
    positions = places_of(test.classes, data.classes)
    others = [name for name, position in positions.items() if position is None]
    require(
        not others,
        f"{where} has classes that '{data.name}' does not have: {few(others)}; its classes are {few(data.classes)}; "
        "remove these rows",
    )
    return np.array(list(positions.values()), dtype=np.int64)[test.labels]


def meets(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether each of the rows (u, d) float32 is equal to one of the others (n, d), (u,)."""
    known = {row.tobytes() for row in np.ascontiguousarray(others + np.float32(0))}  # −0 becomes 0
    return np.array([row.tobytes() in known for row in np.ascontiguousarray(rows + np.float32(0))], dtype=bool)
