"""A student as an ONNX graph, from raw inputs to class names and probabilities.

Inputs are scaled in float64, as in training: a column with mean 10⁶ and deviation 1 keeps all digits of its float32
inputs, which would be lost if the shift were rounded to float32 or merged into the weights.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel import __version__
from softlabel.export.layers import Layers, student_layers
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.teachers.onnx_content import OURS, checksum

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

FORMAT = f"{OURS}-1"
OPSET = 17
IR_VERSION = 8
Work = type[np.float32] | type[np.float64]


def student_onnx(model: StudentModel, work: Work = np.float32) -> "ModelProto":
    """The model: "inputs" float32 (batch, d) → "label" strings (batch,), "probabilities" float32 (batch, K).

    The output of a student that was trained on softened labels is named "softened_probabilities". Weights are stored
    and multiplied as `work`.
    """
    from onnx import TensorProto, helper

    nodes = _Nodes()
    layers = student_layers(model)
    scaled = _scaled(nodes, layers, work)
    z = nodes.add(
        "Gemm", scaled, nodes.constant(layers.hidden, work), nodes.constant(layers.hidden_bias, work), transB=1
    )
    active = _ACTIVATIONS[model.network.activation](nodes, z, work)
    logits = nodes.add(
        "Gemm", active, nodes.constant(layers.output, work), nodes.constant(layers.output_bias, work), transB=1
    )
    index = nodes.add("ArgMax", logits, axis=1, keepdims=0)
    nodes.add("Gather", nodes.constant(np.array(model.classes, dtype=object)), index, axis=0, gives="label")
    probabilities = nodes.add("Softmax", logits, axis=1)
    nodes.add("Cast", probabilities, to=TensorProto.FLOAT, gives=model.softening.output_name)
    columns, classes = layers.hidden.shape[1], len(model.classes)
    graph = helper.make_graph(
        nodes.nodes,
        "student",
        [helper.make_tensor_value_info("inputs", TensorProto.FLOAT, ["batch", columns])],
        [
            helper.make_tensor_value_info("label", TensorProto.STRING, ["batch"], "name of the predicted class"),
            helper.make_tensor_value_info(
                model.softening.output_name, TensorProto.FLOAT, ["batch", classes], output_doc(model.softening)
            ),
        ],
        nodes.constants,
    )
    built = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="softlabel",
        producer_version=__version__,
    )
    student = f"two-layer, {model.network.width} neurons, {model.network.activation}; {model.scaler}"
    describe(built, model.classes, model.columns, model.softening, student=student, fingerprint=model.fingerprint)
    return built


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


class _Nodes:
    """Nodes and constants in the order of their creation, named by number."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants = []

    def add(self, kind: str, *takes: str, gives: str = "", **settings: Any) -> str:
        from onnx import helper

        gives = gives or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, takes, [gives], name=gives, **settings))
        return gives

    def constant(self, values: np.ndarray | float, work: Work | None = None) -> str:
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        array = np.asarray(values) if work is None else np.asarray(values, dtype=work)
        self.constants.append(numpy_helper.from_array(array, name))
        return name


def _scaled(nodes: _Nodes, layers: Layers, work: Work) -> str:
    from onnx import TensorProto

    kind = TensorProto.FLOAT if work is np.float32 else TensorProto.DOUBLE
    raw = nodes.add("Cast", "inputs", to=TensorProto.DOUBLE)
    if layers.shift is not None:
        raw = nodes.add("Sub", raw, nodes.constant(layers.shift))
    if layers.spread is not None:
        raw = nodes.add("Div", raw, nodes.constant(layers.spread))
    if layers.unit:
        raw = nodes.add("Div", raw, nodes.add("ReduceL2", raw, axes=[1], keepdims=1))
    return nodes.add("Cast", raw, to=kind)


def _softplus(nodes: _Nodes, z: str, work: Work) -> str:
    """max(z, 0) + ln(1 + e^{−|z|})."""
    small = nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", z)))
    return nodes.add("Add", nodes.add("Relu", z), nodes.add("Log", nodes.add("Add", nodes.constant(1.0, work), small)))


def _erf(nodes: _Nodes, z: str, work: Work) -> str:
    """erf, which runtimes implement in float32 only."""
    from onnx import TensorProto

    if work is np.float32:
        return nodes.add("Erf", z)
    return nodes.add("Cast", nodes.add("Erf", nodes.add("Cast", z, to=TensorProto.FLOAT)), to=TensorProto.DOUBLE)


def _gelu(nodes: _Nodes, z: str, work: Work) -> str:
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
