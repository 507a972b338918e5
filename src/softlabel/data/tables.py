"""From a user's table to a `Dataset`.

A table that needs a decision by the user (missing values, text, one class only) is an error that names the remedy;
equal inputs with different labels are reported in notes. Rows are counted from 1, without the header.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from softlabel.data.arrays import encode_classes
from softlabel.data.dataset import Dataset
from softlabel.data.table_files import RawTable, read_table
from softlabel.errors import InputError, counted, few
from softlabel.numerics.local_files import local_path

_BLOCK = 4096


def load_table(path: Path | str, label: str | int | None = None, drop: Sequence[str] = ()) -> Dataset:
    """A user's CSV, Parquet, NPZ or NPY file as a data set with the part 'train' only.

    path    the file
    label   the label column: its name, in an NPY file its number or 'last', in an NPZ file the name of an array
            (default: 'y')
    drop    columns to leave out
    """
    table = read_table(local_path(path), None if label is None else str(label), list(map(str, drop)))
    labels, classes = encode_labels(table)
    _check_numbers(table)
    notes = []
    clashes = contradictions(table.inputs, labels)
    if clashes:
        more = "; ..." if len(clashes) > 3 else ""
        rows = "; ".join(f"rows {first + 1} and {second + 1}" for first, second in clashes[:3])
        notes.append(
            f"{counted(len(clashes), 'row repeats', 'rows repeat')} an earlier input with a different label "
            f"({rows}{more}): "
            f"no function of the inputs separates them, so the margin γ is 0 where their labels have opposite signs"
        )
    return Dataset(
        name=table.path.name,
        inputs=table.inputs,
        labels=labels,
        classes=classes,
        parts={"train": slice(0, len(labels))},
        image_shape=table.image_shape,
        columns=table.columns,
        notes=tuple(notes),
    )


def encode_labels(table: RawTable) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers (n,) of a table and the names of its classes."""
    return encode_classes(table.labels, f"'{table.path}': label '{table.label}'")


def contradictions(inputs: np.ndarray, labels: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of rows (first, later) that have the same input and different labels, in row order.

    Rows are compared by a 64-bit hash and then value by value, in blocks that need little memory.
    """
    factors = np.random.PCG64(0).random_raw(inputs.shape[1]) | np.uint64(1)
    hashes = np.empty(len(inputs), dtype=np.uint64)
    for start in range(0, len(inputs), _BLOCK):
        block = inputs[start : start + _BLOCK] + np.float32(0)  # −0 becomes 0
        hashes[start : start + _BLOCK] = (block.view(np.uint32) * factors).sum(axis=1, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    pairs, origins, previous = [], [], -2
    for position in same.tolist():
        if position != previous + 1:
            origins = [int(order[position])]
        previous, row = position, int(order[position + 1])
        origin = next((other for other in origins if np.array_equal(inputs[other], inputs[row])), None)
        if origin is None:
            origins.append(row)
        elif labels[row] != labels[origin]:
            pairs.append((origin, row))
    return sorted(pairs)


def _check_numbers(table: RawTable) -> None:
    """Missing and infinite values are an error."""
    for is_wrong, fault, remedy in (
        (np.isnan, "missing values in", "fill them in, remove these rows"),
        (np.isinf, "infinite values, or values beyond float32, in", "fix or rescale them"),
    ):
        wrong = is_wrong(table.inputs)
        if wrong.any():
            places = [
                f"column '{table.columns[at]}' ({wrong[:, at].sum()}, first in row {wrong[:, at].argmax() + 1})"
                for at in np.flatnonzero(wrong.any(axis=0))
            ]
            raise InputError(
                f"'{table.path}' has {fault} {few(places)}: {remedy}, or leave the columns out with `drop`"
            )
