"""Raw columns that a user has in memory, as a polars frame, and stored encoders that are checked before use."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.encoding.encoder import (
    CategoryStep,
    DateStep,
    NumberStep,
    Step,
    TableEncoder,
    TextStep,
    category_text,
)
from softlabel.data.encoding.written import DATE_STYLES, NUMBER_STYLES
from softlabel.data.table_files import is_number
from softlabel.data.user_frames import as_polars
from softlabel.errors import InputError, counted, few, require, short

if TYPE_CHECKING:
    import polars

_TRUTH = ("true", "false")


def has_columns(inputs: Any) -> bool:
    """Whether the inputs have columns with names: a frame, a dictionary of columns, or a list of dictionaries."""
    rows = isinstance(inputs, list | tuple) and len(inputs) > 0 and all(isinstance(row, Mapping) for row in inputs)
    return rows or hasattr(inputs, "columns") or isinstance(inputs, Mapping)


def is_raw_array(encoder: "TableEncoder", inputs: Any) -> bool:
    """Whether the inputs are an array with the raw columns rather than with encoded ones."""
    shape = getattr(inputs, "shape", ())
    if has_columns(inputs) or len(shape) != 2 or shape[1] != len(encoder.columns):
        return False
    return shape[1] != len(encoder.features) or np.asarray(inputs).dtype.kind not in "biuf"


def raw_frame(inputs: Any, columns: Sequence[str], where: str = "the table") -> "polars.DataFrame":
    """These columns, in this order, of a polars or pandas frame, a dictionary of columns, or a list of dictionaries.

    where   what messages call the inputs
    """
    require(
        has_columns(inputs),
        f"{where} must be a polars or pandas frame or a dictionary with the columns {few(columns)}, got "
        f"{type(inputs).__name__}",
    )
    if isinstance(inputs, list | tuple):
        every = dict.fromkeys(name for row in inputs for name in row)
        inputs = {name: [row.get(name) for row in inputs] for name in every}
    names = list(inputs) if isinstance(inputs, Mapping) else list(inputs.columns)
    keys = {str(name): name for name in names}
    missing = [name for name in columns if name not in keys]
    require(
        not missing,
        f"{where} lacks {len(missing)} of the model's {len(columns)} columns: {few(missing)}; it has {few(keys)}",
    )
    twice = [name for name in columns if [str(key) for key in names].count(name) > 1]
    require(not twice, f"{where} has several columns of the same name: {few(twice)}; rename them")
    picked = {name: inputs[keys[name]] for name in columns}
    for name, values in picked.items():
        single = isinstance(values, str | bytes) or not hasattr(values, "__len__")
        require(
            not single and getattr(values, "ndim", 1) == 1,
            f"{where}: column '{name}' must be a list of entries, got {type(values).__name__}",
        )
    lengths = {len(values) for values in picked.values()}
    require(len(lengths) == 1, f"{where} has columns of different lengths: {few(sorted(lengths))}")
    frame = as_polars(picked)
    frame.columns = list(columns)  # a name may be empty, which polars replaces
    return frame


def unseen_notes(encoder: TableEncoder, frame: "polars.DataFrame") -> list[str]:
    """For each column of categories with entries that the training rows did not have, how many and the first."""
    notes = []
    for step in encoder.steps:
        if not isinstance(step, CategoryStep):
            continue
        unseen = step.codes(frame[step.column]) < 0
        if unseen.any():
            row = int(unseen.argmax())
            entry = category_text(frame[step.column])[row]
            first = "missing" if entry is None else f"'{short(entry)}'"
            notes.append(
                f"column '{step.column}' has {counted(int(unseen.sum()), 'entry', 'entries')} unlike any training row "
                f"(first in row {row + 1}: {first}), which the student treats as none of the categories it knows"
            )
    return notes


def encoded_rows(encoder: TableEncoder, inputs: Any, where: str = "the table") -> np.ndarray:
    """Raw columns as the encoder's features, float32 (n, features); whatever cannot be encoded is an error."""
    frame = raw_frame(inputs, encoder.columns, where)
    check_types(frame, where)
    with np.errstate(over="ignore"):
        encoded = encoder.transform(frame, where)
    bad = ~np.isfinite(encoded)
    row, feature = np.argwhere(bad)[0].tolist() if bad.any() else (0, 0)
    require(
        not bad.any(),
        f"{where}: '{encoder.features[feature]}' is beyond the range of float32 in row {row + 1}: correct it",
    )
    return encoded


def check_types(frame: "polars.DataFrame", where: str) -> None:
    """Raise for a column of lists, structures, bytes or objects."""
    import polars as pl

    for column in frame.get_columns():
        require(
            not column.dtype.is_nested() and column.dtype not in (pl.Binary, pl.Object),
            f"{where}: column '{column.name}' has values of type {str(column.dtype).partition('(')[0]}: write them as "
            "text or numbers",
        )


def text_columns(encoder: TableEncoder) -> list[str]:
    """Columns of a CSV file to be read as they are written.

    A column of codes such as "01" and "A1" would be read as numbers from a file in which "A1" does not occur, and
    "1.234" as a fraction although the training rows say that it is 1,234. Categories that are themselves numbers, or
    true and false, were numbers in the training rows.
    """
    return [step.column for step in encoder.steps if _is_text(step)]


def _is_text(step: Step) -> bool:
    if isinstance(step, CategoryStep):
        return not all(is_number(value) or value in _TRUTH for value in step.categories)
    return isinstance(step, TextStep) or step.style not in (None, "plain")


def checked_encoder(values: Any) -> TableEncoder:
    """The encoder of a file, with every field checked; a damaged one is an error."""
    try:
        encoder = TableEncoder.from_dict(values)
        faults = [step.column for step in encoder.steps if not _is_sound(step)]
    except (AttributeError, TypeError, ValueError) as problem:
        raise InputError(f"the encoder of the table is damaged ({problem})") from None
    require(not faults, f"the encoder of the table is damaged (column {few(faults)})")
    require(
        len(encoder.steps) > 0 and len(set(encoder.columns)) == len(encoder.columns),
        "the encoder of the table is damaged (it needs columns of different names)",
    )
    return encoder


def _is_sound(step: Step) -> bool:
    if not isinstance(step.column, str):
        return False
    if isinstance(step, CategoryStep | TextStep):
        words = step.categories if isinstance(step, CategoryStep) else step.words
        flags = (step.other, step.gaps) if isinstance(step, CategoryStep) else ()
        named = isinstance(words, tuple) and all(isinstance(word, str) for word in words)
        return named and len(set(words)) == len(words) > 0 and all(isinstance(flag, bool) for flag in flags)
    styles = NUMBER_STYLES if isinstance(step, NumberStep) else DATE_STYLES
    assert isinstance(step, NumberStep | DateStep)
    finite = isinstance(step.fill, int | float) and not isinstance(step.fill, bool) and abs(step.fill) < float("inf")
    return finite and isinstance(step.gaps, bool) and (step.style is None or step.style in styles)
