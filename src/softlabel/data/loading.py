"""Examples as they are, from a named data set or from a table in a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softlabel.data.catalogue import CATALOGUE, find
from softlabel.data.dataset import Dataset
from softlabel.data.named import load_named
from softlabel.data.roles import ColumnRoles
from softlabel.data.rules import class_pair
from softlabel.data.rules import leave_out as labels_left
from softlabel.data.tables import load_table
from softlabel.errors import InputError, require


def load_raw(
    data: str | Path,
    label: str | int | None = None,
    *,
    drop: Sequence[str] = (),
    roles: ColumnRoles | None = None,
    labeled_only: bool = False,
    classes: str | Sequence[str | int] | None = None,
    leave_out: str | Sequence[str | int] | None = None,
) -> Dataset:
    """A named data set (`load_raw("mnist")`) or a user's table (`load_raw("heart.csv", label="sick")`), not split.

    `classes` ('cat,dog') keeps the examples of two classes, `leave_out` ('1,7') leaves classes out; labels remain
    positions in all classes of the set. `drop`, `roles` and `labeled_only` are for tables, see `load_table`.
    """
    if classes is not None and leave_out is not None:
        raise InputError(f"`classes` '{classes}' and `leave_out` '{leave_out}' exclude each other: pass one of them")
    if isinstance(data, str) and data in CATALOGUE:
        if label is not None or drop:
            raise InputError(f"data set '{data}' has its own labels and inputs: leave out `label` and `drop`")
        return load_named(data, _wanted(CATALOGUE[data].classes, classes, leave_out))
    if isinstance(data, str) and not (Path(data).suffix or "/" in data or Path(data).exists()):
        find(data)
    dataset = load_table(data, label, drop, roles, labeled_only=labeled_only)
    wanted = _wanted(dataset.classes, classes, leave_out)
    if wanted is None:
        return dataset
    require(dataset.is_plain, f"'{data}' must have numbers without gaps here: encode or drop its other columns first")
    rows = np.flatnonzero(np.isin(dataset.labels, wanted))
    return replace(
        dataset,
        inputs=dataset.inputs[rows],
        labels=dataset.labels[rows],
        parts={"train": slice(0, len(rows))},
    )


def _wanted(names: Sequence[str], classes, leave_out) -> list[int] | None:
    """The labels to keep, None for all."""
    if classes is not None:
        return list(class_pair(classes, names))
    return None if leave_out is None else labels_left(leave_out, names)
