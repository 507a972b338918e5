"""A student as an ONNX graph, from raw inputs to class names and probabilities.

Inputs are scaled in float64, as in training: a column with mean 10⁶ and deviation 1 keeps all digits of its float32
inputs, which would be lost if the shift were rounded to float32 or merged into the weights.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from softlabel import __version__
from softlabel.data.encoding import TableEncoder
from softlabel.export.encoder_graph import ML, ML_OPSET, TEXT_OPSET, encoded, encoder_inputs, encoder_nodes
from softlabel.export.layers import Layers, student_layers
from softlabel.export.onnx_nodes import Nodes, Work
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.teachers.onnx_content import OURS, checksum

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

FORMAT = f"{OURS}-1"


def student_onnx(model: StudentModel, work: Work = np.float32) -> "ModelProto":
    """The model: "inputs" float32 (batch, d) → "label" strings (batch,), "probabilities" float32 (batch, K).

    A student with an encoder takes its raw columns instead, one input each, see `softlabel.export.encoder_graph`. The
    output of a student that was trained on softened labels is named "softened_probabilities". Weights are stored and
    multiplied as `work`.
    """
    from onnx import helper

    layers, nodes = student_layers(model), encoder_nodes(model.encoder)
    inputs, raw = raw_inputs(nodes, model.encoder, layers.hidden.shape[1])
    scaled = _scaled(nodes, raw, layers, work)
    z = nodes.add(
        "Gemm", scaled, nodes.constant(layers.hidden, work), nodes.constant(layers.hidden_bias, work), transB=1
    )
    active = _ACTIVATIONS[model.network.activation](nodes, z, work)
    logits = nodes.add(
        "Gemm", active, nodes.constant(layers.output, work), nodes.constant(layers.output_bias, work), transB=1
    )
    outputs = class_outputs(nodes, logits, model.classes, model.softening, model.encoder)
    imports = [helper.make_opsetid("", nodes.opset)]
    imports += [] if model.encoder is None else [helper.make_opsetid(ML, ML_OPSET)]
    built = helper.make_model(
        helper.make_graph(nodes.nodes, "student", inputs, outputs, nodes.constants),
        opset_imports=imports,
        ir_version=ir_version(nodes.opset),
        producer_name="softlabel",
        producer_version=__version__,
    )
    student = f"two-layer, {model.network.width} neurons, {model.network.activation}; {model.scaler}"
    describe(
        built, model.classes, model.columns, model.softening, student=student, fingerprint=model.fingerprint,
        **encoder_facts(model.encoder),
    )  # fmt: skip
    return built


def ir_version(opset: int) -> int:
    """The oldest version of the file format with these operators."""
    return 9 if opset >= TEXT_OPSET else 8


def raw_inputs(nodes: Nodes, encoder: TableEncoder | None, columns: int) -> "tuple[list[ValueInfoProto], str]":
    """The inputs of a graph, and the name of its table of numbers, float32 (batch, columns)."""
    from onnx import TensorProto, helper

    if encoder is None:
        return [helper.make_tensor_value_info("inputs", TensorProto.FLOAT, ["batch", columns])], "inputs"
    return encoder_inputs(encoder), encoded(nodes, encoder)


def output_names(softening: Softening, encoder: TableEncoder | None) -> list[str]:
    """Names of the outputs for the label and the probabilities, other than those of columns."""
    names = ["label", softening.output_name]
    while encoder is not None and set(names) & set(encoder.columns):
        names = [f"predicted_{name}" if name in encoder.columns else name for name in names]
    return names


def class_outputs(
    nodes: Nodes, logits: str, classes: Sequence[str], softening: Softening, encoder: TableEncoder | None,
    are_logits: bool = True,
) -> "list[ValueInfoProto]":  # fmt: skip
    """Add the outputs: the name of the class with the largest logit or probability, and the probabilities."""
    from onnx import TensorProto, helper

    label, output = output_names(softening, encoder)
    index = nodes.add("ArgMax", logits, axis=1, keepdims=0)
    nodes.add("Gather", nodes.constant(np.array(classes, dtype=object)), index, axis=0, gives=label)
    probabilities = nodes.add("Softmax", logits, axis=1) if are_logits else logits
    nodes.add("Cast", probabilities, to=TensorProto.FLOAT, gives=output)
    return [
        helper.make_tensor_value_info(label, TensorProto.STRING, ["batch"], "name of the predicted class"),
        helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", len(classes)], output_doc(softening)),
    ]


def encoder_facts(encoder: TableEncoder | None) -> dict[str, str]:
    """Metadata by which `load_model` reads tables as the encoder does."""
    return {} if encoder is None else {"encoder": json.dumps(encoder.to_dict())}


def output_doc(softening: Softening) -> str:
    """Description of an output with one column per class."""
    return f"one column per class, in the order of the metadata 'classes'; {softening.note or softening.meaning}"


def describe(
    built: "ModelProto",
    classes: Sequence[str],
    columns: Sequence[str] | None,
    softening: Softening,
    **more: str,
) -> None:
    """Add producer, classes, columns and a description of the outputs to an ONNX model."""
    from onnx import helper

    about = {
        "format": FORMAT,
        "classes": json.dumps(list(classes)),
        "columns": json.dumps(columns if columns is None else list(columns)),
        "made_by": f"softlabel {__version__}",
        "probabilities_are": softening.meaning,
        **{name: json.dumps(value) for name, value in softening.to_dict().items()},
        **more,
    }
    built.doc_string = f"A student written by softlabel. Outputs: {softening.note or softening.meaning}."
    helper.set_model_props(built, about | {"checksum": checksum(built.graph, about)})


def _scaled(nodes: Nodes, raw: str, layers: Layers, work: Work) -> str:
    from onnx import TensorProto

    kind = TensorProto.FLOAT if work is np.float32 else TensorProto.DOUBLE
    raw = nodes.add("Cast", raw, to=TensorProto.DOUBLE)
    if layers.shift is not None:
        raw = nodes.add("Sub", raw, nodes.constant(layers.shift))
    if layers.spread is not None:
        raw = nodes.add("Div", raw, nodes.constant(layers.spread))
    if layers.unit:
        raw = nodes.add("Div", raw, nodes.norm(raw))
    return nodes.add("Cast", raw, to=kind)


def _softplus(nodes: Nodes, z: str, work: Work) -> str:
    """max(z, 0) + ln(1 + e^{−|z|})."""
    small = nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", z)))
    return nodes.add("Add", nodes.add("Relu", z), nodes.add("Log", nodes.add("Add", nodes.constant(1.0, work), small)))


def _erf(nodes: Nodes, z: str, work: Work) -> str:
    """erf, which runtimes implement in float32 only."""
    from onnx import TensorProto

    if work is np.float32:
        return nodes.add("Erf", z)
    return nodes.add("Cast", nodes.add("Erf", nodes.add("Cast", z, to=TensorProto.FLOAT)), to=TensorProto.DOUBLE)


def _gelu(nodes: Nodes, z: str, work: Work) -> str:
    """z (1 + erf(z/√2))/2."""
    inner = _erf(nodes, nodes.add("Div", z, nodes.constant(np.sqrt(2), work)), work)
    return nodes.add(
        "Mul", nodes.add("Mul", z, nodes.constant(0.5, work)), nodes.add("Add", inner, nodes.constant(1.0, work))
    )


_ACTIVATIONS = {
    "relu": lambda nodes, z, work: nodes.add("Relu", z),
    "tanh": lambda nodes, z, work: nodes.add("Tanh", z),
    "softplus": _softplus,
    "erf": _erf,
    "gelu": _gelu,
}
