"""A teacher in an ONNX file, asked through onnxruntime: `OnnxTeacher` for images, `ask_onnx` for rows of a problem."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.data.class_names import match_names, plain_name, rule_of
from softlabel.data.pictures import channels_first
from softlabel.data.problem import Problem
from softlabel.errors import InputError, few, quoted, require
from softlabel.teachers.agreement import learning_rows, refuse_swapped
from softlabel.teachers.answers import (
    KINDS,
    TeacherAnswers,
    call_milliseconds,
    check_columns,
    class_order,
    finite_table,
    read_answers,
    row_numbers,
)
from softlabel.teachers.onnx_session import FLOATS, TYPES, OnnxSession, as_table


class OnnxTeacher:
    """Logits of a model in an ONNX file for images (n, channels, height, width).

    output      name of the output to take; by default the first table of numbers with a column for every class
    scale       what pixels in [0, 1] are multiplied by for it
    kind        "logits" or "probabilities" (which become their logarithms); by default `decide` tells them apart
    A single column stands for class 1 of two: its log-odds, or its probability.
    """

    def __init__(
        self, path: str | Path, classes: int, output: str | None = None, scale: float = 1.0, kind: str | None = None
    ) -> None:
        self.model = OnnxSession(path, output, f"teacher '{path}'")
        require(kind is None or kind in KINDS, f"an ONNX teacher answers with logits or probabilities, not '{kind}'")
        self.path, self.classes, self.scale, self.kind = Path(path), classes, scale, kind
        given = self.model.inputs
        require(len(given) == 1, f"teacher '{path}' takes {len(given)} inputs; one is needed")
        self.given = given[0]
        require(self.given.type in FLOATS, f"teacher '{path}' takes {self.given.type}; float or double is needed")

    @property
    def parameters(self) -> int:
        """Numbers in the model."""
        return self.model.parameters

    def decide(self, pixels: Tensor) -> str:
        """Tell probabilities from logits by all these answers: none negative, and rows adding up to 1."""
        if self.kind is None:
            table = self.columns(pixels)
            sums = table.sum(1) if table.shape[1] > 1 else np.ones(len(table))
            self.kind = KINDS[bool(table.min() >= 0 and table.max() <= 1 and np.abs(sums - 1).max() < 1e-3)]
        return self.kind

    def __call__(self, pixels: Tensor) -> Tensor:
        """Logits (n, classes); what kind of answers these are must be known or is decided by these."""
        kind = self.decide(pixels)
        table = self.columns(pixels)
        if table.shape[1] == 1:
            table = np.concatenate([1 - table if kind == "probabilities" else np.zeros_like(table), table], axis=1)
        return torch.from_numpy(np.log(np.maximum(table, 1e-12)) if kind == "probabilities" else table)

    def columns(self, pixels: Tensor) -> np.ndarray:
        """The model's answers as they are, (n, classes) or (n, 1)."""
        held = pixels.detach().cpu().float().numpy() * np.float32(self.scale)
        prepared = as_images(held, self.given.shape)
        if prepared is None:
            raise InputError(
                f"teacher '{self.path}' takes inputs of shape {tuple(self.given.shape)}, images are "
                f"{tuple(pixels.shape[1:])} (channels, height, width)"
            )
        answers = self.model.ask({self.given.name: prepared.astype(FLOATS[self.given.type])}, self.model.chosen)
        tables = [table for answer in answers if (table := as_table(answer, len(held))) is not None]
        found = _choose(tables, self.classes, self.path)
        require(bool(np.isfinite(found).all()), f"teacher '{self.path}' answers with values that are not finite")
        return found.astype(np.float32)


def as_images(images: np.ndarray, shape: Sequence[Any]) -> np.ndarray | None:
    """Images (n, channels, height, width) as a model's input shape has them: channels first or last, or flat."""
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


def ask_onnx(
    problem: Problem,
    path: Path,
    *,
    transfer: np.ndarray | None = None,
    output: str | None = None,
    kind: str | None = None,
) -> TeacherAnswers:
    """Answers of a model in a file for all rows of a problem, and for unlabelled ones (u, d).

    The model takes one input of d columns (or an image), or d inputs of one column, named as the problem's columns.
    It answers with a list of {class: probability}, a table with a column for each class, or one column for two.
    """
    began = time.perf_counter()
    name = f"teacher '{path}'"
    model = OnnxSession(path, output, name)
    rows = row_numbers(problem)
    feeds = _feeds(model, problem, problem.inputs, rows)
    table, order = _columns_of(model, feeds, problem.classes, None, name, rows)
    logits, kind = read_answers(table, len(problem.classes), kind, name, rows)
    learned = learning_rows(problem)
    refuse_swapped(problem.labels[learned], logits[learned], problem.classes, name)
    taught = None
    if transfer is not None:
        where, numbers = f"{name} on unlabelled rows", np.arange(len(transfer))
        feeds = _feeds(model, problem, transfer, numbers)
        table, _ = _columns_of(model, feeds, problem.classes, order, where, numbers)
        taught, _ = read_answers(table, len(problem.classes), kind, where, numbers)
    seconds = time.perf_counter() - began
    one = {entry: column[:1] for entry, column in feeds.items()}
    return TeacherAnswers(
        logits,
        f"ONNX model {path.name}" + (f", output '{output}'" if output is not None else ""),
        kind,
        transfer=taught,
        seconds=seconds,
        milliseconds=call_milliseconds(lambda: model.ask(one, model.chosen)),
        parameters=model.parameters,
    )


def _columns_of(
    model: OnnxSession,
    feeds: dict[str, np.ndarray],
    classes: Sequence[str],
    order: list[int] | None,
    name: str,
    rows: np.ndarray,
) -> tuple[np.ndarray, list[int]]:
    """Answers (n, K), or (n, 1) for two classes, in the order of the classes, and what order they had in the model."""
    answers = dict(zip(model.names, model.ask(feeds, model.names), strict=True))
    chosen = [answers[output] for output in model.chosen if answers[output] is not None]
    named = next((answer for answer in chosen if isinstance(answer, list)), None)
    if named is not None:
        keys = list(named[0])
        order = class_order(keys, classes, name)
        return np.array([[row[keys[place]] for place in order] for row in named], dtype=np.float64), order
    tables = [table for answer in chosen if (table := as_table(answer, len(rows))) is not None]
    single = [table for table in tables if table.shape[1] == 1]
    require(
        len(classes) != 2 or len(single) < 2 or any(table.shape[1] == 2 for table in tables),
        f"{name} answers with {len(single)} single columns: choose one with output, of {', '.join(model.chosen)}",
    )
    table = finite_table(_choose(tables, len(classes), model.path), len(classes), name, rows)
    if table.shape[1] == 1:
        return table, [0]
    own = model.told("classes")
    if order is None and own is not None:
        order = class_order(own, classes, name)
    if order is None:
        said = next((one for one in answers.values() if isinstance(one, np.ndarray) and one.dtype.kind != "f"), None)
        order = list(range(len(classes))) if said is None else _order_said(table, said, classes, name)
    return table[:, order], order


def _order_said(table: np.ndarray, said: np.ndarray, classes: Sequence[str], name: str) -> list[int]:
    """The order of a table's columns, as far as the model's own decisions (n,) tell which class each column is.

    Decisions that number the classes (0, 1, …), or the sides of a rule, count in the classes' order; other names than
    the classes' are an error.
    """
    largest, meant = table.argmax(axis=1), {}
    for column in np.unique(largest).tolist() if said.shape == (len(table), 1) else []:
        spellings, counts = np.unique(said[largest == column, 0].astype(str), return_counts=True)
        if counts.max() > 0.9 * counts.sum():
            meant[column] = str(spellings[counts.argmax()])
    places = {column: _place(text, classes) for column, text in meant.items()}
    strange = [text for column, text in meant.items() if places[column] is None]
    numbered = {str(place) for place in range(len(classes))} | (
        {"-1", "1", "false", "true"} if rule_of(classes) else set()
    )
    require(
        not strange or {plain_name(text) for text in meant.values()} <= numbered,
        f"{name} is for other classes: it decides for {quoted(strange)}, the data have {quoted(classes)}; train it on "
        "the same classes",
    )
    if strange or all(column == place for column, place in places.items()):
        return list(range(len(classes)))
    found = match_names([meant.get(column, "") for column in range(len(classes))], classes)
    if found is None:
        raise InputError(
            f"{name}: by its decisions its columns are not in the order of the classes ({quoted(classes)}), and what "
            "order they have remains open; export it with class names (ZipMap)"
        )
    return found


def _place(text: str, classes: Sequence[str]) -> int | None:
    return next((place for place, known in enumerate(classes) if match_names([text], [known])), None)


def _feeds(model: OnnxSession, problem: Problem, inputs: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Inputs (n, d) as the model takes them, by name."""
    given, width, name = model.inputs, problem.inputs.shape[1], f"teacher '{model.path}'"
    names = [entry.name for entry in given]
    if len(given) > 1:
        require(
            problem.columns is not None, f"{name} takes columns by name ({quoted(names)}), the data's have no names"
        )
        places = _columns(names, problem.columns or (), name)
        tables = [inputs[:, place : place + 1] for place in places]
    else:
        shape, image = given[0].shape, problem.image_shape
        places, tables = [0], [inputs]
        if len(shape) == 4 and image is not None:
            images = channels_first(inputs.reshape(len(inputs), *image), f"images of '{problem.name}'")
            prepared = as_images(images, shape)
            if prepared is None:
                raise InputError(f"{name} takes inputs of shape {tuple(shape)}, images are {images.shape[1:]}")
            tables = [prepared]
        else:
            require(len(shape) in (0, 2), f"{name} takes inputs of shape {tuple(shape)}, the data are a table")
            columns = shape[1] if shape and isinstance(shape[1], int) else width
            require(columns == width, f"{name} takes {columns} columns, the data have {width}")
            own = model.told("columns")
            if own is not None and problem.columns is not None:
                tables = [inputs[:, _columns(own, problem.columns, name)]]
    for entry, place, table in zip(given, places, tables, strict=True):
        require(entry.type in TYPES, f"{name} takes {entry.type} for '{entry.name}'; numbers are needed")
        if entry.type not in FLOATS:
            _check_whole(table, place, rows, problem.columns, name)
    return {
        entry.name: np.ascontiguousarray(table, dtype=TYPES[entry.type])
        for entry, table in zip(given, tables, strict=True)
    }


def _columns(names: Sequence[str], columns: Sequence[str], teacher: str) -> list[int]:
    """Where each input's column stands; in names of inputs other signs than letters and digits may be underscores."""
    for form in (str, _identifier):
        have = [form(column) for column in columns]
        places = {column: place for place, column in enumerate(have)}
        if sorted(map(form, names)) == sorted(have) and len(places) == len(have):
            return [places[form(name)] for name in names]
    known = {_identifier(column): column for column in columns}
    check_columns([known.get(_identifier(name), name) for name in names], columns, teacher)
    raise InputError(f"{teacher} names a column twice ({quoted(names)})")


def _identifier(name: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in name)


def _check_whole(table: np.ndarray, column: int, rows: np.ndarray, columns: Sequence[str] | None, name: str) -> None:
    """A fraction is not cut off for an input of whole numbers."""
    broken = table != np.round(table)
    if broken.any():
        row, place = np.argwhere(broken)[0].tolist()[:2]
        where = f"column '{columns[column + place]}'" if columns else f"column {column + place + 1}"
        value = table[broken][0]
        raise InputError(f"{name} takes whole numbers, {where} has {value:.6g} (row {rows[row] + 1})")


def _choose(tables: Sequence[np.ndarray], classes: int, path: Path) -> np.ndarray:
    """The first table with a column for every class; for two classes a single column does."""
    found = next((table for table in tables if table.shape[1] == classes), None)
    if found is None and classes == 2:
        found = next((table for table in tables if table.shape[1] == 1), None)
    if found is None:
        columns = [table.shape[1] for table in tables]
        said = f"{few(columns)} columns" if columns else "no table of probabilities or logits, one row for each"
        raise InputError(f"teacher '{path}' answers with {said}; the data have {classes} classes")
    return found
