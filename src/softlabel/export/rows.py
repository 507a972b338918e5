"""The rows that a model is asked about: a file or a named set, brought to the inputs that the model takes.

Columns are found by name where both have names, and by position otherwise. Labels are needed for scores only.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.catalogue import CATALOGUE, find
from softlabel.data.class_names import class_name, places_of, rule_of
from softlabel.data.frames import NAMED_FILES, as_text, need_columns, read_frame
from softlabel.data.loading import load
from softlabel.data.rules import rule_holds
from softlabel.data.table_files import is_number, read_columns, read_inputs, read_table
from softlabel.errors import InputError, few, require
from softlabel.export.loading import Model
from softlabel.export.pictures import read_pictures
from softlabel.numerics.local_files import local_path

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs (n, *shape) for a model, places of their classes (n,) or None, their id column (n,) or None."""

    inputs: np.ndarray
    labels: np.ndarray | None = None
    ids: "polars.Series | None" = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.inputs)


def rows_for(
    model: Model, data: str | Path, label: str | None = None, id_column: str | None = None, drop: Sequence[str] = ()
) -> Rows:
    """Rows of a CSV, Parquet, NPZ or NPY file, of a named set, or pictures in an NPZ file or a folder.

    label       the file's label column (an NPZ file's array); named sets and sorted pictures bring theirs along
    id_column   column that names the rows; no input unless the model takes one of this name
    drop        columns to leave out
    """
    path = local_path(data)
    named = str(data) in CATALOGUE
    if not (named or path.suffix or "/" in str(data) or path.exists()):
        find(str(data))
    if named or model.takes_images:
        for option, given in (("--label", label), ("--id", id_column), ("--drop", drop)):
            require(
                not given, f"{option} is for tables: '{data}' {'has labels of its own' if named else 'has pictures'}"
            )
    if model.takes_images:
        return _pictures(model, str(data) if named else path)
    if named:
        return _named_set(model, str(data))
    require(label is None or label not in drop, f"'{path}': column '{label}' is the label and dropped: mend --drop")
    read = _by_name if path.suffix.lower() in NAMED_FILES else _by_place
    return read(model, path, label, id_column, list(drop))


def _by_name(model: Model, path: Path, label: str | None, id_column: str | None, drop: list[str]) -> Rows:
    frame = read_frame(path)
    names = frame.columns
    apart = [name for name in (label, id_column) if name is not None]
    need_columns([*apart, *drop], names, path)
    if id_column is not None:
        as_text(frame[id_column], path)
    notes, left_out = [], {*apart, *drop}
    if _has_names(model):
        wanted = model.columns or ()
        require(label not in wanted, f"'{path}': column '{label}' is an input of the model, so it is not the label")
        known, present, dropped = {*wanted, *left_out}, set(names), set(drop)
        lost = [name for name in wanted if name in dropped]
        require(not lost, f"'{path}': the model needs column {few(lost)}: leave out --drop for it")
        missing = [name for name in wanted if name not in present]
        require(
            not missing,
            f"'{path}' lacks {len(missing)} of the model's {len(wanted)} columns: {few(missing)}; it has {few(names)}",
        )
        extra = [name for name in names if name not in known]
        if extra:
            notes.append(f"columns that are not the model's are ignored: {few(extra)}")
        inputs = read_columns(path, wanted)
        columns = tuple(wanted)
    else:
        kept = [name for name in names if name not in left_out]
        require(
            not all(map(is_number, names)) or kept == list(map(str, range(len(kept)))),
            f"'{path}' has no column names, its first line is numbers ({few(names, 3)}): add a line of names",
        )
        _check_count(model, path, kept)
        table = read_inputs(path, list(left_out))
        inputs, columns = table.inputs, table.columns
    _check_numbers(path, inputs, columns)
    labels = None if label is None else _places(frame[label].to_list(), model, f"'{path}': label '{label}'")
    return Rows(inputs, labels, None if id_column is None else frame[id_column], tuple(notes))


def _by_place(model: Model, path: Path, label: str | None, id_column: str | None, drop: list[str]) -> Rows:
    require(id_column is None, f"'{path}' has no columns with names: leave out --id, or give a .csv or .parquet file")
    table = read_inputs(path, drop) if label is None else read_table(path, label, drop)
    _check_count(model, path, table.columns)
    _check_numbers(path, table.inputs, table.columns)
    if label is None:
        return Rows(table.inputs)
    return Rows(table.inputs, _places(table.labels.tolist(), model, f"'{path}': label '{label}'"))


def _named_set(model: Model, name: str) -> Rows:
    held = load(name)
    _check_count(model, Path(name), range(held.inputs.shape[1]))
    names, rule = list(held.classes), rule_of(model.classes)
    if rule is not None:
        with suppress(InputError):  # a rule about other classes: there are no scores then
            names = [model.classes[int(holds)] for holds in rule_holds(rule, held.classes)]
    return _with_own_labels(model, held.inputs, [names[place] for place in held.labels], f"data set '{name}'")


def _pictures(model: Model, source: str | Path) -> Rows:
    pixels, names, notes = read_pictures(source, model.shape)
    where = f"data set '{source}'" if isinstance(source, str) else f"'{source}'"
    if names is None:
        return Rows(pixels, notes=notes)
    rows = _with_own_labels(model, pixels, names, where)
    return Rows(rows.inputs, rows.labels, notes=(*notes, *rows.notes))


def _with_own_labels(model: Model, inputs: np.ndarray, names: Sequence[str], where: str) -> Rows:
    """Labels that nobody asked for: of use where they are the model's classes."""
    others = sorted(set(names) - set(model.classes))
    if others:
        return Rows(inputs, notes=(f"{where} has labels that are no classes of the model ({few(others)}): no scores",))
    return Rows(
        inputs,
        _places(names, model, where),
        notes=(f"scores are over all {len(inputs):,} rows of {where}, any that the model learned from included",),
    )


def _places(values: Sequence[object], model: Model, where: str) -> np.ndarray:
    """Labels as places in the model's classes; a rule's two sides are told by the rule."""
    names = ["" if value is None or value != value else class_name(value) for value in values]
    empty = [row for row, name in enumerate(names) if name == ""]
    require(
        not empty,
        f"{where} has {len(empty)} missing values (first in row {empty[0] + 1 if empty else 0}): fill them in, remove "
        "these rows, or leave out --label",
    )
    places = places_of(set(names), model.classes)
    others = sorted(name for name, place in places.items() if place is None)
    rule = rule_of(model.classes)
    if others and rule is not None:
        present = sorted(places)
        places = dict(zip(present, map(int, rule_holds(rule, present, of_all=False)), strict=True))
    else:
        require(
            not others,
            f"{where} holds {few(others)}, which the model does not know: its classes are {few(model.classes)}",
        )
    return np.array([places[name] for name in names], dtype=np.int64)


def _has_names(model: Model) -> bool:
    """Columns that are called 0, 1, … come from a file without names."""
    return model.columns is not None and not all(name.isdigit() for name in model.columns)


def _check_count(model: Model, path: Path, columns: Sequence[object]) -> None:
    (wanted,) = model.shape
    hint = (
        "; name the label if one of them is it: --label, or leave columns out: --drop" if len(columns) > wanted else ""
    )
    require(len(columns) == wanted, f"'{path}' has {len(columns)} input columns, the model takes {wanted}{hint}")


def _check_numbers(path: Path, inputs: np.ndarray, columns: Sequence[str]) -> None:
    bad = ~np.isfinite(inputs)
    if bad.any():
        found = [
            f"'{columns[place]}' ({bad[:, place].sum()}, first in row {bad[:, place].argmax() + 1})"
            for place in np.flatnonzero(bad.any(axis=0)).tolist()
        ]
        raise InputError(
            f"'{path}' has missing or infinite values in {few(found, 5)}: the model needs every number; fill "
            "them in or remove these rows"
        )
