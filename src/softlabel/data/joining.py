"""A table and a file of test rows as one data set."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softlabel.data.class_names import places_of
from softlabel.data.dataset import Dataset
from softlabel.data.frames import NAMED_FILES, read_frame
from softlabel.data.loading import load_raw
from softlabel.errors import counted, few, require


def load_test(path: Path, label: str | int | None, data: Dataset, drop: Sequence[str]) -> tuple[Dataset, list[str]]:
    """Test rows of a file with the columns of `data` (other columns are left out), and notes."""
    if path.suffix.lower() not in NAMED_FILES:
        return load_raw(path, label, drop=drop), []
    names = read_frame(path).columns
    known, dropped = {*(data.columns or ()), str(label), *drop}, set(drop)
    extra = [name for name in names if name not in known]
    notes = [f"columns of test file '{path.name}' that '{data.name}' does not have are left out: {few(extra)}"]
    left = [name for name in names if name not in known or name in dropped]
    return load_raw(path, label, drop=left), notes if extra else []


def join_test(data: Dataset, test: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """The rows of `data` followed by those of `test` as its test part, matched by column and class names; warnings."""
    where = f"test file '{test.name}'"
    columns, test_columns = data.columns or (), test.columns or ()
    positions = {name: position for position, name in enumerate(test_columns)}
    missing = [name for name in columns if name not in positions]
    require(not missing, f"{where} lacks the columns {few(missing)} of '{data.name}'; it has {few(test_columns)}")
    inputs = test.inputs[:, [positions[name] for name in columns]]
    shared = int(meets(inputs, data.inputs).sum())
    require(shared < len(inputs), f"every row of {where} is also a row of '{data.name}': provide other test rows")
    warning = (
        f"{shared} of {counted(len(inputs), 'test row')} {'is also a row' if shared == 1 else 'are also rows'} of "
        f"'{data.name}': students and teacher learn from such rows, so results on the test rows are too good"
    )
    joined = replace(
        data,
        inputs=np.concatenate([data.inputs, inputs]),
        labels=np.concatenate([data.labels, _labels(data, test, where)]),
        parts={"train": slice(0, len(data)), "test": slice(len(data), len(data) + len(inputs))},
    )
    return joined, (warning,) if shared else ()


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
