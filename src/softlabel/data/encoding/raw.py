"""Raw columns that a user has in memory, as a polars frame, and stored encoders that are checked before use."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.encoding.encoder import CategoryStep, DateStep, NumberStep, Step, TableEncoder, TextStep
from softlabel.data.encoding.written import DATE_STYLES, NUMBER_STYLES
from softlabel.data.table_files import is_number
from softlabel.errors import InputError, few, require

if TYPE_CHECKING:
    import polars

_TRUTH = ("true", "false")


def has_columns(inputs: Any) -> bool:
    """Whether the inputs have columns with names: a frame, a dictionary of columns, or a list of dictionaries."""
    rows = isinstance(inputs, list | tuple) and len(inputs) > 0 and all(isinstance(row, Mapping) for row in inputs)
    return rows or hasattr(inputs, "columns") or isinstance(inputs, Mapping)


def raw_frame(inputs: Any, columns: Sequence[str], where: str = "the table") -> "polars.DataFrame":
    """These columns, in this order, of a polars or pandas frame, a dictionary of columns, or a list of dictionaries.

    where   what messages call the inputs
    """
    import polars as pl

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
    series = [_series(name, inputs[keys[name]], where) for name in columns]
    lengths = {len(one) for one in series}
    require(len(lengths) == 1, f"{where} has columns of different lengths: {few(sorted(lengths))}")
    return pl.DataFrame(dict(zip(columns, series, strict=True)))  # by name, which may be empty


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


def _series(name: str, values: Any, where: str) -> "polars.Series":
    """One column; entries of several types become text."""
    import polars as pl

    if isinstance(values, pl.Series):
        kinds = (pl.Categorical, pl.Enum)
        return (values.cast(pl.String) if values.dtype in kinds else values).alias(name)
    if type(values).__module__.startswith("pandas"):
        values = _pandas_values(values)
    if isinstance(values, np.ndarray):
        require(values.ndim == 1, f"{where}: column '{name}' has {values.ndim} dimensions: it must have one")
        if values.dtype.kind in "biufUMm":
            exact = {"M": "datetime64[us]", "m": "timedelta64[us]"}.get(values.dtype.kind)
            return pl.Series(name, values if exact is None else values.astype(exact))
    elif isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InputError(f"{where}: column '{name}' must be a list of entries, got {type(values).__name__}")
    entries = [_entry(value) for value in values]
    try:
        return pl.Series(name, entries, strict=True)
    except (TypeError, ValueError, OverflowError):
        pass
    if all(isinstance(value, int | float | None) for value in entries):
        return pl.Series(name, [None if value is None else float(value) for value in entries], dtype=pl.Float64)
    return pl.Series(name, [None if value is None else _text(value) for value in entries], dtype=pl.String)


def _pandas_values(values: Any) -> Any:
    """A pandas column as an array, or as a list with None for missing entries; times are in UTC."""
    if getattr(values.dtype, "tz", None) is not None:
        values = values.dt.tz_convert(None)
    array = values.to_numpy()
    if array.dtype.kind in "biufMm":
        return array
    return [None if gap else value for value, gap in zip(values, values.isna(), strict=True)]


def _entry(value: Any) -> Any:
    """A Python value; None for a missing one."""
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(value, float | np.floating) and value != value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _text(value: Any) -> str:
    """An entry as `category_text` writes it."""
    if isinstance(value, bool):
        return _TRUTH[0] if value else _TRUTH[1]
    return str(int(value)) if isinstance(value, float) and value % 1 == 0 else str(value)


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
