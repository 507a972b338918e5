"""Teachers in memory: fitted objects with predict_proba, and functions from inputs to predictions.

Each is queried with the user's own frame or array where the problem has it, with columns in the order of the teacher's
feature names.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError, counted, quoted, require
from softlabel.teachers.agreement import learning_rows, refuse_swapped
from softlabel.teachers.predictions import TeacherPredictions, call_milliseconds
from softlabel.teachers.reading import decide_reading, input_order
from softlabel.teachers.sizes import fitted_parameters


def query_fitted(
    problem: Problem, teacher: Any, *, transfer: np.ndarray | None = None, kind: str | None = None
) -> TeacherPredictions:
    """Predictions of an object with predict_proba, or of a function, for all rows and for unlabeled ones (u, d).

    kind    what a function returns; by default decided by all rows
    """
    began = time.perf_counter()
    owner = teacher if isinstance(teacher, type) else type(teacher)
    name = f"teacher {getattr(teacher, '__name__', owner.__name__)}"
    require(not isinstance(teacher, type), f"{name} is a class, not a fitted object: fit one and pass that")
    fitted = hasattr(teacher, "predict_proba")
    require(
        not (fitted and kind == "logits"),
        f"{name} has predict_proba, which returns probabilities: leave out `kind` 'logits'",
    )
    as_input, notes = _inputs_for(problem, teacher, name)
    predict = teacher.predict_proba if fitted else teacher
    rows, numbers = problem.rows, _call(predict, as_input(None), name)
    reading = decide_reading(
        numbers,
        classes=problem.classes,
        column_names=getattr(teacher, "classes_", None) if fitted else None,
        kind="probabilities" if fitted else kind,
        name=name,
        rows=rows,
    )
    require(
        not fitted or len(reading.columns) > 1,
        f"{name} returns one column, but predict_proba returns one for each class",
    )
    logits = reading.logits(numbers, rows)
    learned = learning_rows(problem)
    refuse_swapped(problem.y[learned], logits[learned], problem.classes, name)
    transferred = None
    if transfer is not None:
        where = f"{name} on unlabeled rows"
        transferred = reading.logits(_call(predict, as_input(transfer), where), np.arange(len(transfer)), where)
    return TeacherPredictions(
        logits,
        f"{owner.__name__}.predict_proba" if fitted else f"function {name.removeprefix('teacher ')}",
        reading.kind,
        transfer=transferred,
        seconds=time.perf_counter() - began,
        milliseconds=_milliseconds(predict, as_input(problem.X[:1])),
        parameters=fitted_parameters(teacher) if fitted else None,
        notes=notes,
    )


def _call(predict: Callable, inputs: Any, name: str) -> Any:
    """What the user's function returns; its exceptions become one line."""
    try:
        return predict(inputs)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise InputError(f"{name} fails on the data: {type(error).__name__}: {reason}") from None


def _inputs_for(
    problem: Problem, teacher: Any, name: str
) -> tuple[Callable[[np.ndarray | None], Any], tuple[str, ...]]:
    """A function from a table (None: the problem's own rows) to the teacher's inputs, and remarks about it.

    A teacher that learned from named columns gets a frame with them in its order; one that learned from an array gets
    an array; any other gets what the user has.
    """
    dimension, names, own = problem.X.shape[1], problem.columns, getattr(teacher, "feature_names_in_", None)
    learned = getattr(teacher, "n_features_in_", None)
    source = problem.source if problem.source is not None else problem.X
    if own is None:
        require(
            learned is None or learned == dimension, f"{name} learned from {learned} columns, the data have {dimension}"
        )
        if learned is None and names is not None and hasattr(source, "columns"):
            return lambda table: source if table is None else _frame(table, names, source), ()
        return lambda table: np.asarray(source) if table is None else table, ()
    own = [str(column) for column in own]
    require(
        len(own) == dimension or names is not None,
        f"{name} learned from {counted(len(own), 'column')}, the data have {dimension}",
    )
    if names is None:
        remark = f"the data's columns have no names: they are taken in the order of the teacher's ({quoted(own)})"
        return lambda table: _frame(np.asarray(source) if table is None else table, own, None), (remark,)
    order = input_order(own, names, name)

    def named(table: np.ndarray | None) -> Any:
        if table is None and hasattr(source, "columns"):
            return source if own == list(names) else source[own]
        return _frame((problem.X if table is None else table)[:, order], own, source)

    return named, ()


def _frame(table: np.ndarray, names: Sequence[str], like: Any) -> Any:
    """A frame of the user's library; without one, of pandas if it is imported already, else of polars."""
    if hasattr(like, "columns"):
        module = type(like).__module__.split(".")[0]
    else:
        module = "pandas" if "pandas" in sys.modules else "polars"
    if module == "pandas":
        import pandas  # pyright: ignore[reportMissingImports]

        return pandas.DataFrame(table, columns=list(names))
    import polars

    return polars.DataFrame(table, schema=list(names))


def _milliseconds(predict: Callable, row: Any) -> float | None:
    """For one row; None if the teacher cannot predict a single one."""
    try:
        return call_milliseconds(lambda: predict(row))
    except Exception:
        return None
