"""What a fitted object or a function is called with.

A teacher that learned from named columns gets a frame with them in its order, and one that learned from an array gets
an array. Any other gets what the user has: the frame or array that the problem was made from, or a frame of the file's
columns. A model that learned from encoded columns gets these.
"""

import re
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError, counted, quoted, require
from softlabel.teachers.reading import input_order
from softlabel.teachers.rows import QueryRows, has_names

if TYPE_CHECKING:
    import polars

AsInput = Callable[[QueryRows], Any]
_INVENTED = re.compile(r"(Column_|f|x)?\d+")  # names that libraries give to the columns of an array


def inputs_for(problem: Problem, teacher: Any, name: str) -> tuple[AsInput, tuple[str, ...]]:
    """A function from rows to the teacher's inputs, and remarks about it."""
    own, learned = _own_names(problem, teacher), getattr(teacher, "n_features_in_", None)
    if problem.table is not None:
        raw = _RawInputs(problem, name)
        if own is None or has_names(problem) or len(own) != problem.table.width:
            return raw.choose(own, learned), ()
        return lambda asked: _frame(raw.array(asked), own, None), (_unnamed(own),)
    return (_by_position(problem, learned, name), ()) if own is None else _by_name(problem, own, name)


def _by_position(problem: Problem, learned: int | None, name: str) -> AsInput:
    """For a teacher that knows no names of columns, and perhaps their number."""
    dimension, names = problem.X.shape[1], problem.columns
    source = problem.source if problem.source is not None else problem.X
    wide = np.shape(source)[1:] != (dimension,) and not problem.has_images  # some columns are no inputs
    require(
        learned is None or learned == dimension or (wide and (learned,) == np.shape(source)[1:]),
        f"{name} learned from {learned} columns, the data have {dimension}",
    )
    if learned is None and names is not None and hasattr(source, "columns"):
        return lambda asked: source if asked.X is problem.X else _frame(asked.X, names, source)
    if wide and learned == dimension:
        return lambda asked: asked.X
    return lambda asked: np.asarray(source) if asked.X is problem.X else asked.X


def _by_name(problem: Problem, own: list[str], name: str) -> tuple[AsInput, tuple[str, ...]]:
    """For a teacher that learned from columns with names."""
    dimension, names, source = problem.X.shape[1], problem.columns, problem.source
    require(
        len(own) == dimension or names is not None,
        f"{name} learned from {counted(len(own), 'column')}, the data have {dimension}",
    )
    if names is None:
        table = problem.X if source is None else source
        return lambda asked: _frame(np.asarray(table) if asked.X is problem.X else asked.X, own, None), (_unnamed(own),)
    order = input_order(own, names, name)

    def named(asked: QueryRows) -> Any:
        if asked.X is problem.X and hasattr(source, "columns"):
            return source if own == list(source.columns) else source[own]
        return _frame(asked.X[:, order], own, source)

    return named, ()


def _unnamed(own: Sequence[str]) -> str:
    return f"the data's columns have no names: they are taken in the order of the teacher's ({quoted(own)})"


def _own_names(problem: Problem, teacher: Any) -> list[str] | None:
    """Names of the columns that a teacher learned from; None if it knows none."""
    names = getattr(teacher, "feature_names_in_", None)
    if names is None and not callable(teacher):
        names = getattr(teacher, "feature_names_", None)  # CatBoost
    if names is None or not len(names):
        return None
    own = [str(column) for column in names]
    known = {*(problem.columns or ()), *(() if problem.table is None else problem.table.columns)}
    known = known if has_names(problem) else set()
    return None if all(_INVENTED.fullmatch(column) for column in own) and not known & {*own} else own


class _RawInputs:
    """The columns of the user's table for teachers of a problem with an encoder."""

    def __init__(self, problem: Problem, name: str) -> None:
        table, encoder = problem.table, problem.encoder
        assert table is not None
        assert encoder is not None
        self.problem, self.name, self.table, self.encoder = problem, name, table, encoder
        self.source = problem.source

    def choose(self, own: Sequence[str] | None, learned: int | None) -> AsInput:
        """The form that fits the names, or the number, of the columns that a teacher learned from."""
        raw, encoded = self.table.columns, list(self.problem.columns or ())
        if own is not None:
            if not set(own) <= self._known and sorted(own) == sorted(encoded):
                order = [encoded.index(column) for column in own]
                return lambda asked: _frame(asked.X[:, order], own, self.source)
            if not set(own) <= self._known:
                input_order(own, [column for column in raw if column in self.encoder.columns], self.name)
            return lambda asked: self._columns(asked, list(own))
        if learned is None:
            return lambda asked: self._columns(asked, None)
        numeric = [column for column in raw if self._is_number(column)]
        is_array = hasattr(self.source, "shape") and not hasattr(self.source, "columns")
        if learned == len(raw) and (is_array or len(numeric) == len(raw)):
            return self.array
        require(
            learned == len(encoded),
            f"{self.name} learned from an array of {counted(learned, 'column')}; the data have {len(raw)}, and "
            f"{len(encoded)} once they are encoded: fit it on a frame with the data's columns, or on problem.train.X",
        )
        return lambda asked: asked.X

    @property
    def _known(self) -> set[str]:
        """Columns that can be passed on as they are."""
        return {*self.table.columns, *(map(str, self.source.columns) if hasattr(self.source, "columns") else ())}

    def _is_number(self, column: str) -> bool:
        import polars as pl

        return self.table[column].dtype.is_numeric() or self.table[column].dtype == pl.Boolean

    def _columns(self, asked: QueryRows, names: list[str] | None) -> Any:
        """These columns, or all, as a frame like the user's; of the problem's own rows the user's frame itself."""
        if asked.X is self.problem.X and self.source is not None:
            if names is None or not hasattr(self.source, "columns"):
                return self.source if names is None else raw_frame(self._raw(asked).select(names), self.source)
            return self.source if names == list(self.source.columns) else self.source[names]
        table = self._raw(asked)
        names = list(table.columns if names is None else names)
        absent = [column for column in names if column not in table.columns]
        require(not absent, f"{self.name} needs {quoted(absent)}, which these rows do not have")
        return raw_frame(table.select(names), self.source)

    def array(self, asked: QueryRows) -> np.ndarray:
        """The raw columns as an array."""
        if asked.X is self.problem.X and self.source is not None:
            return np.asarray(self.source)
        return self._raw(asked).to_numpy()

    def _raw(self, asked: QueryRows) -> "polars.DataFrame":
        if asked.table is None:
            raise InputError(
                f"{self.name} takes the columns of the data as they are, but the unlabeled rows are encoded already: "
                "pass them as a frame or a file with the data's columns"
            )
        return asked.table


def raw_frame(table: "polars.DataFrame", like: Any = None) -> Any:
    """A table in the library of the user's frame; without one in pandas if it is installed, else in polars.

    In pandas, missing text is NaN, as in frames that pandas reads from a file.
    """
    if _library(like) != "pandas":
        return table
    import pandas  # pyright: ignore[reportMissingImports]
    import polars as pl

    columns: dict[str, Any] = {}
    for column in table.get_columns():
        if column.null_count() and column.dtype.is_numeric():
            column = column.cast(pl.Float64).fill_null(float("nan"))
        if column.dtype.is_numeric() or column.dtype.is_temporal() or not column.null_count():
            plain = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
            columns[column.name] = plain.to_list() if plain.dtype == pl.String else plain.to_numpy()
        else:
            entries = [np.nan if entry is None else entry for entry in column.to_list()]
            columns[column.name] = pandas.Series(entries, dtype=object if column.dtype == pl.Boolean else None)
    return pandas.DataFrame(columns)


def _library(like: Any) -> str:
    if hasattr(like, "columns"):
        return type(like).__module__.split(".")[0]
    return "pandas" if "pandas" in sys.modules or find_spec("pandas") is not None else "polars"


def _frame(table: np.ndarray, names: Sequence[str], like: Any) -> Any:
    """A frame of the user's library; without one, of pandas if it is imported already, else of polars."""
    module = _library(like) if hasattr(like, "columns") else "pandas" if "pandas" in sys.modules else "polars"
    if module == "pandas":
        import pandas  # pyright: ignore[reportMissingImports]

        return pandas.DataFrame(table, columns=list(names))
    import polars

    return polars.DataFrame(table, schema=list(names))
