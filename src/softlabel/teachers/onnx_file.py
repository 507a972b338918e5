"""Teachers in ONNX files, run by onnxruntime: `OnnxTeacher` for images, `query_onnx` for the rows of a problem."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.data.class_names import match_names
from softlabel.data.problem import Problem
from softlabel.errors import InputError, few, quoted, require
from softlabel.teachers.agreement import learning_rows, refuse_swapped
from softlabel.teachers.onnx_session import FLOATS, TYPES, OnnxSession, as_table
from softlabel.teachers.predictions import TeacherPredictions, call_milliseconds
from softlabel.teachers.reading import IMAGE_FLOOR, TeacherReading, check_kind, decide_reading, input_order


class OnnxTeacher:
    """Logits of a model in an ONNX file for images (n, channels, height, width).

    classes     names of the classes, or their number where they have no names
    output      name of the output to use; by default the first table of numbers with a column for every class
    scale       factor for pixels in [0, 1]
    kind        "logits" or "probabilities"; by default decided by `decide`, or else by the first images
    """

    def __init__(
        self,
        path: str | Path,
        classes: int | Sequence[str],
        output: str | None = None,
        scale: float = 1.0,
        kind: str | None = None,
    ) -> None:
        self.name = f"teacher '{path}'"
        self.model = OnnxSession(path, output, self.name)
        check_kind(kind)
        self.path, self.classes, self.scale, self.kind = Path(path), classes, scale, kind
        self.reading: TeacherReading | None = None
        declared = self.model.inputs
        require(len(declared) == 1, f"{self.name} takes {len(declared)} inputs; one is needed")
        self.input = declared[0]
        require(self.input.type in FLOATS, f"{self.name} takes {self.input.type}; float or double is needed")

    @property
    def parameters(self) -> int:
        """Number of parameters of the model."""
        return self.model.parameters

    def decide(self, pixels: Tensor) -> TeacherReading:
        """Decide by the predictions for all these images how predictions are read, unless that is decided already."""
        if self.reading is None:
            table, names, decisions = self._outputs(pixels)
            if names is not None and not isinstance(self.classes, int) and match_names(names, self.classes) is None:
                numbered = sorted(map(str, names)) == sorted(map(str, range(len(self.classes))))
                names = None if numbered else names  # networks without class names number their columns
            self.reading = decide_reading(
                table, classes=self.classes, column_names=names, decisions=decisions, kind=self.kind,
                floor=IMAGE_FLOOR, name=self.name,
            )  # fmt: skip
        return self.reading

    def __call__(self, pixels: Tensor) -> Tensor:
        """Logits (n, classes) float32."""
        return torch.from_numpy(self.decide(pixels).logits(self.columns(pixels))).float()

    def columns(self, pixels: Tensor) -> np.ndarray:
        """The model's predictions as they are, (n, classes) or (n, 1)."""
        return self._outputs(pixels, table_only=True)[0]

    def _outputs(
        self, pixels: Tensor, table_only: bool = False
    ) -> tuple[np.ndarray, list[Any] | None, np.ndarray | None]:
        images = pixels.detach().cpu().float().numpy() * np.float32(self.scale)
        prepared = as_images(images, self.input.shape)
        if prepared is None:
            raise InputError(
                f"{self.name} takes inputs of shape {tuple(self.input.shape)}, images are {tuple(pixels.shape[1:])} "
                "(channels, height, width)"
            )
        count = self.classes if isinstance(self.classes, int) else len(self.classes)
        feeds = {self.input.name: prepared.astype(FLOATS[self.input.type])}
        return _outputs(self.model, feeds, count, self.name, table_only)


def as_images(images: np.ndarray, shape: Sequence[Any]) -> np.ndarray | None:
    """Images (n, channels, height, width) in a model's input shape: channels first or last, or flat."""
    image = images.shape[1:]
    wanted = tuple(side if isinstance(side, int) else None for side in shape[1:])

    def fits(candidate: tuple[int, ...]) -> bool:
        return len(wanted) == len(candidate) and all(
            want in (None, have) for want, have in zip(wanted, candidate, strict=True)
        )

    if fits(image):
        return np.ascontiguousarray(images)
    if fits((*image[1:], image[0])):
        return np.ascontiguousarray(images.transpose(0, 2, 3, 1))
    return images.reshape(len(images), -1) if fits((int(np.prod(image)),)) else None


def query_onnx(
    problem: Problem,
    path: Path,
    *,
    transfer: np.ndarray | None = None,
    output: str | None = None,
    kind: str | None = None,
) -> TeacherPredictions:
    """Predictions of a model in a file for all rows of a problem, and for unlabeled ones (u, d).

    The model takes one input of d columns (or an image), or d inputs of one column, named as the problem's columns.
    It returns a list of {class: probability}, a table with a column for each class, or one column for two.
    """
    began = time.perf_counter()
    name = f"teacher '{path}'"
    model = OnnxSession(path, output, name)
    rows, count = problem.rows, len(problem.classes)
    feeds = _feeds(model, problem, problem.X, rows)
    table, names, decisions = _outputs(model, feeds, count, name)
    reading = decide_reading(
        table, classes=problem.classes, column_names=names, decisions=decisions, kind=kind, name=name, rows=rows
    )
    logits = reading.logits(table, rows)
    learned = learning_rows(problem)
    refuse_swapped(problem.y[learned], logits[learned], problem.classes, name)
    transferred = None
    if transfer is not None:
        where, places = f"{name} on unlabeled rows", np.arange(len(transfer))
        feeds = _feeds(model, problem, transfer, places)
        transferred = reading.logits(_outputs(model, feeds, count, where, table_only=True)[0], places, where)
    seconds = time.perf_counter() - began
    first = {entry: column[:1] for entry, column in feeds.items()}
    return TeacherPredictions(
        logits,
        f"ONNX model {path.name}" + (f", output '{output}'" if output is not None else ""),
        reading.kind,
        transfer=transferred,
        seconds=seconds,
        milliseconds=call_milliseconds(lambda: model.run(first, model.chosen)),
        parameters=model.parameters,
    )


def _outputs(
    model: OnnxSession, feeds: dict[str, np.ndarray], classes: int, name: str, table_only: bool = False
) -> tuple[np.ndarray, list[Any] | None, np.ndarray | None]:
    """The table of predictions (n, K), or (n, 1) for two classes, names of its columns, and decisions (n, 1).

    A list of {class: probability} comes first, then the first table with a column per class, then a single column.
    """
    rows = len(next(iter(feeds.values())))
    wanted = model.chosen if table_only else model.names
    outputs = dict(zip(wanted, model.run(feeds, wanted), strict=True))
    chosen = [outputs[name] for name in model.chosen if outputs[name] is not None]
    maps = next((output for output in chosen if isinstance(output, list)), None)
    table = None if maps is None else as_table(maps, rows)
    if maps is not None and table is not None:
        return table, sorted(maps[0]), None
    tables = [table for output in chosen if (table := as_table(output, rows)) is not None]
    single = [table for table in tables if table.shape[1] == 1]
    table = next((table for table in tables if table.shape[1] == classes), None)
    if table is None and classes == 2 and single:
        require(
            len(single) == 1,
            f"{name} returns {len(single)} single columns: choose one with `output`, of {', '.join(model.chosen)}",
        )
        table = single[0]
    if table is None:
        columns = [table.shape[1] for table in tables]
        what = f"{few(columns)} columns" if columns else "no table of probabilities or logits with one row per input"
        raise InputError(f"{name} returns {what}; the data have {classes} classes")
    decisions = next((o for o in outputs.values() if isinstance(o, np.ndarray) and o.dtype.kind != "f"), None)
    return table, model.declared("classes"), decisions


def _feeds(model: OnnxSession, problem: Problem, inputs: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Inputs (n, d) as the model takes them, by name."""
    declared, dimension, name = model.inputs, problem.X.shape[1], f"teacher '{model.path}'"
    names = [entry.name for entry in declared]
    if len(declared) > 1:
        require(
            problem.columns is not None, f"{name} takes columns by name ({quoted(names)}), the data's have no names"
        )
        places = input_order(names, problem.columns or (), name, identifiers=True)
        tables = [inputs[:, place : place + 1] for place in places]
    else:
        shape = declared[0].shape
        places, tables = [0], [inputs]
        if len(shape) == 4 and problem.has_images:
            images = problem.as_images(inputs)
            prepared = as_images(images, shape)
            if prepared is None:
                raise InputError(f"{name} takes inputs of shape {tuple(shape)}, images are {images.shape[1:]}")
            tables = [prepared]
        else:
            require(len(shape) in (0, 2), f"{name} takes inputs of shape {tuple(shape)}, the data are a table")
            columns = shape[1] if shape and isinstance(shape[1], int) else dimension
            require(columns == dimension, f"{name} takes {columns} columns, the data have {dimension}")
            own = model.declared("columns")
            if own is not None and problem.columns is not None:
                tables = [inputs[:, input_order(own, problem.columns, name, identifiers=True)]]
    for entry, place, table in zip(declared, places, tables, strict=True):
        require(entry.type in TYPES, f"{name} takes {entry.type} for '{entry.name}'; numbers are needed")
        if entry.type not in FLOATS:
            _check_integers(table, place, rows, problem.columns, name)
    return {
        entry.name: np.ascontiguousarray(table, dtype=TYPES[entry.type])
        for entry, table in zip(declared, tables, strict=True)
    }


def _check_integers(table: np.ndarray, column: int, rows: np.ndarray, columns: Sequence[str] | None, name: str) -> None:
    """Refuse fractions for an input of integers."""
    broken = table != np.round(table)
    if broken.any():
        row, place = np.argwhere(broken)[0].tolist()[:2]
        where = f"column '{columns[column + place]}'" if columns else f"column {column + place + 1}"
        value = table[broken][0]
        raise InputError(f"{name} takes integers, {where} has {value:.6g} (row {rows[row] + 1})")
