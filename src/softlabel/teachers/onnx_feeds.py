"""Rows as the inputs that an ONNX model declares.

A model with several inputs takes them by name: columns of the user's table as they are, or columns of numbers. A model
with one input of many columns takes a table of numbers: the raw columns in order if all of them are numbers, or else
the encoded ones. Missing numbers are passed as NaN, missing text as an empty string.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.encoding.encoder import DateStep, NumberStep, category_text, date_values
from softlabel.data.encoding.written import parse_numbers, unreadable
from softlabel.data.frames import kind_of
from softlabel.data.problem import Problem
from softlabel.errors import InputError, counted, quoted, require, short
from softlabel.teachers.onnx_runtime import DeclaredTensor
from softlabel.teachers.onnx_session import FLOATS, TYPES, OnnxSession
from softlabel.teachers.reading import identifier, input_order
from softlabel.teachers.rows import QueryRows, has_names

if TYPE_CHECKING:
    import polars

TEXT, TRUTH = "tensor(string)", "tensor(bool)"


def model_feeds(model: OnnxSession, problem: Problem, asked: QueryRows) -> tuple[dict[str, np.ndarray], list[str]]:
    """The inputs of a model by name, and remarks about what it takes."""
    return _Feeds(model, problem, asked).collect()


def as_images(images: np.ndarray, shape: Sequence[Any]) -> np.ndarray | None:
    """Images (n, channels, height, width) in a model's input shape: channels first or last, or flat."""
    image = images.shape[1:]
    wanted = tuple(side if isinstance(side, int) else None for side in shape[1:])

    def fits(candidate: tuple[int, ...]) -> bool:
        return len(wanted) == len(candidate) and all(
            want in (None, have) for want, have in zip(wanted, candidate, strict=True)
        )

    if fits(image):
        return np.ascontiguousarray(images)
    if fits((*image[1:], image[0])):
        return np.ascontiguousarray(images.transpose(0, 2, 3, 1))
    return images.reshape(len(images), -1) if fits((int(np.prod(image)),)) else None


class _Feeds:
    """One model and the rows that it predicts."""

    def __init__(self, model: OnnxSession, problem: Problem, asked: QueryRows) -> None:
        self.model, self.problem, self.asked = model, problem, asked
        self.name = f"teacher '{model.path}'"
        encoder = problem.encoder
        self.steps = {} if encoder is None else {step.column: step for step in encoder.steps}

    def collect(self) -> tuple[dict[str, np.ndarray], list[str]]:
        declared = self.model.inputs
        if len(declared) > 1 or self._is_one_column(declared[0]):
            return self._by_name(declared)
        entry = declared[0]
        if len(entry.shape) == 4 and self.problem.has_images:
            return {entry.name: self._images(entry)}, []
        require(
            len(entry.shape) in (0, 2),
            f"{self.name} takes inputs of shape {tuple(entry.shape)}, the data are a table",
        )
        return self._matrix(entry)

    def _is_one_column(self, entry: DeclaredTensor) -> bool:
        """Whether the only input is one of several columns, by its name."""
        columns = self._columns or ()
        own = {identifier(column) for column in columns}
        return len(columns) > 1 and entry.shape[1:] in ((), (1,)) and identifier(entry.name) in own

    @property
    def _columns(self) -> tuple[str, ...] | None:
        """Names of the columns that a model may take; None if they have no names."""
        if self.asked.table is None:
            return self.problem.columns
        return tuple(self.asked.table.columns) if has_names(self.problem) else None

    def _images(self, entry: DeclaredTensor) -> np.ndarray:
        images = self.problem.as_images(self.asked.X)
        prepared = as_images(images, entry.shape)
        if prepared is None:
            raise InputError(f"{self.name} takes inputs of shape {entry.shape}, images are {images.shape[1:]}")
        return self._cast(prepared, entry, ["a pixel"])

    def _by_name(self, declared: Sequence[DeclaredTensor]) -> tuple[dict[str, np.ndarray], list[str]]:
        """A column for each input."""
        import polars as pl

        names, columns = [entry.name for entry in declared], self._columns
        if columns is None:
            raise InputError(f"{self.name} takes columns by name ({quoted(names)}), the data's have no names")
        if self.steps and self.asked.table is None:
            require(
                set(names) <= set(columns),
                f"{self.name} takes the columns of the data by name ({quoted(names)}), but the unlabeled rows are "
                "encoded already: pass them as a frame or a file with the data's columns",
            )
        places = _places(names, columns, self.name)
        feeds = {}
        for entry, place in zip(declared, places, strict=True):
            table = self.asked.table
            column = pl.Series(columns[place], self.asked.X[:, place]) if table is None else table[columns[place]]
            if entry.type == TEXT:
                values = self._text(column)
            else:
                values = self._cast(self._numbers(column, entry), entry, [column.name])
            feeds[entry.name] = values if len(entry.shape) == 1 else values.reshape(-1, 1)
        unused = [column for place, column in enumerate(columns) if place not in places]
        used = [column for column in unused if column in self.steps or not self.steps]
        return feeds, [f"the teacher does not use the columns {quoted(used)}"] if used else []

    def _matrix(self, entry: DeclaredTensor) -> tuple[dict[str, np.ndarray], list[str]]:
        """One table for the only input: raw columns, or encoded ones."""
        table, dimension = self.asked.table, self.asked.X.shape[1]
        width = entry.shape[1] if entry.shape and isinstance(entry.shape[1], int) else None
        own, remarks = self.model.declared("columns"), []
        if table is None:
            require(width in (None, dimension), self._refusal(width))
            order: Any = slice(None)
            if own is not None and self.problem.columns is not None:
                order = input_order(own, self.problem.columns, self.name, identifiers=True)
            require(entry.type != TEXT, f"{self.name} takes {entry.type} for '{entry.name}'; numbers are needed")
            return {entry.name: self._cast(self.asked.X[:, order], entry, self.problem.columns)}, []
        columns = self._raw_columns(width, own, entry.type == TEXT)
        if columns is None:
            require(width in (None, dimension) and entry.type != TEXT, self._refusal(width))
            remarks.append(f"the teacher takes {counted(dimension, 'number')}: it gets the encoded columns")
            return {entry.name: self._cast(self.asked.X, entry, self.problem.columns)}, remarks
        if entry.type == TEXT:
            return {entry.name: np.stack([self._text(table[name]) for name in columns], axis=1)}, remarks
        numbers = np.stack([self._numbers(table[name], entry) for name in columns], axis=1)
        return {entry.name: self._cast(numbers, entry, columns)}, remarks

    def _raw_columns(self, width: int | None, own: Sequence[str] | None, text: bool) -> list[str] | None:
        """The raw columns that a model of this width takes in order; None if it does not take raw ones."""
        table = self.asked.table
        assert table is not None
        if own is not None and set(own) <= set(table.columns):
            return list(own)
        for columns in (table.columns, [column for column in table.columns if column in self.steps]):
            if width in (None, len(columns)) and (text or all(self._is_number(table[name]) for name in columns)):
                return list(columns)
        return None

    def _refusal(self, width: int | str | None) -> str:
        """Why a table of this width does not fit."""
        dimension, table = self.asked.X.shape[1], self.asked.table
        if table is None:
            return f"{self.name} takes {width} columns, the data have {dimension}"
        text = [column.name for column in table.get_columns() if not self._is_number(column)]
        words = f", of which {quoted(text, 3)} are not numbers" if text else ""
        return (
            f"{self.name} takes one table of {width} columns; the data have {table.width}{words}, and {dimension} "
            "once they are encoded: export the teacher with one input per column, named after the columns, or drop "
            "the columns that it does not know"
        )

    def _is_number(self, column: "polars.Series") -> bool:
        import polars as pl

        return column.dtype.is_numeric() or column.dtype == pl.Boolean or isinstance(self._step(column), NumberStep)

    def _step(self, column: "polars.Series") -> Any:
        return self.steps.get(column.name)

    def _text(self, column: "polars.Series") -> np.ndarray:
        """Entries as text (n,), as they are written; students exported by softlabel expect no spaces around them."""
        import polars as pl

        own = self.model.file.ours or column.dtype != pl.String
        text = category_text(column) if own else column
        return text.fill_null("").to_numpy().astype(object)

    def _numbers(self, column: "polars.Series", entry: DeclaredTensor) -> np.ndarray:
        """Numbers of a column, float64 (n,), NaN where they are missing."""
        import polars as pl

        step = self._step(column)
        if self.model.file.ours and isinstance(step, DateStep):
            return date_values(column, step.style, self.name)
        if column.dtype == pl.String:
            style = step.style if isinstance(step, NumberStep) else None
            values = parse_numbers(column, style or "plain")
            row = unreadable(column, values)
            if row is not None:
                raise InputError(
                    f"{self.name} takes numbers in column '{column.name}', row {self.asked.rows[row] + 1} has "
                    f"'{short(column[row])}': export it with text for this column, or correct the entry"
                )
        else:
            require(
                column.dtype.is_numeric() or column.dtype == pl.Boolean,
                f"{self.name} takes {entry.type} in column '{column.name}', which has values of type "
                f"{kind_of(column)}: make the column numbers for both, or leave it out of both",
            )
            values = column.cast(pl.Float64)
        return values.fill_null(float("nan")).to_numpy().astype(np.float64)

    def _cast(self, numbers: np.ndarray, entry: DeclaredTensor, columns: Sequence[str] | None) -> np.ndarray:
        """Numbers (n, …) in the model's own type, if they are of this type."""
        kinds = TYPES | {TRUTH: np.bool_}
        require(entry.type in kinds, f"{self.name} takes {entry.type} for '{entry.name}'; numbers are needed")
        if entry.type not in FLOATS:
            what, fits = "integers", lambda table: table == np.round(table)
            if entry.type == TRUTH:
                what, fits = "true or false (1 or 0)", lambda table: (table == 0) | (table == 1)
            self._check(numbers, fits, what, columns)
        return np.ascontiguousarray(numbers, dtype=kinds[entry.type])

    def _check(
        self, numbers: np.ndarray, fits: Callable[[np.ndarray], np.ndarray], what: str, columns: Sequence[str] | None
    ) -> None:
        """Refuse fractions and missing values for an input of integers or truth values."""
        broken = ~fits(numbers)
        if not broken.any():
            return
        place = np.argwhere(broken)[0].tolist()
        position = place[1] if len(place) > 1 else 0
        where = f"column '{columns[min(position, len(columns) - 1)]}'" if columns else f"column {position + 1}"
        row, value = self.asked.rows[place[0]] + 1, numbers[broken][0]
        require(
            not np.isnan(value),
            f"{self.name} takes {what}, {where} is missing in row {row}: fill it in, or export the teacher for floats",
        )
        raise InputError(f"{self.name} takes {what}, {where} has {value:.6g} (row {row})")


def _places(own: Sequence[str], columns: Sequence[str], name: str) -> list[int]:
    """Where each input of a model is among the columns; the model may leave columns out."""
    for form in (str, identifier):
        places = {form(column): place for place, column in enumerate(columns)}
        if len(places) == len(columns) and len(set(map(form, own))) == len(own) and set(map(form, own)) <= set(places):
            return [places[form(column)] for column in own]
    return input_order(own, columns, name, identifiers=True)
