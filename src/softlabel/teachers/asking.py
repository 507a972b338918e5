"""`ask_teacher`: one door to teachers, whatever they are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.problem import Problem, number_table
from softlabel.data.table_files import read_columns
from softlabel.errors import InputError, require
from softlabel.numerics.local_files import local_path, require_regular_file
from softlabel.teachers.answers import KINDS, TeacherAnswers
from softlabel.teachers.label_files import SUFFIXES, read_labels
from softlabel.teachers.pieces import Keep, without_keeping

POSSIBLE = (
    "a teacher is 'auto' (trained here), an .onnx file, a .csv, .parquet or .npy file of soft labels, or in Python a "
    "fitted object with predict_proba or a function of inputs"
)
_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth")


def ask_teacher(
    problem: Problem,
    teacher: Any,
    *,
    transfer: Any = None,
    output: str | None = None,
    kind: str | None = None,
    id_column: str | None = None,
    seed: int = 0,
    watch: Callable[[str], None] | None = None,
    keep: Keep = without_keeping,
) -> TeacherAnswers:
    """What a teacher says about every row of a problem.

    teacher     "auto", a path to an ONNX model or to a file of soft labels, a fitted object with predict_proba, or a
                function from inputs to (n, K), or (n,) for two classes
    transfer    unlabelled inputs, (u, d) as given with columns in the problem's order or a file, to be answered as well
    output      name of the ONNX model's output
    kind        "logits" or "probabilities"; by default told apart by all answers
    id_column   of a file of soft labels, to be matched with the problem's ids
    seed        of a teacher trained here; `watch` is called with a line at each stage of that, and `keep` with
                every part that is finished
    """
    require(kind is None or kind in KINDS, f"a teacher answers with logits or probabilities, not '{kind}'")
    extra = None if transfer is None else unlabelled_inputs(transfer, problem)
    path = None
    if isinstance(teacher, str | Path) and not is_automatic(teacher):
        path = _file(local_path(teacher), str(teacher))
    require(
        output is None or (path is not None and path.suffix.lower() == ".onnx"),
        f"output '{output}' is for ONNX teachers alone: leave it out",
    )
    if is_automatic(teacher):
        from softlabel.teachers.automatic import ask_automatic

        require(kind is None, f"kind '{kind}' is for teachers that are given, not for 'auto': leave it out")
        return ask_automatic(problem, transfer=extra, seed=seed, watch=watch, keep=keep)
    if path is None:
        from softlabel.teachers.fitted import ask_fitted

        _check_object(teacher)
        return ask_fitted(problem, teacher, transfer=extra, kind=kind)
    if path.suffix.lower() == ".onnx":
        from softlabel.teachers.onnx_file import ask_onnx

        return ask_onnx(problem, path, transfer=extra, output=output, kind=kind)
    require(
        extra is None,
        f"label file '{path}' cannot label the unlabelled rows: give a model as teacher, or leave them out",
    )
    return read_labels(problem, path, kind=kind, id_column=id_column)


def is_automatic(teacher: Any) -> bool:
    """Whether this is the teacher that is trained here."""
    return isinstance(teacher, str | Path) and str(teacher) == "auto"


def _file(path: Path, name: str) -> Path:
    """The file that a teacher's name means."""
    known = (".onnx", *SUFFIXES)
    require(
        path.suffix.lower() not in _PICKLES,
        f"teacher '{name}' may hold code, which softlabel never loads: load it yourself and pass the object, or export "
        "it to .onnx",
    )
    if path.suffix.lower() not in known:
        what = "is a folder" if path.is_dir() else "is no teacher"
        raise InputError(f"teacher '{name}' {what}: {POSSIBLE}")
    require(path.exists(), f"there is no file '{name}' for a teacher: check its path")
    return require_regular_file(path, "teacher ")


def _check_object(teacher: Any) -> None:
    if hasattr(teacher, "predict_proba") or callable(teacher):
        return
    lacks = " has no predict_proba" if hasattr(teacher, "predict") else ""
    raise InputError(f"teacher of type {type(teacher).__name__}{lacks or ' is not possible'}: {POSSIBLE}")


def unlabelled_inputs(transfer: Any, problem: Problem) -> np.ndarray:
    """Unlabelled inputs as float32 (u, d); other columns, or numbers that are not finite, are an error."""
    if isinstance(transfer, str | Path):
        return read_unlabelled(Path(transfer), problem)
    columns, width = getattr(transfer, "columns", None), problem.inputs.shape[1]
    table = number_table(transfer, "unlabelled rows")
    require(
        table.shape[1] == width, f"unlabelled rows must have the data's {width} columns, they have {table.shape[1]}"
    )
    if columns is not None and problem.columns is not None:
        for own, other in zip(problem.columns, map(str, columns), strict=True):
            require(own == other, f"unlabelled rows must have the data's columns in order: '{other}' is not '{own}'")
    return table


def read_unlabelled(path: Path, problem: Problem, drop: Sequence[str] = ()) -> np.ndarray:
    """Unlabelled rows of a file with (at least) the problem's columns, in the problem's order."""
    table = read_columns(path, problem.columns, drop)
    require(
        table.shape[1] == problem.inputs.shape[1],
        f"unlabelled rows '{path}' have {table.shape[1]} columns, the data have {problem.inputs.shape[1]}",
    )
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise InputError(f"unlabelled rows '{path}': row {row + 1} has missing or infinite values; fill them in")
    return table
