"""A table with test rows from a file of their own, as one set."""

from dataclasses import replace

import numpy as np

from softlabel.data.class_names import places_of
from softlabel.data.dataset import Dataset
from softlabel.errors import few, require


def join_test(held: Dataset, test: Dataset) -> Dataset:
    """The rows of `held`, and below them those of `test` as its test part; columns and classes are found by name."""
    where = f"test file '{test.name}'"
    own, given = held.columns or (), test.columns or ()
    missing = [name for name in own if name not in given]
    require(not missing, f"{where} lacks the columns {few(missing)} of '{held.name}'; it has {few(given)}")
    extra = [name for name in given if name not in own]
    inputs = test.inputs[:, [given.index(name) for name in own]]
    labels = _labels(held, test, where)
    notes = list(held.notes)
    if extra:
        notes.append(f"columns of {where} that '{held.name}' has not are left out: {few(extra)}")
    twice = int(meets(inputs, held.inputs).sum())
    if twice:
        notes.append(
            f"{twice} of {len(test):,} test rows are rows of '{held.name}' too: students and teacher learn from them, "
            "so test figures are too good"
        )
    return replace(
        held,
        inputs=np.concatenate([held.inputs, inputs]),
        labels=np.concatenate([held.labels, labels]),
        parts={"train": slice(0, len(held)), "test": slice(len(held), len(held) + len(test))},
        notes=tuple(notes),
    )


def _labels(held: Dataset, test: Dataset, where: str) -> np.ndarray:
    """Labels of the test file as indices into the classes of the other."""
    places = places_of(test.classes, held.classes)
    others = [name for name, place in places.items() if place is None]
    require(not others, f"{where} has classes that '{held.name}' has not: {few(others)}; it has {few(held.classes)}")
    return np.array(list(places.values()), dtype=np.int64)[test.labels]


def meets(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(u,) which of the rows (u, d) float32 stand among the others (n, d), value by value."""
    known = {row.tobytes() for row in np.ascontiguousarray(others + np.float32(0))}  # −0 becomes 0
    return np.array([row.tobytes() in known for row in np.ascontiguousarray(rows + np.float32(0))], dtype=bool)
