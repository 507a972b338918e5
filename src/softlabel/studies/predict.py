"""`predict`: the classes and probabilities that a model predicts for the rows of a file."""

import io
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.encoding.raw import has_columns, raw_frame, unseen_notes
from softlabel.errors import InputError, counted, few, require
from softlabel.export.loading import LoadedModel, load_model
from softlabel.export.rows import ModelInputs, rows_for
from softlabel.lab.spreadsheets import csv_bytes
from softlabel.lab.writable import check_file
from softlabel.networks.deep.evaluation import calibration_error
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.numerics.files import write_bytes
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.report.result import ReportedResult

if TYPE_CHECKING:
    import polars

ENDINGS = (".csv", ".parquet", ".npy")
SHOWN = 10
BINS = 10
log = logging.getLogger("softlabel")


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(ReportedResult):
    """Result of `softlabel.predict`.

    Attributes
    ----------
    model : str
        The file of the model, or its kind.
    classes : tuple of str
        Names of the classes.
    probabilities : ndarray of shape (n, K)
        Probability of every class. If `softening.note` is not None, they are softened or sharpened.
    labels : ndarray of shape (n,) or None
        Numbers of the true classes, if the data have labels.
    ids : polars.Series or None
        Entries of the id column.
    softening : Softening
        Temperature and smoothing of the labels that the model was trained on.
    out : Path or None
        The file to which the predictions were written.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import softlabel as sl
    >>> X, y = load_iris(return_X_y=True)
    >>> student = sl.TwoLayerClassifier(width=8).fit(X, y).model_
    >>> result = sl.predict(student, X)
    >>> result.classes, result.probabilities.shape
    (('0', '1', '2'), (150, 3))
    """

    model: str
    classes: tuple[str, ...]
    probabilities: np.ndarray
    labels: np.ndarray | None
    ids: "polars.Series | None"
    softening: Softening
    out: Path | None = None

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def predicted(self) -> list[str]:
        """The name of the most probable class of every row."""
        return [self.classes[k] for k in self.probabilities.argmax(axis=1).tolist()]

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows predicted as each class."""
        numbers = np.bincount(self.probabilities.argmax(axis=1), minlength=len(self.classes))
        return dict(zip(self.classes, numbers.tolist(), strict=True))

    @property
    def _correct(self) -> np.ndarray | None:
        return None if self.labels is None else (self.probabilities.argmax(axis=1) == self.labels).astype(np.float64)

    @property
    def accuracy(self) -> float | None:
        """Share of rows that are predicted correctly; None without labels."""
        return None if self._correct is None else float(self._correct.mean())

    @property
    def log_loss(self) -> float | None:
        """−mean ln p of the true class, with p at least 2·10⁻¹⁶; None without labels."""
        if self.labels is None:
            return None
        own = self.probabilities[np.arange(len(self)), self.labels]
        return float(-np.log(np.maximum(own, np.finfo(np.float64).eps)).mean())

    @property
    def calibration_error(self) -> float | None:
        """Expected calibration error; None without labels."""
        correct = self._correct
        return None if correct is None else calibration_error(self.probabilities.max(axis=1), correct)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values, with the prediction for every row."""
        rows = [
            {"row": row, "class": name, "probabilities": values}
            for row, (name, values) in enumerate(zip(self.predicted, self.probabilities.tolist(), strict=True), 1)
        ]
        if self.ids is not None:
            for row, name in zip(rows, self.ids.to_list(), strict=True):
                row["id"] = name if isinstance(name, int | str | None) else str(name)
        return {
            "model": self.model,
            "rows": len(self),
            "classes": list(self.classes),
            "counts": self.counts,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "calibration_error": self.calibration_error,
            "probabilities_are": self.softening.meaning,
            **self.softening.to_dict(),
            "predictions": rows,
            "out": None if self.out is None else str(self.out),
        }

    @property
    def summary(self) -> list[str]:
        """The scores, in plain sentences."""
        common = max(self.counts, key=self.counts.__getitem__)
        share = self.counts[common] / len(self)
        lines = [f"{counted(len(self), 'row')}, most often predicted: {common} ({share:.1%})."]
        if self.accuracy is not None:
            outputs = f" (of outputs that are {self.softening.meaning})" if self.softening.word else ""
            lines.append(
                f"Accuracy {self.accuracy:.2%}, log loss {self.log_loss:.4f}, calibration error "
                f"{self.calibration_error:.4f}{outputs}."
            )
        return lines

    @property
    def table(self) -> Table:
        """The predictions for the first rows."""
        names = range(1, len(self) + 1) if self.ids is None else self.ids.to_list()
        lines = [
            [str(name), predicted, f"{values.max():.4f}"]
            for name, predicted, values in zip(
                names[:SHOWN], self.predicted[:SHOWN], self.probabilities[:SHOWN], strict=True
            )
        ]
        title = f"first {SHOWN} of {len(self):,} rows" if len(self) > SHOWN else "predictions"
        header = ["row" if self.ids is None else self.ids.name, "class", self.softening.word or "probability"]
        return Table(title, f"Predictions of {self.model}.", header, lines)

    @property
    def class_table(self) -> Table:
        """Number and share of rows predicted as each class."""
        lines = [[name, f"{count:,}", f"{count / len(self):.1%}"] for name, count in self.counts.items()]
        return Table("predicted classes", f"Predictions of {self.model}.", ["class", "rows", "share"], lines)

    @property
    def chart(self) -> Chart:
        """Accuracy by the largest probability of a row; without labels, how many rows have which."""
        largest, correct = self.probabilities.max(axis=1), self._correct
        bins = np.minimum((largest * BINS).astype(int), BINS - 1)
        present = np.unique(bins).tolist()
        means = [float(largest[bins == k].mean()) for k in present]
        if correct is None:
            shares = [float((bins == k).mean()) for k in present]
            series = [Series("share of rows", means, shares, role="soft")]
        else:
            series = [
                Series("accuracy", means, [float(correct[bins == k].mean()) for k in present], role="soft"),
                Series("calibrated", means, means, role="paper", dashed=True),
            ]
        output = f"{self.softening.word} probability".strip()
        panel = Panel(counted(len(self), "row"), series, f"largest {output} of a row", series[0].name)
        return Chart("predictions", f"Predictions of {self.model}", "", [panel])

    def save(self, out: str | Path) -> None:
        """Write all predictions to a .csv or .parquet file, or the probabilities alone to an .npy file."""
        import polars as pl

        out, content = Path(out), io.BytesIO()
        if out.suffix.lower() == ".npy":
            np.save(content, self.probabilities)
        else:
            names = pl.Series("row", range(1, len(self) + 1), dtype=pl.Int64) if self.ids is None else self.ids
            frame = pl.DataFrame([names, pl.Series("predicted", self.predicted, dtype=pl.String)]).hstack(
                pl.DataFrame(self.probabilities, schema=_columns(self.softening, self.classes)[1:])
            )
            content.write(csv_bytes(frame)) if out.suffix.lower() == ".csv" else frame.write_parquet(content)
        write_bytes(out, content.getvalue())


def predict(
    model: str | Path | StudentModel | LoadedModel,
    X: Any,
    *,
    label: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    out: str | Path | None = None,
) -> Predictions:
    """Predict the class of every row with a model, and the probabilities of all classes.

    Columns are matched by name if the model has column names, otherwise by position. Text, dates and missing values are
    read as in training if the model takes them. Labels are only needed for scores.

    Parameters
    ----------
    model : str, path, StudentModel or LoadedModel
        A student or any ONNX classifier: its file (.safetensors, .npz or .onnx), or the loaded model.
    X : str, path, frame or array
        A CSV, Parquet, NPZ or NPY file, the name of a data set, a polars or pandas frame or a dictionary of columns, or
        an array of raw inputs; for models of images an NPZ file with `images`, a folder of images, or an array
        (n, channels, height, width) with pixels in [0, 1].
    label : str, optional
        Label column of the file.
    id_column : str, optional
        Column of the file that identifies the rows.
    drop : sequence of str
        Columns of the file to ignore.
    out : str or path, optional
        File for all predictions: .csv or .parquet, or .npy for the probabilities alone.

    Returns
    -------
    Predictions
        Predicted classes, probabilities, and scores if there are labels.

    Raises
    ------
    InputError
        If the model or the data cannot be read, or do not match.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import softlabel as sl
    >>> X, y = load_iris(return_X_y=True)
    >>> student = sl.TwoLayerClassifier(width=8).fit(X, y).model_
    >>> result = sl.predict(student, X)
    >>> result.probabilities.shape, result.predicted[0]
    ((150, 3), '0')
    """
    out = None if out is None else Path(out)
    files = [Path(file) for file in (model, X) if isinstance(file, str | Path)]
    _check_out(out, files)
    loaded = _loaded(model)
    title = str(model) if isinstance(model, str | Path) else loaded.kind
    shape = " × ".join(map(str, loaded.shape))
    log.info("%s: %s, inputs %s, %d classes", loaded.path.name, loaded.kind, shape, len(loaded.classes))
    if loaded.softening.note is not None:
        log.info("note: %s", loaded.softening.note)
    rows = _model_inputs(loaded, X, label, id_column, drop)
    encoder = None if loaded.raw is None else loaded.raw.encoder
    unseen = unseen_notes(encoder, rows.inputs) if encoder is not None and has_columns(rows.inputs) else []
    for remark in (*rows.notes, *unseen):
        log.info("note: %s", remark)
    if out is not None:
        _check_columns(out, loaded, rows, X)
    probabilities = loaded.probabilities(rows.inputs, rows.where)
    result = Predictions(title, loaded.classes, probabilities, rows.labels, rows.ids, loaded.softening, out)
    if out is not None:
        result.save(out)
        log.info("%s written to %s", counted(len(result), "prediction"), out)
    return result


def _loaded(model: str | Path | StudentModel | LoadedModel) -> LoadedModel:
    if isinstance(model, LoadedModel):
        return model
    if not isinstance(model, StudentModel):
        return load_model(model)
    return LoadedModel.from_student(Path("student"), model)


def _model_inputs(
    model: LoadedModel, X: Any, label: str | None, id_column: str | None, drop: Sequence[str]
) -> ModelInputs:
    if isinstance(X, str | Path):
        return rows_for(model, X, label, id_column, drop)
    require(
        label is None and id_column is None and not drop,
        "`label`, `id_column` and `drop` name columns of a file: leave them out where `X` is an array",
    )
    if model.raw is not None and not has_columns(X) and model.raw.only:
        X = _numbered(model, np.asarray(X))
    if model.raw is not None and has_columns(X):
        return ModelInputs(raw_frame(X, model.columns or (), "`X`"))
    if hasattr(X, "columns") and model.columns is not None:
        missing = [name for name in model.columns if name not in list(X.columns)]
        require(not missing, f"`X` lacks columns of the model: {', '.join(missing)}")
        X = X[list(model.columns)]
    return ModelInputs(np.asarray(X))


def _numbered(model: LoadedModel, table: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of an array for a model whose columns have numbers instead of names."""
    names = model.columns or ()
    require(
        all(name.isdigit() for name in names) and table.ndim == 2 and table.shape[1] == len(names),
        f"`X` must be a polars or pandas frame or a dictionary with the columns {few(names)}, got an array of shape "
        f"{table.shape}",
    )
    return {name: table[:, k] for k, name in enumerate(names)}


def _check_out(out: Path | None, files: Sequence[Path]) -> None:
    if out is None:
        return
    require(out.suffix.lower() in ENDINGS, f"out must end in {', '.join(ENDINGS)}, got '{out}'")
    check_file(out)
    for file in files:
        require(not file.exists() or out.resolve() != file.resolve(), f"out must not overwrite '{file}', got '{out}'")


def _check_columns(out: Path, model: LoadedModel, rows: ModelInputs, X: Any) -> None:
    """Raise if the id column would have the name of a column of predictions."""
    if rows.ids is None:
        return
    if out.suffix.lower() == ".npy":
        log.info("note: an .npy file contains the probabilities alone, without ids")
    elif rows.ids.name in _columns(model.softening, model.classes):
        raise InputError(f"the id column cannot be called '{rows.ids.name}' in '{out}': rename it in '{X}'")


def _columns(softening: Softening, classes: Sequence[str]) -> list[str]:
    """Names of the columns in a file of predictions."""
    return ["predicted", *(f"{softening.column_prefix}{name}" for name in classes)]
