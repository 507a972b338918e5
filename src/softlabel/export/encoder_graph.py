"""The encoder of a table as ONNX nodes: one input (batch, 1) per column, by its name.

number              float32, NaN for a missing value. Integers are float32, too, and true and false are 1 and 0, so
                    that every number may be missing
date                float64, days since 1970-01-01, NaN for a missing one
category, text      strings, empty for missing ones, without spaces around them. Categories that are numbers are
                    written without a fraction if it is zero
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.encoding.encoder import (
    DECIMALS,
    WEEK,
    YEAR,
    CategoryStep,
    DateStep,
    NumberStep,
    Step,
    TableEncoder,
    TextStep,
    category_text,
    date_values,
    number_values,
)
from softlabel.data.table_files import MISSING_WORDS
from softlabel.errors import require
from softlabel.export.onnx_nodes import OPSET, Nodes

if TYPE_CHECKING:
    import polars
    from onnx import ValueInfoProto

TEXT_OPSET = 20  # splits text into words
ML_OPSET = 2
ML = "ai.onnx.ml"


def encoder_opset(encoder: TableEncoder | None) -> int:
    """The version of operators that the encoder needs."""
    text = encoder is not None and any(isinstance(step, TextStep) for step in encoder.steps)
    return TEXT_OPSET if text else OPSET


def encoder_nodes(encoder: TableEncoder | None, opset: int | None = None) -> Nodes:
    """An empty list of nodes whose names are not those of columns."""
    prefix = "" if encoder is None else "_"
    while encoder is not None and any(column.startswith(prefix) for column in encoder.columns):
        prefix += "_"
    return Nodes(opset or encoder_opset(encoder), prefix)


def input_name(step: Step) -> str:
    """Name of the input of a column, which cannot be empty."""
    return step.column or "(unnamed)"


def encoder_inputs(encoder: TableEncoder) -> "list[ValueInfoProto]":
    """The inputs of the graph."""
    from onnx import TensorProto, helper

    kinds = {NumberStep: TensorProto.FLOAT, DateStep: TensorProto.DOUBLE}
    docs = {NumberStep: "number, NaN if missing", DateStep: "days since 1970-01-01, NaN if missing"}
    return [
        helper.make_tensor_value_info(
            input_name(step), kinds.get(type(step), TensorProto.STRING), ["batch", 1],
            docs.get(type(step), "text without spaces around it, empty if missing"),
        )
        for step in encoder.steps
    ]  # fmt: skip


def encoder_feeds(encoder: TableEncoder, frame: "polars.DataFrame", where: str) -> dict[str, np.ndarray]:
    """The columns of a table as the inputs of the graph."""
    return {input_name(step): _feed(step, frame[step.column], where)[:, None] for step in encoder.steps}


def _feed(step: Step, column: "polars.Series", where: str) -> np.ndarray:
    if isinstance(step, NumberStep):
        numbers = number_values(column, step.style, where)
        with np.errstate(over="ignore"):
            feed = numbers.astype(np.float32)
        row = int(np.isinf(feed).argmax())
        require(
            not np.isinf(feed).any(),
            f"{where}: '{step.column}' is beyond the range of float32 in row {row + 1}: correct it",
        )
        return feed
    if isinstance(step, DateStep):
        return date_values(column, step.style, where)
    entries = category_text(column).fill_null("").to_list()
    return np.array([" ".join(entry.split()) for entry in entries] if isinstance(step, TextStep) else entries, object)


def encoded(nodes: Nodes, encoder: TableEncoder) -> str:
    """Add the nodes of the encoder; returns the name of the encoded table, float32 (batch, features)."""
    return nodes.add("Concat", *(_NODES[type(step)](nodes, step) for step in encoder.steps), axis=1)


def _number(nodes: Nodes, step: NumberStep) -> str:
    filled, missing = _filled(nodes, input_name(step), np.float32(step.fill))
    return _joined(nodes, [filled], missing if step.gaps else None)


def _date(nodes: Nodes, step: DateStep) -> str:
    days, missing = _filled(nodes, input_name(step), np.float64(step.fill))
    angles = [_angle(nodes, days, YEAR), _angle(nodes, nodes.add("Floor", days), WEEK)]
    waves = [_wave(nodes, angle, cosine) for angle in angles for cosine in (False, True)]
    return _joined(nodes, [_float(nodes, days), *waves], missing if step.gaps else None)


def _angle(nodes: Nodes, days: str, period: float) -> str:
    """2π times the elapsed share of the period, float64."""
    turns = nodes.add("Div", days, nodes.constant(period, np.float64))
    share = nodes.add("Sub", turns, nodes.add("Floor", turns))
    return nodes.add("Mul", nodes.constant(2 * math.pi, np.float64), share)


def _wave(nodes: Nodes, angle: str, cosine: bool) -> str:
    """Sine or cosine, float32, rounded in float64: a tree may split between neighboring numbers.

    Runtimes compute the cosine in float32 only, so it is the sine of a larger angle.
    """
    angle = nodes.add("Add", angle, nodes.constant(math.pi / 2, np.float64)) if cosine else angle
    scale = nodes.constant(10.0**DECIMALS, np.float64)
    rounded = nodes.add("Round", nodes.add("Mul", nodes.add("Sin", angle), scale))
    return _float(nodes, nodes.add("Div", rounded, scale))


def _category(nodes: Nodes, step: CategoryStep) -> str:
    rest = len(step.categories) if step.other else -1
    codes = {word: len(step.values) - 1 for word in _missing_words()} if step.gaps else {}
    codes |= {category: position for position, category in enumerate(step.categories)}
    code = nodes.add(
        "LabelEncoder", input_name(step), domain=ML, keys_strings=list(codes), values_int64s=list(codes.values()),
        default_int64=rest,
    )  # fmt: skip
    wanted = nodes.constant(np.arange(step.first, len(step.values), dtype=np.int64)[None])
    return _float(nodes, nodes.add("Equal", code, wanted))


def _text(nodes: Nodes, step: TextStep) -> str:
    """The entry itself stands beside its words, so that a batch of empty entries has a column, too."""
    flat = nodes.add("Reshape", input_name(step), nodes.constant(np.array([-1], dtype=np.int64)))
    words = nodes.add("StringSplit", flat, also=1)
    count = len(step.words)
    counted = nodes.add(
        "TfIdfVectorizer", nodes.add("Concat", input_name(step), words, axis=1), mode="TF", min_gram_length=1,
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
