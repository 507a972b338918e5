"""`query_teacher`: the predictions of a teacher of any form."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.arrays import number_table
from softlabel.data.problem import Problem
from softlabel.data.table_files import read_columns
from softlabel.errors import InputError, counted, require
from softlabel.numerics.local_files import local_path, require_regular_file
from softlabel.teachers.label_files import SUFFIXES, read_labels
from softlabel.teachers.pieces import PieceStore, without_keeping
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.reading import check_kind

POSSIBLE = (
    "a teacher is 'auto' (trained here), an .onnx file, a .csv, .parquet or .npy file of soft labels, or in Python a "
    "fitted object with predict_proba or a function of inputs"
)
_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth")


@dataclass(frozen=True)
class TeacherOptions:
    """How a teacher's predictions are read.

    Parameters
    ----------
    output : str, optional
        Name of the ONNX model's output to use. Default: the first table with a column for each class.
    kind : {"logits", "probabilities"}, optional
        What the predictions are. Default: decided by all of them.
    id_column : str, optional
        Column of a file of soft labels that is matched with the problem's ids. Default: rows are matched by position.

    Examples
    --------
    >>> from softlabel.teachers.sources import TeacherOptions
    >>> TeacherOptions(kind="logits").kind
    'logits'
    """

    output: str | None = None
    kind: str | None = None
    id_column: str | None = None


def query_teacher(
    problem: Problem,
    teacher: Any,
    *,
    transfer: Any = None,
    options: TeacherOptions | None = None,
    seed: int = 0,
    pieces: PieceStore | None = None,
) -> TeacherPredictions:
    """Predictions of a teacher for every row of a problem.

    Parameters
    ----------
    problem : Problem
        The data; their training and validation labels are used to refuse predictions for other rows or classes.
    teacher : str, path, object or callable
        "auto" (a teacher is trained here), an ONNX model, a file of soft labels (.csv, .parquet, .npy), a fitted object
        with `predict_proba`, or a function from inputs to predictions (n, K), or (n,) for two classes.
    transfer : array-like of shape (u, d) or path, optional
        Unlabeled inputs with the problem's columns, which the teacher labels as well.
    options : TeacherOptions, optional
        How the teacher's predictions are read.
    seed : int, default=0
        Seed of a teacher that is trained here.
    pieces : object with a method `keep`, optional
        Stores finished parts of a training, see `softlabel.teachers.pieces`. Default: nothing is stored.

    Returns
    -------
    TeacherPredictions

    Raises
    ------
    InputError
        If there is no such teacher, or its predictions do not fit the problem.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from softlabel.data.problem import Problem
    >>> from softlabel.teachers.sources import query_teacher
    >>> X, y = load_iris(return_X_y=True)
    >>> query_teacher(Problem.from_arrays(X, y), LogisticRegression(max_iter=1000).fit(X, y))
    <TeacherPredictions: 150 rows, 3 classes, probabilities; LogisticRegression.predict_proba>
    """
    output, kind, id_column = astuple(options or TeacherOptions())
    check_kind(kind)
    unlabeled = None if transfer is None else unlabeled_inputs(transfer, problem)
    path = None
    if isinstance(teacher, str | Path) and not is_automatic(teacher):
        path = _file(local_path(teacher), str(teacher))
    is_onnx = path is not None and path.suffix.lower() == ".onnx"
    require(
        output is None or is_onnx,
        f"`output` '{output}' is for ONNX teachers only: leave it out",
    )
    if is_automatic(teacher):
        from softlabel.teachers.automatic import train_automatic_teacher

        require(kind is None, f"`kind` '{kind}' does not apply to teacher 'auto', which is trained here: leave it out")
        keep = without_keeping if pieces is None else pieces.keep
        return train_automatic_teacher(problem, transfer=unlabeled, seed=seed, keep=keep)
    if path is None:
        from softlabel.teachers.fitted import query_fitted

        _check_object(teacher)
        return query_fitted(problem, teacher, transfer=unlabeled, kind=kind)
    if is_onnx:
        from softlabel.teachers.onnx_file import query_onnx

        return query_onnx(problem, path, transfer=unlabeled, output=output, kind=kind)
    require(
        unlabeled is None,
        f"label file '{path}' cannot label the unlabeled rows: use a model as teacher, or leave them out",
    )
    return read_labels(problem, path, kind=kind, id_column=id_column)


def is_automatic(teacher: Any) -> bool:
    """Whether this is the teacher that is trained here."""
    return isinstance(teacher, str | Path) and str(teacher) == "auto"


def teacher_specification(teacher: Any, seed: int) -> dict[str, Any] | None:
    """Everything besides the problem that a teacher trained here depends on; None for other teachers."""
    if not is_automatic(teacher):
        return None
    from softlabel.teachers.automatic import specification

    return specification(seed)


def _file(path: Path, name: str) -> Path:
    """The file that a teacher's name means."""
    require(
        path.suffix.lower() not in _PICKLES,
        f"teacher '{name}' may hold code, which softlabel never loads: load it yourself and pass the object, or export "
        "it to .onnx",
    )
    if path.suffix.lower() not in (".onnx", *SUFFIXES):
        what = "is a directory" if path.is_dir() else "is not a teacher"
        raise InputError(f"teacher '{name}' {what}: {POSSIBLE}")
    require(path.exists(), f"there is no file '{name}' for a teacher: check its path")
    return require_regular_file(path, "teacher ")


def _check_object(teacher: Any) -> None:
    if hasattr(teacher, "predict_proba") or callable(teacher):
        return
    reason = "has no predict_proba" if hasattr(teacher, "predict") else "is not possible"
    raise InputError(f"teacher of type {type(teacher).__name__} {reason}: {POSSIBLE}")


def unlabeled_inputs(transfer: Any, problem: Problem) -> np.ndarray:
    """Unlabeled inputs as float32 (u, d); other columns, or numbers that are not finite, are an error."""
    if isinstance(transfer, str | Path):
        return read_unlabeled(Path(transfer), problem)
    columns, dimension = getattr(transfer, "columns", None), problem.X.shape[1]
    table = number_table(transfer, "unlabeled rows")
    require(
        table.shape[1] == dimension,
        f"unlabeled rows must have the data's {dimension} columns, they have {table.shape[1]}",
    )
    if columns is not None and problem.columns is not None:
        for own, other in zip(problem.columns, map(str, columns), strict=True):
            require(own == other, f"unlabeled rows must have the data's columns in order: '{other}' is not '{own}'")
    return table


def read_unlabeled(path: Path, problem: Problem, drop: Sequence[str] = ()) -> np.ndarray:
    """Unlabeled rows of a file that has at least the problem's columns, in the problem's order."""
    table = read_columns(path, problem.columns, drop)
    require(
        table.shape[1] == problem.X.shape[1],
        f"unlabeled rows '{path}' have {counted(table.shape[1], 'column')}, the data have {problem.X.shape[1]}",
    )
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise InputError(f"unlabeled rows '{path}': row {row + 1} has missing or infinite values; fill them in")
    return table
