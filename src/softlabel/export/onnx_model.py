"""Any ONNX classifier of tables or images, asked for probabilities through onnxruntime.

One that softlabel wrote says its classes and columns. Of others the classes are known where their graph names them,
and are numbers otherwise; answers may be probabilities or logits, (n, K), or one column for two classes.
"""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

from softlabel.errors import InputError, require
from softlabel.networks.softening import Softening
from softlabel.teachers.onnx_session import LARGEST_BATCH, TYPES, OnnxSession, as_table

if TYPE_CHECKING:
    import onnx

ROUNDING = 1e-5
MOST_CLASSES = 100_000
_SHAPING = {"Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten"}
_PICKING = {"ArrayFeatureExtractor", "Gather"}
_LIKELY = {"Softmax", "Sigmoid", "ZipMap", "Normalizer"}
_UNBOUNDED = {"Gemm", "MatMul", "Add", "LogSoftmax"}


class OnnxModel:
    """`classes`, `columns` (None where there are no names), `shape` of one input, and `probabilities` (n, K).

    `softening` says whether these are softened; of models of others it cannot be known.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.session = path, OnnxSession(path)
        held = self.session.held
        self.given = self.session.inputs
        for one in self.given:
            require(one.type in TYPES, f"'{path}' takes {one.type} for '{one.name}': models of numbers can be asked")
        self.columns: tuple[str, ...] | None = None
        if len(self.given) > 1:
            self.columns = tuple(one.name for one in self.given)
            sides = [side for one in self.given for side in one.shape[1:]]
            require(
                set(sides) <= {1}, f"'{path}' takes {len(self.given)} inputs: one table, or one column each, is needed"
            )
        self.softening = Softening()
        self.shape = (len(self.given),) if len(self.given) > 1 else self._single_shape()
        self.output = _Output(held.model.graph, self.session.names)
        count = max(2, self._answer(np.zeros((1, *self.shape), dtype=np.float32)).shape[1])
        require(
            count <= MOST_CLASSES, f"'{path}' answers with {count:,} columns: up to {MOST_CLASSES:,} can be classes"
        )
        columns, classes = held.names("columns"), held.names("classes")
        if columns is not None:
            require(
                self.shape == (len(columns),),
                f"'{path}' names {len(columns)} columns and takes {self.shape}: export it again",
            )
            self.columns = tuple(columns)
        require(
            classes is None or len(classes) == count,
            f"'{path}' names {len(classes or ())} classes and answers with {count} columns: export it again",
        )
        named = classes or self.output.keys or _named_classes(held.model.graph, count) or range(count)
        self.classes = tuple(map(str, named))
        if held.ours:
            recorded = ("label_temperature", "label_smoothing")
            facts = {name: json.loads(held.about[name]) for name in recorded if name in held.about}
            self.softening = Softening.from_dict(facts)

    def _single_shape(self) -> tuple[int, ...]:
        require(len(self.given) == 1, f"'{self.path}' takes no input")
        declared = self.given[0].shape[1:]
        sides = [side for side in declared if isinstance(side, int) and side > 0]
        require(
            len(declared) in (1, 3) and len(sides) == len(declared),
            f"'{self.path}' takes inputs of shape {tuple(self.given[0].shape)}: (n, columns) or (n, channels, height, "
            "width) with all but n fixed is needed; export it with fixed sizes",
        )
        require(
            8 * math.prod(sides) <= LARGEST_BATCH,
            f"'{self.path}' takes inputs of {math.prod(sides):,} numbers each, which is too many",
        )
        return tuple(self._channels_first(sides))

    @property
    def _channels_last(self) -> bool:
        sides = self.given[0].shape[1:]
        return len(sides) == 3 and sides[2] in (1, 3, 4) and sides[0] not in (1, 3, 4)

    def _channels_first(self, sides: list[int]) -> list[int]:
        return [sides[2], *sides[:2]] if self._channels_last else sides

    @np.errstate(all="ignore")  # what is not finite is refused by `Model`
    def probabilities(self, inputs: np.ndarray) -> np.ndarray:
        """(n, K) for inputs (n, *shape)."""
        table = self._answer(inputs)
        single = table.shape[1] == 1
        likely = self.output.likely
        if likely is None:
            sums = 1.0 if single else table.sum(axis=1)
            likely = bool(table.min() >= -ROUNDING and table.max() <= 1 + ROUNDING and np.abs(sums - 1).max() < 1e-3)
        if single:
            p = table[:, 0] if likely else expit(table[:, 0])
            return np.stack([1 - p, p], axis=1)
        return table / table.sum(axis=1, keepdims=True) if likely else softmax(table, axis=1)

    def _answer(self, inputs: np.ndarray) -> np.ndarray:
        """The model's own table, (n, K) or (n, 1), float64."""
        answers = self.session.ask(self._feed(inputs), self.session.names)
        found = self.output.choose(answers, len(inputs))
        require(found is not None, f"'{self.path}' does not answer with a table of numbers: it is no classifier")
        assert found is not None
        return found

    def _feed(self, block: np.ndarray) -> dict[str, np.ndarray]:
        if len(self.given) > 1:
            return {one.name: self._typed(block[:, place : place + 1], one) for place, one in enumerate(self.given)}
        held = block.transpose(0, 2, 3, 1) if self._channels_last else block
        return {self.given[0].name: self._typed(held, self.given[0])}

    def _typed(self, values: np.ndarray, one: Any) -> np.ndarray:
        kind = TYPES[one.type]
        if kind in (np.int64, np.int32) and (values != np.round(values)).any():
            raise InputError(f"'{self.path}' takes whole numbers for '{one.name}', others were given: mend the inputs")
        return np.ascontiguousarray(values, dtype=kind)


class _Output:
    """Which answer holds the table, and whether it holds probabilities (None: its numbers tell)."""

    def __init__(self, graph: "onnx.GraphProto", names: list[str]) -> None:
        self.graph, self.names = graph, names
        self.place: int | None = None
        self.keys: list[Any] | None = None

    def choose(self, answers: list[Any], rows: int) -> np.ndarray | None:
        """The table among the answers; the first time it is looked for by kind, by name, then by order."""
        tables = {place: table for place, one in enumerate(answers) if (table := as_table(one, rows)) is not None}
        if self.place is None and tables:
            self.place = max(tables, key=self._rank)
            if isinstance(answers[self.place], list):
                self.keys = sorted(answers[self.place][0])
        return None if self.place is None else tables.get(self.place)

    @property
    def likely(self) -> bool | None:
        return None if self.place is None else self._kind(self.place)

    def _rank(self, place: int) -> tuple[bool, bool, bool, int]:
        name = self.names[place].lower()
        return self._kind(place) is True, "prob" in name, "logit" in name, -place

    def _kind(self, place: int) -> bool | None:
        node = _maker(self.graph, self.names[place])
        if node is None or node.op_type not in _LIKELY | _UNBOUNDED:
            return None
        return node.op_type in _LIKELY


def _maker(graph: "onnx.GraphProto", name: str) -> "onnx.NodeProto | None":
    """The node that a value comes from, apart from nodes that only shape it."""
    made_by = {output: node for node in graph.node for output in node.output}
    node = made_by.get(name)
    while node is not None and node.op_type in _SHAPING and node.input:
        node = made_by.get(node.input[0])
    return node


def _named_classes(graph: "onnx.GraphProto", count: int) -> list[Any] | None:
    """Names of so many classes: those that an output picks from, or those of the last classifier node."""
    from onnx import numpy_helper

    constants = {tensor.name: tensor for tensor in graph.initializer}
    for output in graph.output:
        node = _maker(graph, output.name)
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
