"""From a user's table to a `Dataset`.

A table that needs a decision by the user (missing values, text, one class only) is an error that names the remedy;
constant columns and equal inputs with different labels are reported in notes. Rows are counted from 1, without the
header.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from softlabel.data.arrays import encode_classes
from softlabel.data.dataset import Dataset
from softlabel.data.table_files import RawTable, read_table
from softlabel.errors import InputError, few
from softlabel.numerics.local_files import local_path

_BLOCK = 4096


def load_table(
    path: Path | str,
    label: str | int | None = None,
    drop: Sequence[str] = (),
    keep_constant: bool = False,
    mmap: bool = False,
) -> Dataset:
    """A user's CSV, Parquet, NPZ or NPY file as a data set with the part 'train' only.

    path            the file
    label           the label column: its name, in an NPY file its number or 'last', in an NPZ file the name of an array
                    (default: 'y')
    drop            columns to leave out
    keep_constant   keep constant columns, which are dropped otherwise
    mmap            leave the inputs of a float32 NPY file on disk, and check them in blocks
    """
    table = read_table(local_path(path), None if label is None else str(label), list(map(str, drop)), mmap)
    labels, classes = encode_labels(table)
    low, high = _check_numbers(table)
    inputs, columns, image_shape, notes = table.inputs, table.columns, table.image_shape, []
    constant = low == high
    if constant.any():
        names = few([name for name, flat in zip(columns, constant, strict=True) if flat])
        count = int(constant.sum())
        if mmap and not keep_constant:
            notes.append(f"{count} constant columns are kept: {names}")
        elif constant.all() and not keep_constant:
            raise InputError(f"'{path}' has only constant input columns: nothing can be learned from them")
        elif not keep_constant:
            inputs = np.ascontiguousarray(inputs[:, ~constant])
            columns = tuple(name for name, flat in zip(columns, constant, strict=True) if not flat)
            image_shape = None
            notes.append(f"{count} constant columns are dropped: {names}")
    clashes = contradictions(inputs, labels)
    if clashes:
        more = "; ..." if len(clashes) > 3 else ""
        rows = "; ".join(f"rows {first + 1} and {second + 1}" for first, second in clashes[:3])
        notes.append(
            f"{len(clashes)} rows repeat an earlier input with a different label ({rows}{more}): "
            f"no function of the inputs separates them, so the margin γ is 0 where their labels have opposite signs"
        )
    return Dataset(
        name=table.path.name,
        inputs=inputs,
        labels=labels,
        classes=classes,
        parts={"train": slice(0, len(labels))},
        image_shape=image_shape,
        columns=columns,
        notes=tuple(notes),
    )


def encode_labels(table: RawTable) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers (n,) of a table and the names of its classes."""
    return encode_classes(table.labels, f"'{table.path}': label '{table.label}'")


def contradictions(inputs: np.ndarray, labels: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of rows (first, later) that have the same input and different labels, in row order.

    Rows are compared by a 64-bit hash and then value by value, so that a table of any size is read once, in blocks.
    """
    factors = np.random.PCG64(0).random_raw(inputs.shape[1]) | np.uint64(1)
    hashes = np.empty(len(inputs), dtype=np.uint64)
    for start, block in _blocks(inputs):
        bits = (block + np.float32(0)).view(np.uint32)  # −0 becomes 0
        hashes[start : start + len(block)] = (bits * factors).sum(axis=1, dtype=np.uint64)
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


def _check_numbers(table: RawTable) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest value of each column; missing and infinite values are an error."""
    d = table.inputs.shape[1]
    low, high = np.full(d, np.inf, dtype=np.float32), np.full(d, -np.inf, dtype=np.float32)
    missing, infinite = _ColumnCounts(d), _ColumnCounts(d)
    for start, block in _blocks(table.inputs):
        low, high = np.fmin(low, block.min(axis=0)), np.fmax(high, block.max(axis=0))
        if not np.isfinite(block).all():
            missing.add(np.isnan(block), start)
            infinite.add(np.isinf(block), start)
    if missing.counts.any():
        raise InputError(
            f"'{table.path}' has missing values in {missing.describe(table.columns)}: "
            f"fill them in, remove these rows, or leave the columns out with drop"
        )
    if infinite.counts.any():
        raise InputError(
            f"'{table.path}' has infinite values, or values beyond float32, in "
            f"{infinite.describe(table.columns)}: fix or rescale them, or leave the columns out with drop"
        )
    return low, high


class _ColumnCounts:
    """How often a fault occurs in each column, and in which row first."""

    def __init__(self, d: int) -> None:
        self.counts = np.zeros(d, dtype=np.int64)
        self.first = np.full(d, -1, dtype=np.int64)

    def add(self, where: np.ndarray, start: int) -> None:
        new = where.any(axis=0) & (self.first < 0)
        self.first[new] = start + where.argmax(axis=0)[new]
        self.counts += where.sum(axis=0)

    def describe(self, columns: Sequence[str]) -> str:
        at = np.flatnonzero(self.counts).tolist()
        return few([f"column '{columns[i]}' ({self.counts[i]}, first in row {self.first[i] + 1})" for i in at])


def _blocks(inputs: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for start in range(0, len(inputs), _BLOCK):
        yield start, np.ascontiguousarray(inputs[start : start + _BLOCK])
