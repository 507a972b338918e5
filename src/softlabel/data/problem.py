"""A classification problem as practitioners have it: a table with classes, cut into parts to train, choose and test."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.catalogue import CATALOGUE
from softlabel.data.class_names import class_name, rule_sides
from softlabel.data.frames import read_column
from softlabel.data.joining import join_test, load_test, meets
from softlabel.data.loading import load
from softlabel.data.precision import check_float32
from softlabel.data.rules import binary_rule, class_names, class_pair
from softlabel.data.rules import leave_out as labels_left
from softlabel.data.scaling import Scaler
from softlabel.data.splits import split_given
from softlabel.errors import InputError, few, require
from softlabel.numerics.local_files import local_path
from softlabel.ranges import check_seed

MOST_CLASSES = 100
SHARES = (0.6, 0.2, 0.2)
PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs (n, d) float32 as given, labels (n,) int64 into `classes`, and which rows each part has.

    scaler      learned from the training rows; `scaled(part)` are inputs as students see them
    rows        which row of its file each row here is, `file_rows` how many the file has; those of a test file, which
                has `test_file_rows`, are counted on
    ids         what the id column says of each row, where there is one
    source      the user's own frame or array, for teachers that want their columns as they were
    warnings    what makes figures less than they seem
    """

    name: str
    inputs: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    parts: dict[str, np.ndarray]
    scaler: Scaler
    columns: tuple[str, ...] | None = None
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    file_rows: int = 0
    test_file_rows: int = 0
    ids: np.ndarray | None = None
    image_shape: tuple[int, ...] | None = None
    source: Any = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        inputs: Any,
        labels: Any,
        *,
        name: str = "data",
        scale: str = "standard",
        seed: int = 0,
        shares: Sequence[float] = SHARES,
    ) -> "Problem":
        """From arrays or frames in memory; labels may be numbers or names."""
        columns = tuple(map(str, inputs.columns)) if hasattr(inputs, "columns") else None
        table = number_table(inputs, name)
        given = np.asarray(labels)
        if given.ndim == 2 and given.shape[1] == 1:
            given = given[:, 0]
        require(
            given.shape == (len(table),),
            f"labels must be one a row: {len(table)} rows of inputs, labels of shape {given.shape}",
        )
        missing = np.array([value is None or value != value for value in given.tolist()])
        require(not missing.any(), f"labels: {missing.sum()} are missing (first in row {np.argmax(missing) + 1})")
        values, codes = np.unique(given.astype(str) if given.dtype == object else given, return_inverse=True)
        require(len(values) >= 2, f"labels have one class only ({values[:1].tolist()}): two are needed")
        classes = tuple(class_name(value) for value in values.tolist())
        problem = cls(
            name, table, codes.astype(np.int64), classes, {}, Scaler("none"), columns,
            np.arange(len(table)), len(table), source=inputs,
        )  # fmt: skip
        return problem.cut(scale, seed, shares)

    def cut(self, scale: str, seed: int, shares: Sequence[float] = SHARES, test: np.ndarray | None = None) -> "Problem":
        """The same with parts drawn by the seed (class by class, in proportion), or with test rows that are given."""
        check_seed(seed)
        _check_classes(self)
        if test is None:
            train, validation, held = split_given(len(self), shares, seed, self.labels)
        else:
            rest = np.setdiff1d(np.arange(len(self)), test)
            kept, chosen = split_given(len(rest), (5 / 6, 1 / 6), seed, self.labels[rest])
            train, validation, held = rest[kept], rest[chosen], test
        parts = dict(zip(PARTS, (train, validation, held), strict=True))
        for part, rows in parts.items():
            absent = np.setdiff1d(np.arange(len(self.classes)), self.labels[rows])
            if len(absent):
                rare = self.classes[absent[0]]
                remedy = f", or leave it out: --leave-out {rare}" if len(self.classes) > 2 else ""
                raise InputError(
                    f"'{self.name}': class '{rare}' has {int((self.labels == absent[0]).sum())} rows, too few for one "
                    f"in each part ({part} has none); collect more{remedy}"
                )
        learned = self.inputs[train]
        require(
            bool((learned.min(axis=0) < learned.max(axis=0)).any()),
            f"'{self.name}' has only constant input columns: nothing can be learned from them",
        )
        scaler = Scaler.fit(learned, scale)
        return replace(self, parts=parts, scaler=scaler)

    def __len__(self) -> int:
        return len(self.labels)

    def __str__(self) -> str:
        sizes = ", ".join(f"{len(rows):,} {part}" for part, rows in self.parts.items())
        named = ", ".join(self.classes) if len(self.classes) <= 10 else f"{len(self.classes)} of them"
        return f"{self.name}: {self.inputs.shape[1]} inputs, classes {named}; rows: {sizes}; {self.scaler}"

    def scaled(self, part: str) -> np.ndarray:
        """Inputs of one part as students see them."""
        return self.scaler.apply(self.inputs[self.parts[part]])

    def truth(self, part: str) -> np.ndarray:
        """Class numbers of one part."""
        return self.labels[self.parts[part]]

    @cached_property
    def fingerprint(self) -> str:
        """Identity of inputs, labels, parts and scale."""
        digest = hashlib.sha256(repr((self.classes, self.inputs.shape, self.scaler.how)).encode())
        for array in (self.inputs, self.labels, *self.parts.values()):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:20]


def as_problem(
    inputs: Any, labels: Any = None, *, scale: str | None = None, seed: int = 0, id_column: str | None = None
) -> Problem:
    """The problem that a user's arguments mean.

    inputs      a `Problem` (then without labels), a data set's name or a file, a frame, or an array (n, d)
    labels      of a file or a frame the name of its label column; else one label per row
    scale       default: 'standard', and a named data set's own
    id_column   of a file
    """
    if isinstance(inputs, Problem):
        require(labels is None, "a Problem has its labels already: leave out labels")
        return inputs
    if isinstance(inputs, str | Path):
        require(
            labels is None or isinstance(labels, str | int),
            f"labels must be the name of the label column where inputs is a file ('{inputs}'), got "
            f"{type(labels).__name__}; or pass inputs and labels both as arrays",
        )
        require(
            labels is not None or Path(inputs).suffix.lower() not in (".csv", ".parquet") or not Path(inputs).is_file(),
            f"'{inputs}' needs to know its label column: pass its name as labels",
        )
        return load_problem(inputs, labels, scale=scale, id_column=id_column, seed=seed)
    if isinstance(labels, str) and hasattr(inputs, "columns"):
        names = list(inputs.columns)
        require(labels in names, f"inputs have no column '{labels}' for the labels: there are {few(names)}")
        labels, inputs = inputs[labels], inputs[[name for name in names if name != labels]]
    require(labels is not None, "labels are missing: pass one label per row of inputs")
    return Problem.of(inputs, labels, scale=scale or "standard", seed=seed)


def without_held_out(problem: Problem, rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Unlabelled rows (u, d) without those that are validation or test rows of the problem, and how many these are."""
    new = ~meets(rows, np.concatenate([problem.inputs[problem.parts[part]] for part in ("validation", "test")]))
    require(bool(new.any()), "every unlabelled row is a validation or test row of the data: bring others")
    return rows[new], int((~new).sum())


def load_problem(
    data: str | Path,
    label: str | int | None = None,
    task: str | None = None,
    classes: str | None = None,
    leave_out: str | None = None,
    scale: str | None = None,
    drop: Sequence[str] = (),
    id_column: str | None = None,
    seed: int = 0,
    test: str | Path | None = None,
) -> Problem:
    """The problem that a named set or a file poses; all its classes, or two by `task` or `classes`.

    A file's default scale is 'standard', a named set has its own. Named sets with a test part keep it; `test` is a file
    of test rows with the columns of a file.
    """
    if task is not None and classes is not None:
        raise InputError(f"task '{task}' and classes '{classes}' are both given: give --task or --classes")
    if classes is not None and leave_out is not None:
        raise InputError(f"classes '{classes}' and leave-out '{leave_out}' are both given: give one of them")
    named = CATALOGUE.get(str(data))
    if named is not None:
        require(id_column is None, f"data set '{data}' has no id column: leave out --id")
        require(
            test is None, f"test rows from a file go with data from a file, '{data}' is a data set: leave out --test"
        )
    dropped = [*drop, *([] if id_column is None else [id_column])]
    held = load(data, label, drop=dropped, keep_constant=named is None)
    own_rows, notes, warnings = len(held), list(held.notes), ()
    if test is not None:
        apart, extra = load_test(local_path(test), label, held, dropped)
        notes += extra
        held, warnings = join_test(held, apart)
    kept = np.arange(len(held))
    names, codes = held.classes, held.labels
    if classes is not None:
        kept = np.flatnonzero(np.isin(codes, class_pair(classes, names)))
    elif leave_out is not None:
        kept = np.flatnonzero(np.isin(codes, labels_left(leave_out, names)))
    codes = codes[kept]
    if task is not None:
        codes, names = (binary_rule(task, codes, names) > 0).astype(np.int64), rule_sides(task)
    elif classes is not None:  # in the order they were named
        first = class_pair(classes, names)[0]
        codes, names = (codes != first).astype(np.int64), tuple(class_names(classes))
    present = np.unique(codes)
    codes = np.searchsorted(present, codes)
    tested = None
    if "test" in held.parts:
        tested = np.flatnonzero(np.isin(kept, np.arange(len(held))[held.parts["test"]]))
    problem = Problem(
        name=held.name,
        inputs=held.inputs if len(kept) == len(held) else held.inputs[kept],
        labels=codes.astype(np.int64),
        classes=tuple(names[place] for place in present.tolist()),
        parts={},
        scaler=Scaler("none"),
        columns=held.columns,
        rows=kept,
        file_rows=own_rows,
        test_file_rows=len(held) - own_rows,
        ids=None if id_column is None else _ids([data, test], id_column)[kept],
        image_shape=held.image_shape,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )
    return problem.cut(scale or (named.scale if named is not None else "standard"), seed, test=tested)


def _ids(files: Sequence[str | Path | None], column: str) -> np.ndarray:
    return np.concatenate([read_column(local_path(file), column) for file in files if file is not None])


def _check_classes(problem: Problem) -> None:
    count = len(problem.classes)
    if count > MOST_CLASSES:
        raise InputError(
            f"'{problem.name}' has {count:,} classes in {len(problem):,} rows; up to {MOST_CLASSES} can be handled: "
            "choose another --label, or put its values into fewer classes first"
        )


def number_table(inputs: Any, name: str) -> np.ndarray:
    """Inputs as float32 (n, d); anything that is not a finite number is refused with its place."""
    try:
        wide = np.asarray(inputs)
        if wide.dtype.kind not in "biuf":
            wide = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(f"{name}: inputs must be numbers; encode text columns first ({reason})") from None
    require(wide.ndim == 2 and min(wide.shape) >= 1, f"{name}: inputs must be a table (n, d), got shape {wide.shape}")
    names = [str(column) for column in getattr(inputs, "columns", range(1, wide.shape[1] + 1))]
    twice = sorted(column for column, count in Counter(names).items() if count > 1)
    require(not twice, f"{name}: inputs have columns of the same name: {few(twice)}; rename them")
    check_float32(zip(names, wide.T, strict=True), name)
    with np.errstate(over="ignore"):
        table = np.asarray(wide, dtype=np.float32)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0].tolist()
        raise InputError(
            f"{name}: inputs hold missing or infinite values (first in row {row + 1}, column {column + 1}); "
            "fill them in or remove these rows"
        )
    return table
