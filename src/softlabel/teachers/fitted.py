"""Teachers in memory: fitted objects with predict_proba, torch and Keras models, and functions of inputs."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.data.user_frames import take_rows
from softlabel.errors import InputError, require
from softlabel.teachers.agreement import learning_rows, refuse_swapped
from softlabel.teachers.deep_models import deep_model, deep_parameters
from softlabel.teachers.fitted_inputs import inputs_for
from softlabel.teachers.predictions import TeacherPredictions, call_milliseconds
from softlabel.teachers.reading import decide_reading
from softlabel.teachers.rows import QueryRows, problem_rows
from softlabel.teachers.sizes import fitted_parameters


def query_fitted(
    problem: Problem, teacher: Any, *, transfer: QueryRows | np.ndarray | None = None, kind: str | None = None
) -> TeacherPredictions:
    """Predictions of a model or a function for all rows, and for unlabeled ones.

    kind    what a function or network returns; by default decided by all rows
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
    deep = deep_model(problem, teacher, name)
    predict: Any = deep or (teacher.predict_proba if fitted else teacher)
    as_input, notes = (lambda asked: asked.X, ()) if deep else inputs_for(problem, teacher, name)
    everything, rows = problem_rows(problem), problem.rows
    inputs = as_input(everything)
    numbers = _call(predict, inputs, name)
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
        asked = transfer if isinstance(transfer, QueryRows) else QueryRows(transfer)
        where = f"{name} on unlabeled rows"
        transferred = reading.logits(_call(predict, as_input(asked), where), asked.rows, where)
    what = "network" if deep else "function"
    return TeacherPredictions(
        logits,
        f"{owner.__name__}.predict_proba" if fitted else f"{what} {name.removeprefix('teacher ')}",
        reading.kind,
        transfer=transferred,
        seconds=time.perf_counter() - began,
        milliseconds=_milliseconds(predict, take_rows(inputs, np.arange(1))),
        parameters=fitted_parameters(teacher) if fitted else deep_parameters(teacher) if deep else None,
        notes=notes,
    )


def _call(predict: Callable, inputs: Any, name: str) -> Any:
    """What the user's function returns; its exceptions become one line."""
    try:
        return predict(inputs)
    except InputError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise InputError(f"{name} fails on the data: {type(error).__name__}: {reason}") from None


def _milliseconds(predict: Callable, row: Any) -> float | None:
    """For one row; None if the teacher cannot predict a single one."""
    try:
        return call_milliseconds(lambda: predict(row))
    except Exception:
        return None
