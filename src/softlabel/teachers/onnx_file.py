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
from softlabel.teachers.onnx_feeds import as_images, model_feeds
from softlabel.teachers.onnx_session import FLOATS, OnnxSession, as_table
from softlabel.teachers.predictions import TeacherPredictions, call_milliseconds
from softlabel.teachers.reading import IMAGE_FLOOR, TeacherReading, check_kind, decide_reading
from softlabel.teachers.rows import QueryRows, problem_rows


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
            if names is not None and not isinstance(self.classes, int) and _only_numbers(names, self.classes):
                names = None
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


def query_onnx(
    problem: Problem,
    path: Path,
    *,
    transfer: QueryRows | np.ndarray | None = None,
    output: str | None = None,
    kind: str | None = None,
) -> TeacherPredictions:
    """Predictions of a model in a file for all rows of a problem, and for unlabeled ones.

    What it takes is in `onnx_feeds`. It returns a list of {class: probability}, a table with a column for each class,
    or one column for two.
    """
    began = time.perf_counter()
    name = f"teacher '{path}'"
    model = OnnxSession(path, output, name)
    rows, count = problem.rows, len(problem.classes)
    feeds, remarks = model_feeds(model, problem, problem_rows(problem))
    table, names, decisions = _outputs(model, feeds, count, name)
    if names is not None and _only_numbers(names, problem.classes):
        names = None
        remarks.append(f"the teacher numbers its classes: 0, 1, … are taken for {quoted(problem.classes)}")
    reading = decide_reading(
        table, classes=problem.classes, column_names=names, decisions=decisions, kind=kind, name=name, rows=rows
    )
    logits = reading.logits(table, rows)
    learned = learning_rows(problem)
    refuse_swapped(problem.y[learned], logits[learned], problem.classes, name)
    first = {entry: column[:1] for entry, column in feeds.items()}
    transferred = None
    if transfer is not None:
        asked = transfer if isinstance(transfer, QueryRows) else QueryRows(transfer)
        where = f"{name} on unlabeled rows"
        feeds, _ = model_feeds(model, problem, asked)
        transferred = reading.logits(_outputs(model, feeds, count, where, table_only=True)[0], asked.rows, where)
    seconds = time.perf_counter() - began
    return TeacherPredictions(
        logits,
        f"ONNX model {path.name}" + (f", output '{output}'" if output is not None else ""),
        reading.kind,
        transfer=transferred,
        seconds=seconds,
        milliseconds=call_milliseconds(lambda: model.run(first, model.chosen)),
        parameters=model.parameters,
        notes=tuple(remarks),
    )


def _only_numbers(names: Sequence[Any], classes: Sequence[str]) -> bool:
    """Whether a model numbers its classes from 0 because it does not know the names of the data's."""
    numbers = sorted(map(str, range(len(classes))))
    return match_names(names, classes) is None and sorted(map(str, names)) == numbers


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
