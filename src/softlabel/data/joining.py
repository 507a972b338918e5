"""A table with test rows from a file of their own, as one set."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softlabel.data.class_names import places_of
from softlabel.data.dataset import Dataset
from softlabel.data.frames import NAMED_FILES, read_frame
from softlabel.data.loading import load
from softlabel.errors import few, require


def load_test(path: Path, label: str | int | None, held: Dataset, drop: Sequence[str]) -> tuple[Dataset, list[str]]:
    """A file of test rows with the columns of `held`, whatever else it holds, and remarks."""
    if path.suffix.lower() not in NAMED_FILES:
        return load(path, label, drop=drop, keep_constant=True), []
    names = read_frame(path).columns
    known, dropped = {*(held.columns or ()), str(label), *drop}, set(drop)
    extra = [name for name in names if name not in known]
    notes = (
        [f"columns of test file '{path.name}' that '{held.name}' has not are left out: {few(extra)}"] if extra else []
    )
    left = [name for name in names if name not in known or name in dropped]
    return load(path, label, drop=left, keep_constant=True), notes


def join_test(held: Dataset, test: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """The rows of `held` and below them those of `test`, its test part, columns and classes by name; and warnings."""
    where = f"test file '{test.name}'"
    own, given = held.columns or (), test.columns or ()
    places = {name: place for place, name in enumerate(given)}
    missing = [name for name in own if name not in places]
    require(not missing, f"{where} lacks the columns {few(missing)} of '{held.name}'; it has {few(given)}")
    inputs = test.inputs[:, [places[name] for name in own]]
    twice = int(meets(inputs, held.inputs).sum())
    require(twice < len(inputs), f"every row of {where} is a row of '{held.name}' too: bring rows that are not")
    warning = (
        f"{twice} of {len(inputs):,} test rows are rows of '{held.name}' too: students and teacher learn from them, so "
        "test figures are too good"
    )
    joined = replace(
        held,
        inputs=np.concatenate([held.inputs, inputs]),
        labels=np.concatenate([held.labels, _labels(held, test, where)]),
        parts={"train": slice(0, len(held)), "test": slice(len(held), len(held) + len(inputs))},
    )
    return joined, (warning,) if twice else ()


def _labels(held: Dataset, test: Dataset, where: str) -> np.ndarray:
    """Labels of the test file as indices into the classes of the other."""
    places = places_of(test.classes, held.classes)
    others = [name for name, place in places.items() if place is None]
    require(
        not others,
        f"{where} has classes that '{held.name}' has not: {few(others)}; it has {few(held.classes)}; remove their rows",
    )
    return np.array(list(places.values()), dtype=np.int64)[test.labels]


def meets(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(u,) which of the rows (u, d) float32 stand among the others (n, d), value by value."""
    known = {row.tobytes() for row in np.ascontiguousarray(others + np.float32(0))}  # −0 becomes 0
    return np.array([row.tobytes() in known for row in np.ascontiguousarray(rows + np.float32(0))], dtype=bool)
