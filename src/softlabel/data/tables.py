"""From a user's table to a `Dataset`, with a clear answer to everything a table can have wrong.

An error where the user must choose (missing values, text, one class only), a stated treatment where there is
one right answer (constant columns are dropped), and a note where theory has something to say (the same input
with different labels). Rows are counted from 1, without the header.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from softlabel.data.class_names import class_name
from softlabel.data.dataset import Dataset
from softlabel.data.table_files import Table, read_table
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

    `label` names the label column (an NPY file's by number or 'last', an NPZ file's array; 'y' if None).
    Constant columns are dropped unless `keep_constant`. With `mmap` the inputs stay on disk, in an NPY file
    of float32, and are checked in blocks.
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
            f"{len(clashes)} inputs occur again with a different label ({rows}{more}): "
            f"no rule of the inputs separates them, so γ = 0 where the labels are on opposite sides"
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


def encode_labels(table: Table) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels as indices (n,) into the sorted classes: numbers by value, text by alphabet."""
    raw, where = table.labels, f"'{table.path}': label '{table.label}'"
    missing = np.array([value is None or value != value or value == "" for value in raw.tolist()])
    if missing.any():
        raise InputError(
            f"{where} has {missing.sum()} missing values (first in row {np.argmax(missing) + 1}): "
            f"fill them in or remove these rows"
        )
    if raw.dtype == object:
        raw = raw.astype(str)
    values, codes = np.unique(raw, return_inverse=True)
    if len(values) < 2:
        raise InputError(f"{where} has one class only ('{class_name(values[0])}'): two are needed")
    if len(values) > max(20, len(raw) // 2):
        raise InputError(
            f"{where} has {len(values)} different values in {len(raw)} rows, so it does not name classes: "
            f"choose another --label or put its values into classes first"
        )
    return codes.astype(np.int64), tuple(map(class_name, values.tolist()))


def contradictions(inputs: np.ndarray, labels: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of rows (first, later) that hold the same input with different labels, in row order.

    Rows are compared through a 64-bit integer hash and then value by value, so that a table of any size is
    read once, in blocks.
    """
    factors = np.random.PCG64(0).random_raw(inputs.shape[1]) | np.uint64(1)
    hashes = np.empty(len(inputs), dtype=np.uint64)
    for start, block in _blocks(inputs):
        bits = (block + np.float32(0)).view(np.uint32)  # −0 becomes 0
        hashes[start : start + len(block)] = (bits * factors).sum(axis=1, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    pairs, origins, previous = [], [], -2
    for place in same.tolist():
        if place != previous + 1:
            origins = [int(order[place])]
        previous, row = place, int(order[place + 1])
        origin = next((other for other in origins if np.array_equal(inputs[other], inputs[row])), None)
        if origin is None:
            origins.append(row)
        elif labels[row] != labels[origin]:
            pairs.append((origin, row))
    return sorted(pairs)


def _check_numbers(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest value of each column; missing or infinite ones are an error."""
    width = table.inputs.shape[1]
    low, high = np.full(width, np.inf, dtype=np.float32), np.full(width, -np.inf, dtype=np.float32)
    missing, infinite = _Found(width), _Found(width)
    for start, block in _blocks(table.inputs):
        low, high = np.fmin(low, block.min(axis=0)), np.fmax(high, block.max(axis=0))
        if not np.isfinite(block).all():
            missing.add(np.isnan(block), start)
            infinite.add(np.isinf(block), start)
    if missing.counts.any():
        raise InputError(
            f"'{table.path}' has missing values in {missing.describe(table.columns)}: "
            f"fill them in, remove these rows, or leave the columns out with --drop"
        )
    if infinite.counts.any():
        raise InputError(
            f"'{table.path}' has infinite values, or values beyond float32, in "
            f"{infinite.describe(table.columns)}: mend or rescale them, or leave the columns out with --drop"
        )
    return low, high


class _Found:
    """How often something was found in each column, and where first."""

    def __init__(self, width: int) -> None:
        self.counts = np.zeros(width, dtype=np.int64)
        self.first = np.full(width, -1, dtype=np.int64)

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
