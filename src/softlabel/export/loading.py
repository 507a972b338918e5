"""`load_model` reads a student or any other classifier from a file."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.data.encoding.raw import check_types, encoded_rows, has_columns, raw_frame, text_columns
from softlabel.errors import InputError, require
from softlabel.export.column_feeds import RawColumns
from softlabel.export.deep import KIND as DEEP
from softlabel.export.deep import load_student
from softlabel.export.numpy_file import read_numpy_student
from softlabel.export.onnx_model import OnnxModel
from softlabel.networks.deep.evaluation import network_logits
from softlabel.networks.softening import UNCHANGED, Softening
from softlabel.networks.student_model import FORMAT as TWO_LAYER
from softlabel.networks.student_model import StudentModel
from softlabel.networks.two_layer import FORMAT as BARE
from softlabel.numerics.local_files import local_path
from softlabel.numerics.tensor_files import opened_tensors

ENDINGS = (".safetensors", ".npz", ".onnx")


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A classifier read from a file by `load_model`.

    Attributes
    ----------
    path : Path
        The file.
    kind : str
        "two-layer student", "deep student" or "ONNX model".
    classes : tuple of str
        Names of the classes; indices if the file contains no names.
    columns : tuple of str or None
        Names of the input columns of a table, if they have names.
    raw : RawColumns or None
        How columns with types of their own (text, dates, missing values) are read, for models that take them by name.
        The inputs of such a model are polars or pandas frames or dictionaries of columns.
    shape : tuple of int
        Shape of one input: (columns,), or (channels, height, width) for images with pixels in [0, 1].
    softening : Softening
        Temperature and smoothing of the training labels of a student. `softening.note` is a warning if the outputs are
        not probabilities, otherwise None.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import softlabel as sl
    >>> network = sl.TwoLayer.initialized("symmetric", width=4, inputs=3)
    >>> student = sl.StudentModel(network, sl.Scaler("none"), ("no", "yes"))
    >>> model = sl.LoadedModel.from_student(Path("student.onnx"), student)
    >>> model.kind, model.probabilities(np.ones((1, 3)))
    ('two-layer student', array([[0.5, 0.5]]))
    """

    path: Path
    kind: str
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None
    shape: tuple[int, ...]
    function: Callable[[Any], np.ndarray]
    softening: Softening = UNCHANGED
    raw: RawColumns | None = None

    @classmethod
    def from_student(cls, path: Path, student: StudentModel) -> "LoadedModel":
        """A two-layer student; `path` is its name in messages."""
        encoder, shape, raw = student.encoder, (student.network.inputs,), None
        if encoder is not None:
            shape = (len(encoder.columns),)
            raw = RawColumns(partial(encoded_rows, encoder), tuple(text_columns(encoder)), only=True, encoder=encoder)
        return cls(
            path, "two-layer student", student.classes, student.columns, shape, student.probabilities,
            student.softening, raw,
        )  # fmt: skip

    @property
    def takes_images(self) -> bool:
        """Whether the inputs are images."""
        return len(self.shape) == 3

    def predict(self, inputs: Any) -> np.ndarray:
        """Index in `classes` of the most probable class, for each of the raw inputs, see `probabilities`."""
        return self.probabilities(inputs).argmax(axis=1)

    def probabilities(self, inputs: Any, where: str = "the table") -> np.ndarray:
        """Predict the probabilities of the classes.

        They are softened if the student was trained on softened labels, see `softening`.

        Parameters
        ----------
        inputs : array-like of shape (n, *shape), or frame
            Raw inputs, as in the training data; for a model with `raw` a polars or pandas frame or a dictionary with
            its `columns`, in any order.
        where : str
            What error messages call a frame.

        Returns
        -------
        ndarray of shape (n, K)
            Rows sum to 1.

        Raises
        ------
        InputError
            If the inputs have another shape, or the outputs are not finite.
        """
        if self.raw is not None and (self.raw.only or has_columns(inputs)):
            frame = raw_frame(inputs, self.columns or (), where)
            require(len(frame) > 0, f"{where} has no rows")
            check_types(frame, where)
            table, rows = self.raw.read(frame, where), len(frame)
        else:
            table = self._numbers(inputs)
            rows = len(table)
        outputs = self.function(table)
        bad = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
        require(
            not len(bad),
            f"'{self.path}' has no finite output for {len(bad)} of {len(outputs)} inputs (first in row "
            f"{bad[0] + 1 if len(bad) else 0}): check for missing, infinite or all-zero inputs",
        )
        require(
            outputs.shape == (rows, len(self.classes)),
            f"'{self.path}' has outputs of shape {outputs.shape} for {rows} inputs, {len(self.classes)} classes",
        )
        return outputs

    def _numbers(self, inputs: Any) -> np.ndarray:
        """An array of numbers (n, *shape)."""
        table = np.asarray(inputs)
        expected = "(n, channels, height, width)" if self.takes_images else "(n, columns)"
        require(
            table.dtype.kind in "biuf" and table.shape[1:] == self.shape and len(table) > 0,
            f"'{self.path}' takes numbers {expected} = {('n', *self.shape)}, got {table.dtype} of shape {table.shape}",
        )
        return table


def load_model(path: str | Path) -> LoadedModel:
    """Read a classifier from a file.

    Parameters
    ----------
    path : str or Path
        A student in a .safetensors file (two-layer or deep) or an exported .npz file, or any classifier in an .onnx
        file. The .py file of a NumPy predictor is rejected, because no code is run from files.

    Returns
    -------
    LoadedModel
        The classifier.

    Raises
    ------
    InputError
        If the file is missing, damaged or not a classifier.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import softlabel as sl
    >>> X, y = load_iris(return_X_y=True)
    >>> student = sl.TwoLayerClassifier(width=8).fit(X, y).model_
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     exported = sl.export_student(student, directory, "iris", X)
    ...     model = sl.load_model(exported.path("onnx"))
    >>> model.kind, model.classes, model.shape
    ('ONNX model', ('0', '1', '2'), (4,))
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """
    path = local_path(path)
    ending = path.suffix.lower()
    require(not path.is_dir(), f"'{path}' is a directory: pass a model file in it ({', '.join(ENDINGS)})")
    require(path.exists(), f"there is no model '{path}': check the path")
    if ending == ".py":
        beside = [path.with_suffix(other).name for other in ENDINGS if path.with_suffix(other).is_file()]
        remedy = f"use {' or '.join(beside)} beside it" if beside else f"use its {' or '.join(ENDINGS)} file"
        raise InputError(f"'{path}' is Python code, which is never executed: {remedy}")
    require(ending in ENDINGS, f"'{path}' is not a model: a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file is needed")
    if ending == ".onnx":
        model = OnnxModel(path)
        return LoadedModel(
            path,
            "ONNX model",
            model.classes,
            model.columns,
            model.shape,
            model.probabilities,
            model.softening,
            model.raw,
        )
    if ending == ".npz":
        return LoadedModel.from_student(path, read_numpy_student(path))
    with opened_tensors(path, "student") as file:
        form = (file.metadata() or {}).get("format")
    if form == TWO_LAYER:
        return LoadedModel.from_student(path, StudentModel.load(path))
    if form == DEEP:
        return _deep(path)
    if form == BARE:
        raise InputError(f"'{path}' contains a network without scaling and class names: save a StudentModel instead")
    raise InputError(f"'{path}' is a safetensors file, but does not contain a student")


def _deep(path: Path) -> LoadedModel:
    network, about = load_student(path)

    def probabilities(pixels: np.ndarray) -> np.ndarray:
        tensor = torch.from_numpy(np.ascontiguousarray(pixels, dtype=np.float32))
        return network_logits(network, tensor).double().softmax(1).numpy()

    classes, shape = tuple(about["classes"]), tuple(about["image"])
    return LoadedModel(path, "deep student", classes, None, shape, probabilities, Softening.from_dict(about))
