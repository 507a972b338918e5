"""Probabilities of any ONNX classifier of tables or images, computed with onnxruntime.

Files written by softlabel contain the names of classes and columns. The classes of other files are taken from their
graph if it contains names, and are numbers otherwise; their outputs are probabilities or logits, (n, K), or one column
for two classes.
"""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

from softlabel.data.encoding import TableEncoder
from softlabel.data.encoding.raw import checked_encoder, text_columns
from softlabel.errors import InputError, require
from softlabel.export.column_feeds import STRING, RawColumns, check_inputs, column_feed, empty_feed, shaped
from softlabel.export.encoder_graph import encoder_feeds
from softlabel.networks.softening import RECORDED, Softening
from softlabel.teachers.onnx_content import OnnxContent
from softlabel.teachers.onnx_session import LARGEST_BATCH, TYPES, OnnxSession, as_table
from softlabel.teachers.reading import probability_rows

if TYPE_CHECKING:
    import onnx
    import polars

MOST_CLASSES = 100_000
_SHAPING = {"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten"}
_PICKING = {"ArrayFeatureExtractor", "Gather"}
_PROBABILITIES = {"Softmax", "Sigmoid", "ZipMap", "Normalizer"}
_UNBOUNDED = {"Gemm", "MatMul", "Add", "LogSoftmax"}


class OnnxModel:
    """An ONNX classifier: `classes`, `columns` (None without names), `shape` of one input, and `probabilities` (n, K).

    `softening` describes the outputs of students of softlabel; it is unknown for other models.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.session = path, OnnxSession(path)
        file, self.inputs = self.session.file, self.session.inputs
        self.columns: tuple[str, ...] | None = None
        self.encoder = _stored_encoder(file)
        self.by_column = check_inputs(self.inputs, path, self.encoder is not None)
        if self.by_column:
            self.columns = tuple(one.name for one in self.inputs)
        self.shape: tuple[int, ...] = (len(self.inputs),) if self.by_column else self._single_shape()
        self.output = _Output(file.model.graph, self.session.names)
        trial: Any = np.zeros((1, *self.shape), dtype=np.float32)
        if self.by_column:
            trial = {one.name: shaped(empty_feed(one.type), one) for one in self.inputs}
        count = max(2, self._outputs(trial).shape[1])
        require(count <= MOST_CLASSES, f"'{path}' has {count:,} output columns: at most {MOST_CLASSES:,} are supported")
        columns, classes = file.names("columns"), file.names("classes")
        if columns is not None:
            require(
                self.shape == (len(columns),),
                f"'{path}' names {len(columns)} columns, but takes inputs of shape {self.shape}: export it again",
            )
            self.columns = tuple(columns)
        require(
            self.encoder is None or self.encoder.columns == self.columns,
            f"'{path}' has an encoder of other columns than its inputs: export it again",
        )
        require(
            classes is None or len(classes) == count,
            f"'{path}' names {len(classes or ())} classes, but has {count} output columns: export it again",
        )
        named = classes or self.output.keys or _named_classes(file.model.graph, count) or range(count)
        self.classes = tuple(map(str, named))
        self.softening = Softening()
        if file.ours:
            facts = {name: json.loads(file.about[name]) for name in RECORDED if name in file.about}
            self.softening = Softening.from_dict(facts)

    def _single_shape(self) -> tuple[int, ...]:
        require(len(self.inputs) == 1, f"'{self.path}' takes no input")
        declared = self.inputs[0].shape[1:]
        sides = [side for side in declared if isinstance(side, int) and side > 0]
        require(
            len(declared) in (1, 3) and len(sides) == len(declared),
            f"'{self.path}' takes inputs of shape {tuple(self.inputs[0].shape)}: (n, columns) or (n, channels, height, "
            "width) with fixed sizes except n is needed; export it with fixed sizes",
        )
        require(
            8 * math.prod(sides) <= LARGEST_BATCH,
            f"'{self.path}' takes inputs of {math.prod(sides):,} numbers each, which is too many",
        )
        return (sides[2], *sides[:2]) if self._channels_last else tuple(sides)

    @property
    def _channels_last(self) -> bool:
        sides = self.inputs[0].shape[1:]
        return len(sides) == 3 and sides[2] in (1, 3, 4) and sides[0] not in (1, 3, 4)

    @property
    def raw(self) -> RawColumns | None:
        """How the columns of a table are read; None if the model takes one table of numbers or images."""
        if not self.by_column:
            return None
        text = [name for name, one in zip(self.columns or (), self.inputs, strict=True) if one.type == STRING]
        if self.encoder is not None:
            text = text_columns(self.encoder)
        only = self.encoder is not None or any(one.type not in TYPES for one in self.inputs)
        return RawColumns(self.read, tuple(text), only, self.encoder)

    def read(self, frame: "polars.DataFrame", where: str) -> dict[str, np.ndarray]:
        """The columns of a frame as the model's inputs."""
        if self.encoder is not None:
            return encoder_feeds(self.encoder, frame, where)
        names = self.columns or ()
        pairs = zip(names, self.inputs, strict=True)
        return {one.name: shaped(column_feed(frame[name], one.type, where), one) for name, one in pairs}

    def feeds(self, rows: Any) -> dict[str, np.ndarray]:
        """The model's inputs by name, for rows (n, d) or a frame of its columns."""
        return self.read(rows, "the rows") if hasattr(rows, "columns") else self._feeds(np.asarray(rows))

    @np.errstate(all="ignore")  # outputs that are not finite are rejected by `LoadedModel`
    def probabilities(self, inputs: np.ndarray | dict[str, np.ndarray]) -> np.ndarray:
        """(n, K) for inputs (n, *shape), or inputs by name."""
        table = self._outputs(inputs)
        are_probabilities = self.output.are_probabilities(table)
        if table.shape[1] == 1:
            p = table[:, 0] if are_probabilities else expit(table[:, 0])
            return np.stack([1 - p, p], axis=1)
        return table / table.sum(axis=1, keepdims=True) if are_probabilities else softmax(table, axis=1)

    def _outputs(self, inputs: np.ndarray | dict[str, np.ndarray]) -> np.ndarray:
        """The model's outputs, (n, K) or (n, 1), in float64."""
        feeds = inputs if isinstance(inputs, dict) else self._feeds(inputs)
        rows = len(next(iter(feeds.values())))
        table = self.output.choose(self.session.run(feeds, self.session.names), rows)
        if table is None:
            raise InputError(f"'{self.path}' has no output table of numbers: it is not a classifier")
        return table

    def _feeds(self, block: np.ndarray) -> dict[str, np.ndarray]:
        if self.by_column:
            return {one.name: shaped(self._typed(block[:, k : k + 1], one), one) for k, one in enumerate(self.inputs)}
        block = block.transpose(0, 2, 3, 1) if self._channels_last else block
        return {self.inputs[0].name: self._typed(block, self.inputs[0])}

    def _typed(self, values: np.ndarray, one: Any) -> np.ndarray:
        kind = TYPES[one.type]
        if kind in (np.int64, np.int32) and (values != np.round(values)).any():
            raise InputError(f"'{self.path}' takes integers for '{one.name}', got other numbers")
        return np.ascontiguousarray(values, dtype=kind)


def _stored_encoder(file: OnnxContent) -> TableEncoder | None:
    """The encoder of a student of softlabel, if it has one."""
    if not file.ours or "encoder" not in file.about:
        return None
    try:
        return checked_encoder(json.loads(file.about["encoder"]))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{file.who} cannot be read ({problem}): export it again") from None


class _Output:
    """Which output is the table of probabilities or logits, and which of both it contains."""

    def __init__(self, graph: "onnx.GraphProto", names: list[str]) -> None:
        self.graph, self.names = graph, names
        self.index: int | None = None
        self.keys: list[Any] | None = None
        self._probabilities: bool | None = None

    def choose(self, outputs: list[Any], rows: int) -> np.ndarray | None:
        """The table among the outputs, which is chosen at the first call by kind, by name, then by order."""
        tables = {index: table for index, one in enumerate(outputs) if (table := as_table(one, rows)) is not None}
        if self.index is None and tables:
            self.index = max(tables, key=self._rank)
            self._probabilities = self._kind(self.index)
            if isinstance(outputs[self.index], list):
                self.keys = sorted(outputs[self.index][0])
        return None if self.index is None else tables.get(self.index)

    def are_probabilities(self, table: np.ndarray) -> bool:
        """Whether the table contains probabilities; decided by the graph, otherwise by the first table."""
        finite = table[np.isfinite(table).all(axis=1)]
        if self._probabilities is None and len(finite):
            self._probabilities = bool(probability_rows(finite).all())
        return self._probabilities is True

    def _rank(self, index: int) -> tuple[bool, bool, bool, int]:
        name = self.names[index].lower()
        return self._kind(index) is True, "prob" in name, "logit" in name, -index

    def _kind(self, index: int) -> bool | None:
        """Whether the graph computes probabilities (True) or logits (False); None if this is unknown."""
        node = _source_node(self.graph, self.names[index])
        if node is None or node.op_type not in _PROBABILITIES | _UNBOUNDED:
            return None
        return node.op_type in _PROBABILITIES


def _source_node(graph: "onnx.GraphProto", name: str) -> "onnx.NodeProto | None":
    """The node that computes a value, ignoring nodes that only change its shape or type."""
    made_by = {output: node for node in graph.node for output in node.output}
    node = made_by.get(name)
    while node is not None and node.op_type in _SHAPING and node.input:
        node = made_by.get(node.input[0])
    return node


def _named_classes(graph: "onnx.GraphProto", count: int) -> list[Any] | None:
    """Names of `count` classes: those that an output selects from, or those of the last classifier node."""
    from onnx import numpy_helper

    constants = {tensor.name: tensor for tensor in graph.initializer}
    for output in graph.output:
        node = _source_node(graph, output.name)
        if node is not None and node.op_type in _PICKING and node.input[0] in constants:
            names = numpy_helper.to_array(constants[node.input[0]]).ravel().tolist()
            if len(set(names)) == len(names) == count:
                return [name.decode(errors="replace") if isinstance(name, bytes) else name for name in names]
    for node in reversed(graph.node):
        for attribute in node.attribute:
            if attribute.name.startswith("classlabels_"):
                names = [name.decode(errors="replace") for name in attribute.strings] or list(attribute.ints)
                if len(set(names)) == len(names) == count:
                    return names
    return None
