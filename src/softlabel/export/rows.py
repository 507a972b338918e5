"""Rows of a file or a named data set as inputs of a model.

Columns are matched by name if the file and the model have names, otherwise by position. Labels are only needed for
scores.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.catalogue import CATALOGUE, find
from softlabel.data.class_names import class_name, places_of, rule_of
from softlabel.data.frames import NAMED_FILES, as_text, need_columns, read_frame
from softlabel.data.loading import load_raw
from softlabel.data.rules import rule_holds
from softlabel.data.table_files import is_number, read_columns, read_inputs, read_table
from softlabel.data.user_frames import as_polars
from softlabel.errors import InputError, counted, few, require
from softlabel.export.images import read_images
from softlabel.export.loading import LoadedModel
from softlabel.numerics.local_files import local_path

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """Inputs (n, *shape) of a model, optional class indices (n,), optional ids (n,), and remarks for the user.

    inputs  an array, or a polars frame for a model that takes columns with types of their own
    where   what messages call a frame
    """

    inputs: Any
    labels: np.ndarray | None = None
    ids: "polars.Series | None" = None
    notes: tuple[str, ...] = ()
    where: str = "`X`"

    def __len__(self) -> int:
        return len(self.inputs)


def rows_for(
    model: LoadedModel,
    data: str | Path,
    label: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
) -> ModelInputs:
    """Read the rows of a CSV, Parquet, NPZ or NPY file, of a named data set, or images in an NPZ file or a folder.

    label       label column of a table (in an NPZ file, an array); named data sets and class folders have labels
    id_column   column that identifies the rows; not an input unless the model takes a column of this name
    drop        columns to ignore
    """
    path = local_path(data)
    named = str(data) in CATALOGUE
    if not (named or path.suffix or "/" in str(data) or path.exists()):
        find(str(data))
    if named or model.takes_images:
        for parameter, value in (("label", label), ("id_column", id_column), ("drop", drop)):
            require(
                not value,
                f"`{parameter}` applies to tables only: '{data}' {'has labels' if named else 'contains images'}",
            )
    if model.takes_images:
        return _read_images(model, str(data) if named else path)
    if named:
        return _read_named_set(model, str(data))
    require(label is None or label not in drop, f"'{path}': column '{label}' is both `label` and in `drop`")
    read = _read_by_name if path.suffix.lower() in NAMED_FILES else _read_by_position
    return read(model, path, label, id_column, list(drop))


def _read_by_name(
    model: LoadedModel, path: Path, label: str | None, id_column: str | None, drop: list[str]
) -> ModelInputs:
    frame = read_frame(path, () if model.raw is None else model.raw.text)
    names = frame.columns
    special = [name for name in (label, id_column) if name is not None]
    need_columns([*special, *drop], names, path)
    if id_column is not None:
        as_text(frame[id_column], path)
    notes, left_out = [], {*special, *drop}
    inputs: Any
    wanted = model.columns or ()
    numbered = all(name.isdigit() for name in wanted)  # columns named 0, 1, … come from a file without names
    if not numbered or (model.raw is not None and set(wanted) <= set(names)):
        require(label not in wanted, f"'{path}': column '{label}' is an input of the model and cannot be the label")
        known, present, dropped = {*wanted, *left_out}, set(names), set(drop)
        lost = [name for name in wanted if name in dropped]
        require(not lost, f"'{path}': the model needs column {few(lost)}: remove it from `drop`")
        missing = [name for name in wanted if name not in present]
        require(
            not missing,
            f"'{path}' lacks {len(missing)} of the model's {len(wanted)} columns: {few(missing)}; it has {few(names)}",
        )
        extra = [name for name in names if name not in known]
        if extra:
            notes.append(f"columns that the model does not use are ignored: {few(extra)}")
        inputs = read_columns(path, wanted) if model.raw is None else frame.select(wanted)
        columns = tuple(wanted)
    else:
        kept = [name for name in names if name not in left_out]
        require(
            not all(map(is_number, names)) or kept == list(map(str, range(len(kept)))),
            f"'{path}' has no column names, its first line contains numbers ({few(names, 3)}): add a line with names",
        )
        _check_count(model, path, kept)
        if model.raw is None:
            table = read_inputs(path, list(left_out))
            inputs, columns = table.inputs, table.columns
        else:
            inputs, columns = frame.select(kept).rename(dict(zip(kept, wanted, strict=True))), tuple(wanted)
    if model.raw is None:
        _check_numbers(path, inputs, columns)
    labels = None if label is None else _class_indices(frame[label].to_list(), model, f"'{path}': label '{label}'")
    ids = None if id_column is None else frame[id_column]
    return ModelInputs(inputs, labels, ids, tuple(notes), f"'{path}'")


def _read_by_position(
    model: LoadedModel, path: Path, label: str | None, id_column: str | None, drop: list[str]
) -> ModelInputs:
    require(id_column is None, f"'{path}' has no column names: omit `id_column`, or use a .csv or .parquet file")
    table = read_inputs(path, drop) if label is None else read_table(path, label, drop)
    _check_count(model, path, table.columns)
    inputs: Any = table.inputs
    if model.raw is None or not model.raw.only:
        _check_numbers(path, inputs, table.columns)
    else:
        _require_numbered(model, f"'{path}'")
        inputs = as_polars(inputs, model.columns)
    labels = None if label is None else _class_indices(table.labels.tolist(), model, f"'{path}': label '{label}'")
    return ModelInputs(inputs, labels, where=f"'{path}'")


def _require_numbered(model: LoadedModel, where: str) -> None:
    """Raise if the columns of the model have names, which the data do not have."""
    require(
        all(name.isdigit() for name in model.columns or ()),
        f"{where} has no column names, the model takes {few(model.columns or ())} by name: use a .csv or .parquet file",
    )


def _read_named_set(model: LoadedModel, name: str) -> ModelInputs:
    raw = load_raw(name)
    _check_count(model, Path(name), range(raw.inputs.shape[1]))
    require(model.raw is None or not model.raw.only, f"data set '{name}' has no column names, which the model takes")
    names, rule = list(raw.classes), rule_of(model.classes)
    if rule is not None:
        with suppress(InputError):  # the rule is about other classes: there are no scores then
            names = [model.classes[int(holds)] for holds in rule_holds(rule, raw.classes)]
    return _with_labels(model, raw.inputs, [names[index] for index in raw.labels], f"data set '{name}'")


def _read_images(model: LoadedModel, source: str | Path) -> ModelInputs:
    pixels, names, notes = read_images(source, model.shape)
    where = f"data set '{source}'" if isinstance(source, str) else f"'{source}'"
    if names is None:
        return ModelInputs(pixels, notes=notes)
    rows = _with_labels(model, pixels, names, where)
    return ModelInputs(rows.inputs, rows.labels, notes=(*notes, *rows.notes))


def _with_labels(model: LoadedModel, inputs: np.ndarray, names: Sequence[str], where: str) -> ModelInputs:
    """Inputs with the labels that come with them, if these are classes of the model."""
    others = sorted(set(names) - set(model.classes))
    if others:
        note = f"{where} has labels that are not classes of the model ({few(others)}): no scores"
        return ModelInputs(inputs, notes=(note,))
    note = f"scores are computed on all {len(inputs):,} rows of {where}, including any that the model was trained on"
    return ModelInputs(inputs, _class_indices(names, model, where), notes=(note,))


def _class_indices(values: Sequence[object], model: LoadedModel, where: str) -> np.ndarray:
    """Labels as indices into the model's classes; classes made by a rule are decided by the rule."""
    names = ["" if value is None or value != value else class_name(value) for value in values]
    empty = [row for row, name in enumerate(names) if name == ""]
    require(
        not empty,
        f"{where} has {counted(len(empty), 'missing value')} (first in row {empty[0] + 1 if empty else 0}): fill them "
        "in, remove these rows, or omit `label`",
    )
    indices = places_of(set(names), model.classes)
    others = sorted(name for name, index in indices.items() if index is None)
    rule = rule_of(model.classes)
    if others and rule is not None:
        present = sorted(indices)
        indices = dict(zip(present, map(int, rule_holds(rule, present, of_all=False)), strict=True))
    else:
        require(
            not others,
            f"{where} contains {few(others)}, which the model does not know: its classes are {few(model.classes)}",
        )
    return np.array([indices[name] for name in names], dtype=np.int64)


def _check_count(model: LoadedModel, path: Path, columns: Sequence[object]) -> None:
    (expected,) = model.shape
    table = len(columns) > expected and str(path) not in CATALOGUE
    hint = "; specify the label column with `label`, or ignore columns with `drop`" if table else ""
    require(len(columns) == expected, f"'{path}' has {len(columns)} input columns, the model takes {expected}{hint}")


def _check_numbers(path: Path, inputs: np.ndarray, columns: Sequence[str]) -> None:
    bad = ~np.isfinite(inputs)
    if bad.any():
        faults = [
            f"'{columns[k]}' ({bad[:, k].sum()}, first in row {bad[:, k].argmax() + 1})"
            for k in np.flatnonzero(bad.any(axis=0)).tolist()
        ]
        raise InputError(
            f"'{path}' has missing or infinite values in {few(faults, 5)}: the model needs every number; fill "
            "them in or remove these rows"
        )
