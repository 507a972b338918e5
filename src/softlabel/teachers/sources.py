"""`query_teacher`: the predictions of a teacher of any form."""

from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from softlabel.data.problem import Problem
from softlabel.errors import InputError, require
from softlabel.numerics.local_files import local_path, require_regular_file
from softlabel.teachers.deep_models import is_keras
from softlabel.teachers.label_files import SUFFIXES, read_labels
from softlabel.teachers.pieces import PieceStore, without_keeping
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.reading import check_kind
from softlabel.teachers.rows import unlabeled_rows

POSSIBLE = (
    "a teacher is 'auto' (trained here), an .onnx file, a .csv, .parquet or .npy file of soft labels, or in Python a "
    "fitted object with predict_proba, a torch or Keras model, or a function of inputs"
)
_CODE = "may run code when it is loaded, so softlabel does not load it"
_FOREIGN = "is in a format of {} alone"
_PICKLE = (_CODE, "joblib.load or pickle.load", "skl2onnx.to_onnx(model, X[:1])")
_TORCH = (_CODE, "torch.load", "torch.onnx.export(module, inputs, 'teacher.onnx')")
_KERAS = (_CODE, "keras.models.load_model", "model.export('teacher.onnx', format='onnx')")
_XGBOOST = (_FOREIGN.format("XGBoost"), "XGBClassifier.load_model", "onnxmltools.convert_xgboost")
_CONVERSIONS = {  # why a file is not read, how to load it in Python, how to convert it
    ".pkl": _PICKLE, ".pickle": _PICKLE, ".joblib": _PICKLE, ".sav": _PICKLE, ".pt": _TORCH, ".pth": _TORCH,
    ".keras": _KERAS, ".h5": _KERAS, ".json": _XGBOOST, ".ubj": _XGBOOST,
    ".cbm": (
        _FOREIGN.format("CatBoost"), "CatBoostClassifier.load_model", "model.save_model('teacher.onnx', format='onnx')"
    ),
    ".txt": (
        _FOREIGN.format("LightGBM"), "lightgbm.Booster(model_file=...).predict", "onnxmltools.convert_lightgbm"
    ),
}  # fmt: skip


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
        with `predict_proba`, a torch module or Keras model of the inputs `problem.X` (of images, where the problem has
        them), or a function from inputs to predictions (n, K), or (n,) for two classes. Fitted objects and functions
        get the columns as the user has them: the frame that the problem was made from, or one like its file.
    transfer : array-like of shape (u, d), frame or path, optional
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
    unlabeled = None if transfer is None else unlabeled_rows(transfer, problem)
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
        inputs = None if unlabeled is None else unlabeled.X
        keep = without_keeping if pieces is None else pieces.keep
        return train_automatic_teacher(problem, transfer=inputs, seed=seed, keep=keep)
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
    if path.suffix.lower() in _CONVERSIONS:
        why, load, convert = _CONVERSIONS[path.suffix.lower()]
        raise InputError(
            f"teacher '{name}' {why}: load it in Python ({load}) and pass the object there, or convert it to .onnx "
            f"({convert})"
        )
    if path.suffix.lower() not in (".onnx", *SUFFIXES):
        what = "is a directory" if path.is_dir() else "is not a teacher"
        raise InputError(f"teacher '{name}' {what}: {POSSIBLE}")
    require(path.exists(), f"there is no file '{name}' for a teacher: check its path")
    return require_regular_file(path, "teacher ")


def _check_object(teacher: Any) -> None:
    if hasattr(teacher, "predict_proba") or callable(teacher) or is_keras(teacher):
        return
    kind = type(teacher).__name__
    require(
        not hasattr(teacher, "predict"),
        f"teacher of type {kind} has no predict_proba: if its predict returns probabilities, pass that function "
        f"(teacher.predict); {POSSIBLE}",
    )
    raise InputError(f"teacher of type {kind} is not possible: {POSSIBLE}")
