"""The arguments that public functions share: which problem a caller means."""

from pathlib import Path
from typing import Any

from softlabel.data import load
from softlabel.data.problem import Problem
from softlabel.errors import require


def problem_from(X: Any, y: Any = None, *, label: str | int | None = None, seed: int = 0) -> Problem:
    """The problem that `X`, `y` and `label` mean.

    X       a `Problem`, the name of a data set, a file, a frame, a tuple (X, y), or an array
    y       one label per row of an array or a frame; or the name of the label column
    label   name of the label column of a file or a frame
    """
    X = X() if callable(X) else X  # a function that loads the problem, after the checks of other arguments
    if isinstance(X, Problem):
        require(y is None and label is None, "a Problem has its labels already: leave out `y` and `label`")
        return X
    if isinstance(X, str | Path) or (hasattr(X, "columns") and isinstance(y, str)):
        require(
            y is None or isinstance(y, str | int),
            f"`y` must be the name of the label column if `X` is a file ('{X}'), got {type(y).__name__}; or pass `X` "
            "and `y` as arrays",
        )
        require(y is None or label is None, "`y` and `label` both name the label column: leave one of them out")
        label, y = (y if label is None else label), None
        return load(X, label, seed=seed)
    if y is None:
        return load(X, label, seed=seed)
    require(label is None, "`label` names the column of a file or a frame: leave it out where `y` is an array")
    return load((X, y), seed=seed)
