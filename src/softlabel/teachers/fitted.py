"""Teachers in memory: fitted objects with predict_proba, and functions from inputs to answers.

Each is asked with the user's own frame or array where the problem has it. Columns of inputs are put in the order of the
teacher's names, columns of answers in the order of the problem's classes.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError, quoted, require
from softlabel.teachers.agreement import learning_rows, refuse_swapped
from softlabel.teachers.answers import (
    TeacherAnswers,
    call_milliseconds,
    check_columns,
    check_probabilities,
    class_order,
    finite_table,
    floored,
    read_answers,
    row_numbers,
)
from softlabel.teachers.sizes import fitted_parameters


def ask_fitted(
    problem: Problem, teacher: Any, *, transfer: np.ndarray | None = None, kind: str | None = None
) -> TeacherAnswers:
    """Answers of an object with predict_proba, or of a function, for all rows and unlabelled ones (u, d).

    kind    what a function's answers are; by default they are told apart by all rows
    """
    began = time.perf_counter()
    called = teacher if isinstance(teacher, type) else type(teacher)
    name = f"teacher {getattr(teacher, '__name__', called.__name__)}"
    require(not isinstance(teacher, type), f"{name} is a class, not a fitted object: fit one and pass that")
    fitted = hasattr(teacher, "predict_proba")
    require(
        not (fitted and kind == "logits"),
        f"{name} has predict_proba, which gives probabilities: leave out kind 'logits'",
    )
    shown, notes = _shown(problem, teacher, name)
    answer = teacher.predict_proba if fitted else teacher
    logits, kind = _ask(problem, teacher, answer, shown(None), row_numbers(problem), kind, name)
    learned = learning_rows(problem)
    refuse_swapped(problem.labels[learned], logits[learned], problem.classes, name)
    taught = None
    if transfer is not None:
        where = f"{name} on unlabelled rows"
        taught, _ = _ask(problem, teacher, answer, shown(transfer), np.arange(len(transfer)), kind, where)
    return TeacherAnswers(
        logits,
        f"{called.__name__}.predict_proba" if fitted else f"function {name.removeprefix('teacher ')}",
        kind,
        transfer=taught,
        seconds=time.perf_counter() - began,
        milliseconds=_milliseconds(answer, shown(problem.inputs[:1])),
        parameters=fitted_parameters(teacher) if fitted else None,
        notes=notes,
    )


def _ask(
    problem: Problem, teacher: Any, answer: Callable, shown: Any, rows: np.ndarray, kind: str | None, name: str
) -> tuple[np.ndarray, str]:
    """Logits (n, K) in the order of the problem's classes, and their kind."""
    try:
        table = answer(shown)
    except Exception as problem_with_it:
        reason = (str(problem_with_it).strip().splitlines() or [""])[0]
        raise InputError(f"{name} fails on the data: {type(problem_with_it).__name__}: {reason}") from None
    count = len(problem.classes)
    if not hasattr(teacher, "predict_proba"):
        return read_answers(table, count, kind, name, rows)
    own = getattr(teacher, "classes_", None)
    order = list(range(count)) if own is None else class_order(list(own), problem.classes, name)
    table = finite_table(table, count, name, rows)
    require(table.shape[1] == count, f"{name} answers with one column, predict_proba has one for each class")
    check_probabilities(table, name, rows)
    return floored(table[:, order]), "probabilities"


def _shown(problem: Problem, teacher: Any, name: str) -> tuple[Callable[[np.ndarray | None], Any], tuple[str, ...]]:
    """How inputs are shown to the teacher (None stands for the problem's own rows), and remarks about it.

    A teacher that learned from named columns gets a frame with them in its order; one that learned from an array gets
    an array; of any other nothing is known, and it gets what the user has.
    """
    width, names, own = problem.inputs.shape[1], problem.columns, getattr(teacher, "feature_names_in_", None)
    learned = getattr(teacher, "n_features_in_", None)
    held = problem.source if problem.source is not None else problem.inputs
    if own is None:
        require(learned is None or learned == width, f"{name} learned from {learned} columns, the data have {width}")
        if learned is None and names is not None and hasattr(held, "columns"):
            return lambda table: held if table is None else _frame(table, names, held), ()
        return lambda table: np.asarray(held) if table is None else table, ()
    own = [str(column) for column in own]
    require(len(own) == width or names is not None, f"{name} learned from {len(own)} columns, the data have {width}")
    if names is None:
        remark = f"the data's columns have no names: they are taken in the order of the teacher's ({quoted(own)})"
        return lambda table: _frame(np.asarray(held) if table is None else table, own, None), (remark,)
    check_columns(own, names, name)
    places = {column: place for place, column in enumerate(names)}
    order = [places[column] for column in own]

    def show(table: np.ndarray | None) -> Any:
        if table is None and hasattr(held, "columns"):
            return held if own == list(names) else held[own]
        return _frame((problem.inputs if table is None else table)[:, order], own, held)

    return show, ()


def _frame(table: np.ndarray, names: Sequence[str], like: Any) -> Any:
    """A frame of the user's own kind; where there is none, pandas if it is in use already, else polars."""
    if hasattr(like, "columns"):
        module = type(like).__module__.split(".")[0]
    else:
        module = "pandas" if "pandas" in sys.modules else "polars"
    if module == "pandas":
        import pandas  # pyright: ignore[reportMissingImports]

        return pandas.DataFrame(table, columns=list(names))
    import polars

    return polars.DataFrame(table, schema=list(names))


def _milliseconds(answer: Callable, row: Any) -> float | None:
    """For one row; None where the teacher cannot answer a single one."""
    try:
        return call_milliseconds(lambda: answer(row))
    except Exception:
        return None
