"""`load`: one function for examples from a data set's name, a file, a folder of images, arrays or a frame."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.arrays import MISSING, label_array, missing_labels
from softlabel.data.catalogue import CATALOGUE
from softlabel.data.dataset import Dataset
from softlabel.data.frames import read_column
from softlabel.data.images import image_layout, read_image_file, read_image_folder
from softlabel.data.joining import join_test, load_test
from softlabel.data.loading import load_raw
from softlabel.data.problem import Names, Problem
from softlabel.data.roles import ColumnRoles
from softlabel.data.rules import class_names
from softlabel.data.scaling import Scaler
from softlabel.data.table_files import holds_images
from softlabel.data.tables import time_values
from softlabel.data.user_frames import as_polars, take_rows
from softlabel.errors import counted, few, require
from softlabel.numerics.local_files import local_path


def load(
    data: Any,
    label: Any = None,
    *,
    task: str | None = None,
    classes: Names | None = None,
    leave_out: Names | None = None,
    scale: str | None = None,
    drop: Sequence[str] = (),
    id_column: str | None = None,
    test: str | Path | None = None,
    size: int | None = None,
    roles: ColumnRoles | None = None,
    seed: int = 0,
) -> Problem:
    """Load a classification problem: inputs, classes, and a split into training, validation and test rows.

    Parameters
    ----------
    data : str, path, tuple, array, frame or Problem
        The name of a data set ('mnist'); a CSV, Parquet, NPZ or NPY file; an NPZ file with `images` and `labels`; a
        folder with one subfolder of images per class; arrays `(X, y)`; a pandas or polars frame; or a `Problem`,
        which is returned unchanged.
    label : str, int or array, optional
        Label column of a file or a frame (of an NPY file its number or 'last', of an NPZ file the name of an array).
        For an array or a frame `data` it may also be the labels themselves.
    task : str, optional
        Rule that makes two classes, such as 'label>4'.
    classes : str or sequence, optional
        Two classes to keep, such as 'cat,dog'. Default: all classes.
    leave_out : str or sequence, optional
        Classes to leave out, such as '1,7'; '(missing)' leaves out the rows without a label.
    scale : {'none', 'max', 'unit', 'standard'}, optional
        Scale of the inputs. Default: that of the named data set, 'none' for images of files, folders and arrays, and
        'standard' for everything else.
    drop : sequence of str
        Columns to leave out.
    id_column : str, optional
        Column that identifies rows; it is not an input.
    test : path, optional
        File with the test rows of a file `data`.
    size : int, optional
        Resize the images of a folder to `size` × `size` pixels.
    roles : ColumnRoles, optional
        Columns of a table that are numbers, categories, groups or time. By default every column is what its values
        look like.
    seed : int
        Random seed of the split.

    Returns
    -------
    Problem
        Rows are split 60/20/20, stratified by class. With test rows of their own, the other rows are split 5/6 and
        1/6. Text, categories, dates and missing values of a table are encoded as numbers, learned from the training
        rows; `treatment` says what was done to every column.

    Examples
    --------
    >>> import softlabel as sl
    >>> problem = sl.load("digits", task="label>4")
    >>> problem.train.X.shape, problem.classes
    ((1078, 64), ('not label>4', 'label>4'))

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> sl.load((X, X[:, 0] > 0)).classes
    ('false', 'true')
    """
    if isinstance(data, Problem):
        _refuse("a Problem", label=label, task=task, classes=classes, leave_out=leave_out, scale=scale, drop=drop,
                id_column=id_column, test=test, size=size, roles=roles)  # fmt: skip
        return data
    labeled_only, leave_out = _without_missing(leave_out)
    columns = _Columns(label, list(drop), id_column, roles or ColumnRoles(), labeled_only)
    if isinstance(data, str | Path):
        problem, default_scale = _from_path(data, columns, test, size)
    else:
        problem = _from_memory(data, columns, test, size)
        default_scale = problem.default_scale
    problem = problem.with_classes(task, classes, leave_out)
    return problem.with_split(scale or default_scale, seed, test=problem.parts.get("test"))


@dataclass(frozen=True)
class _Columns:
    """The columns of a user's table: which is the label, which are not inputs, and what others are."""

    label: Any
    drop: list[str]
    id_column: str | None
    roles: ColumnRoles
    labeled_only: bool

    def refuse(self, what: str) -> None:
        """Raise where a column was named although the data have none."""
        roles = self.roles
        _refuse(what, label=self.label, drop=self.drop, id_column=self.id_column, numeric=roles.numeric,
                categorical=roles.categorical, group=roles.group, time=roles.time)  # fmt: skip

    @property
    def left_out(self) -> list[str]:
        return [*self.drop, *([] if self.id_column is None else [self.id_column])]


def _without_missing(leave_out: Names | None) -> tuple[bool, Names | None]:
    """Whether rows without a label are left out, and the other classes to leave out."""
    if leave_out is None:
        return False, None
    names = class_names(leave_out)
    others = [name for name in names if name != MISSING]
    return len(others) < len(names), (leave_out if len(others) == len(names) else others or None)


def _from_path(data: str | Path, columns: _Columns, test: str | Path | None, size: int | None) -> tuple[Problem, str]:
    """All rows of a named data set, a file or a folder, and their default scale."""
    if isinstance(data, str) and data in CATALOGUE:
        columns.refuse(f"data set '{data}'")
        _refuse(f"data set '{data}'", test=test, size=size)
        entry = CATALOGUE[data]
        shape = (1, *entry.image_shape)[-3:] if entry.image_shape else None
        problem = _from_raw(load_raw(data), image_shape=shape, default_task=entry.task, default_pair=entry.pair)
        return problem, entry.scale
    path = local_path(data)
    if path.is_dir() or holds_images(path):
        columns.refuse(f"'{data}', which holds images,")
        _refuse(f"'{data}', which holds images,", test=test)
        if not path.is_dir():
            _refuse(f"'{data}', which is not a folder,", size=size)
        images, codes, names = read_image_folder(path, size) if path.is_dir() else read_image_file(path)
        table = images.reshape(len(images), -1)
        shape = images.shape[1:]
        return Problem(path.name, table, codes.astype(np.int64), names, {}, Scaler("none"), image_shape=shape), "none"
    _refuse(f"'{data}', which is not a folder,", size=size)
    return _from_table(data, columns, test), "standard"


def _from_table(data: str | Path, columns: _Columns, test: str | Path | None) -> Problem:
    """All rows of a file of a table, and behind them those of a test file."""
    label, roles = columns.label, columns.roles
    require(
        label is None or isinstance(label, str | int),
        f"label must be the name of the label column where `data` is a file ('{data}'), got {type(label).__name__}; or "
        "pass inputs and labels both as arrays",
    )
    raw = load_raw(data, label, drop=columns.left_out, roles=roles, labeled_only=columns.labeled_only)
    rows, file_rows, notes, warnings = raw.file_rows, raw.rows_in_file, list(raw.notes), ()
    assert rows is not None
    test_count = 0
    if test is not None:
        test_rows, extra = load_test(local_path(test), label, raw, columns.left_out, roles)
        notes += extra
        raw, warnings = join_test(raw, test_rows)
        test_count = len(test_rows)
        rows = np.concatenate([rows, file_rows + np.arange(test_count)])
    ids = None
    if columns.id_column is not None:
        files = [local_path(file) for file in (data, test) if file is not None]
        ids = np.concatenate([read_column(file, columns.id_column) for file in files])[rows]
    shape, channels_last = image_layout(raw.image_shape)
    return _from_raw(
        raw, rows=rows, file_rows=file_rows, test_file_rows=test_count, ids=ids, image_shape=shape,
        channels_last=channels_last, notes=tuple(notes), warnings=warnings,
        table=None if raw.is_plain else raw.frame, plans=raw.plans, groups=raw.groups, times=raw.times,
    )  # fmt: skip


def _from_raw(raw: Dataset, **fields: Any) -> Problem:
    """All rows of a data set as a problem that is not split yet; its official test rows are the part 'test'."""
    test = np.arange(len(raw))[raw.parts["test"]] if "test" in raw.parts else None
    return Problem(
        raw.name, raw.inputs, raw.labels, raw.classes, {} if test is None else {"test": test}, Scaler("none"),
        raw.columns, **fields,
    )  # fmt: skip


def _from_memory(data: Any, columns: _Columns, test: Any, size: int | None) -> Problem:
    """All rows of arrays or of a frame."""
    label, roles = columns.label, columns.roles
    _refuse("data in memory", test=test, size=size)
    if isinstance(data, tuple):
        require(len(data) == 2, f"a tuple of data must be (X, y), got {counted(len(data), 'entry', 'entries')}")
        _refuse("a tuple (X, y)", label=label)
        data, label = data
    parting: dict[str, Any] = {}
    if hasattr(data, "columns"):
        names, dropped = list(data.columns), list[Any](columns.left_out)
        for parameter, column in [("drop", name) for name in columns.drop] + [("id_column", columns.id_column)]:
            require(
                column is None or column in names, f"`{parameter}`: there is no column '{column}', only {few(names)}"
            )
        if columns.id_column is not None:
            parting["ids"] = np.asarray(data[columns.id_column]).astype(str)
        if isinstance(label, str | int):
            require(label in names, f"`label`: there is no column '{label}', only {few(names)}")
            dropped.append(label)
            label = data[label]
        roles.check(names, map(str, dropped), "data")
        if roles.group is not None:
            parting["groups"] = np.asarray(data[roles.group]).astype(str)
        if roles.time is not None:
            parting["times"] = time_values(as_polars(data[[roles.time]])[roles.time], "data")
        dropped += roles.parting
        data = data[[name for name in names if name not in dropped]] if dropped else data
    else:
        what = "an array, whose columns have no names,"
        _refuse(what, drop=columns.drop, id_column=columns.id_column, group=roles.group, time=roles.time)
    require(
        label is not None and not isinstance(label, str | int),
        "labels are missing: pass (X, y), or `label` as one label per row or as the label column of a frame",
    )
    if columns.labeled_only:
        known = np.flatnonzero(~missing_labels(label_array(label, len(np.asarray(label)))))
        data, label = take_rows(data, known), take_rows(np.asarray(label), known)
        parting = {name: values[known] for name, values in parting.items()}
    return replace(Problem.unsplit(data, label, "data", roles), **parting)


def _refuse(what: str, **arguments: Any) -> None:
    """Raise where an argument was passed that does not apply."""
    passed = [name for name, value in arguments.items() if value is not None and (np.ndim(value) != 1 or len(value))]
    names = few(f"`{name}`" for name in passed)
    require(not passed, f"{what} does not take {names}: leave {'it' if len(passed) == 1 else 'them'} out")
