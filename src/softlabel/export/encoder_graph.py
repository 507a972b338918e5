"""The encoder of a table as ONNX nodes: one input per column, by its name.

Numbers are float32 (batch, 1) with NaN for missing values, dates float64 days since 1970-01-01, categories and text
strings, with an empty string for missing ones. Entries have no spaces around them.
"""

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from softlabel.data.encoding.encoder import WEEK, YEAR, CategoryStep, DateStep, NumberStep, Step, TableEncoder, TextStep
from softlabel.data.table_files import MISSING_WORDS

if TYPE_CHECKING:
    from onnx import ValueInfoProto

ML = "ai.onnx.ml"


class Nodes(Protocol):
    """What collects the nodes of a graph."""

    nodes: list[Any]

    def add(self, kind: str, *takes: str, gives: str = "", **settings: Any) -> str: ...

    def constant(self, values: np.ndarray | float, work: Any = None) -> str: ...


def encoder_inputs(encoder: TableEncoder) -> "list[ValueInfoProto]":
    """The inputs of the graph."""
    from onnx import TensorProto, helper

    kinds = {NumberStep: TensorProto.FLOAT, DateStep: TensorProto.DOUBLE}
    return [
        helper.make_tensor_value_info(step.column, kinds.get(type(step), TensorProto.STRING), ["batch", 1])
        for step in encoder.steps
    ]


def needs_text(encoder: TableEncoder) -> bool:
    """Whether the graph splits text into words, which needs operators of a later version."""
    return any(isinstance(step, TextStep) for step in encoder.steps)


def encoded(nodes: Nodes, encoder: TableEncoder) -> str:
    """Add the nodes of the encoder; returns the name of the encoded table, float32 (batch, features)."""
    return nodes.add("Concat", *(_NODES[type(step)](nodes, step) for step in encoder.steps), axis=1)


def _number(nodes: Nodes, step: NumberStep) -> str:
    filled, missing = _filled(nodes, step.column, np.float32(step.fill))
    return _joined(nodes, [filled], missing if step.gaps else None)


def _date(nodes: Nodes, step: DateStep) -> str:
    days, missing = _filled(nodes, step.column, np.float64(step.fill))
    angles = [_angle(nodes, days, YEAR), _angle(nodes, nodes.add("Floor", days), WEEK)]
    waves = [nodes.add(kind, angle) for angle in angles for kind in ("Sin", "Cos")]
    return _joined(nodes, [_float(nodes, days), *waves], missing if step.gaps else None)


def _angle(nodes: Nodes, days: str, period: float) -> str:
    """2π times the elapsed share of the period, float32; full periods are removed before rounding."""
    periods = nodes.add("Div", days, nodes.constant(period, np.float64))
    share = nodes.add("Sub", periods, nodes.add("Floor", periods))
    return _float(nodes, nodes.add("Mul", share, nodes.constant(2 * math.pi, np.float64)))


def _category(nodes: Nodes, step: CategoryStep) -> str:
    rest = len(step.categories) if step.other else -1
    codes = {word: len(step.values) - 1 for word in _missing_words()} if step.gaps else {}
    codes |= {category: position for position, category in enumerate(step.categories)}
    code = nodes.add(
        "LabelEncoder", step.column, domain=ML, keys_strings=list(codes), values_int64s=list(codes.values()),
        default_int64=rest,
    )  # fmt: skip
    wanted = nodes.constant(np.arange(step.first, len(step.values), dtype=np.int64)[None])
    return _float(nodes, nodes.add("Equal", code, wanted))


def _text(nodes: Nodes, step: TextStep) -> str:
    """The entry itself stands beside its words, so that a batch of empty entries has a column, too."""
    from onnx import helper

    flat = nodes.add("Reshape", step.column, nodes.constant(np.array([-1], dtype=np.int64)))
    words = f"{step.column} words"
    node = helper.make_node("StringSplit", [flat], [words, f"{words} counted"], name=words)
    nodes.nodes.append(node)
    count = len(step.words)
    counted = nodes.add(
        "TfIdfVectorizer", nodes.add("Concat", step.column, words, axis=1), mode="TF", min_gram_length=1,
        max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=list(range(count)),
        pool_strings=list(step.words),
    )  # fmt: skip
    return nodes.add("Min", counted, nodes.constant(1.0, np.float32))


def _filled(nodes: Nodes, column: str, fill: np.floating) -> tuple[str, str]:
    missing = nodes.add("IsNaN", column)
    return nodes.add("Where", missing, nodes.constant(np.array([[fill]])), column), missing


def _joined(nodes: Nodes, parts: list[str], missing: str | None) -> str:
    parts = parts if missing is None else [*parts, _float(nodes, missing)]
    return parts[0] if len(parts) == 1 else nodes.add("Concat", *parts, axis=1)


def _float(nodes: Nodes, value: str) -> str:
    from onnx import TensorProto

    return nodes.add("Cast", value, to=TensorProto.FLOAT)


def _missing_words() -> list[str]:
    return sorted({form for word in MISSING_WORDS for form in (word, word.upper(), word.capitalize())})


_NODES: dict[type[Step], Any] = {
    NumberStep: _number, CategoryStep: _category, DateStep: _date, TextStep: _text,
}  # fmt: skip
