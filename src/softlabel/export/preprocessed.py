"""Any ONNX classifier of scaled inputs with the encoder and the scale of its data in front of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel import __version__
from softlabel.data.encoding import TableEncoder
from softlabel.data.scaling import Scaler
from softlabel.errors import InputError, require
from softlabel.export.encoder_graph import ML, ML_OPSET, TEXT_OPSET, encoder_nodes, encoder_opset
from softlabel.export.onnx_graph import class_outputs, describe, encoder_facts, ir_version, raw_inputs
from softlabel.export.onnx_nodes import Nodes
from softlabel.networks.softening import Softening
from softlabel.numerics.local_files import reason_of

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

OLDEST = 13  # version of the operators that the nodes in front need, without text


def preprocessed_onnx(
    model: "ModelProto",
    scaler: Scaler,
    encoder: TableEncoder | None,
    columns: Sequence[str] | None,
    classes: Sequence[str],
    softening: Softening,
    d: int,
    *,
    student: str = "scikit-learn classifier",
) -> "ModelProto":
    """Put the encoder and the scale of the data in front of a classifier of scaled inputs.

    Inputs and outputs are those of an exported two-layer student: "inputs" float32 (batch, d) without an encoder, one
    input per raw column with one; "label" strings (batch,) and "probabilities" float32 (batch, K). Inputs are scaled
    with the same rounding as in training, because a tree may split between neighboring float32 numbers.

    Parameters
    ----------
    model : onnx.ModelProto
        A classifier with one input, scaled float32 (n, d), and an output of probabilities (n, K); for example of
        `skl2onnx.to_onnx`. Operators of older versions than the encoder needs (20 for text) are converted.
    scaler : Scaler
        The scale of the inputs.
    encoder : TableEncoder or None
        The encoder of the table, if it has one.
    columns : sequence of str or None
        Names of the d input columns; those of the encoder are used instead if there is one.
    classes : sequence of str
        Names of the classes, in the order of the probabilities.
    softening : Softening
        Temperature and smoothing of the training labels.
    d : int
        Number of scaled inputs.
    student : str
        A description of the model in one line, for the file's metadata.

    Returns
    -------
    onnx.ModelProto
        The model from raw inputs to class names and probabilities, which `load_model` and `predict` read.

    Raises
    ------
    InputError
        If the model is not such a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import softlabel as sl
    >>> from softlabel.export import preprocessed_onnx
    >>> from softlabel.networks.softening import UNCHANGED
    >>> X, y = load_iris(return_X_y=True)
    >>> scaler = sl.Scaler.fit(X, "standard")
    >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(scaler.apply(X), y)
    >>> inner = to_onnx(tree, scaler.apply(X[:1]), options={"zipmap": False}, target_opset=20)
    >>> classes = ("setosa", "versicolor", "virginica")
    >>> built = preprocessed_onnx(inner, scaler, None, None, classes, UNCHANGED, 4)
    >>> [value.name for value in built.graph.input], [value.name for value in built.graph.output]
    (['inputs'], ['label', 'probabilities'])
    """
    from onnx import compose, helper

    features = d if encoder is None else len(encoder.features)
    require(features == d, f"the encoder makes {features} columns, got d = {d}")
    require(len(model.graph.input) == 1, f"the classifier must have one input, got {len(model.graph.input)}")
    model = _upgraded(model, TEXT_OPSET if encoder_opset(encoder) == TEXT_OPSET else OLDEST)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    versions[ML], opset = max(versions.get(ML, 0), ML_OPSET), versions[""]
    nodes = encoder_nodes(encoder, opset)
    inner = compose.add_prefix(model, f"{nodes.prefix or '_'}model_")
    inputs, raw = raw_inputs(nodes, encoder, d)
    _scaled(nodes, raw, scaler, gives=inner.graph.input[0].name)
    probabilities = _probabilities(inner.graph)
    nodes.nodes += _needed(inner.graph, probabilities)
    outputs = class_outputs(nodes, probabilities, classes, softening, encoder, are_logits=False)
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    built = helper.make_model(
        helper.make_graph(nodes.nodes, "student", inputs, outputs, [*nodes.constants, *inner.graph.initializer]),
        opset_imports=imports,
        functions=list(inner.functions),
        ir_version=max(model.ir_version, ir_version(opset)),
        producer_name="softlabel",
        producer_version=__version__,
    )
    names = columns if encoder is None else encoder.columns
    describe(built, classes, names, softening, student=f"{student}; {scaler}", **encoder_facts(encoder))
    return built


def _upgraded(model: "ModelProto", opset: int) -> "ModelProto":
    """The model with operators of this version or a later one, each domain named once."""
    from onnx import ModelProto, helper, version_converter

    versions = {entry.domain: entry.version for entry in model.opset_import}
    first = versions.get(ML) == 1 and any(node.op_type == "LabelEncoder" for node in model.graph.node)
    require(not first, f"the classifier uses operators '{ML}' of version 1: convert it with version {ML_OPSET}")
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.opset_import[:]
    copy.opset_import.extend(helper.make_opsetid(*pair) for pair in ({"": opset} | versions).items())
    if versions.get("", opset) >= opset:
        return copy
    try:
        return version_converter.convert_version(copy, opset)
    except RuntimeError as problem:
        raise InputError(
            f"the classifier uses operators of version {versions['']}, which cannot be converted to version {opset} "
            f"({reason_of(problem)}): export it with target_opset={opset}"
        ) from None


def _scaled(nodes: Nodes, raw: str, scaler: Scaler, gives: str) -> None:
    """Scaled inputs, rounded as by `Scaler.apply`: 'standard' is computed in float64, the others in float32."""
    from onnx import TensorProto

    if scaler.how == "none":
        nodes.add("Identity", raw, gives=gives)
    elif scaler.how == "max":
        nodes.add("Div", raw, nodes.constant(scaler.factor, np.float32), gives=gives)
    elif scaler.how == "unit":
        norm = nodes.norm(nodes.add("Cast", raw, to=TensorProto.DOUBLE))
        nodes.add("Div", raw, nodes.add("Cast", norm, to=TensorProto.FLOAT), gives=gives)
    else:
        exact = nodes.add("Cast", raw, to=TensorProto.DOUBLE)
        away = nodes.add("Sub", exact, nodes.constant(np.array(scaler.shift)))
        divided = nodes.add("Div", away, nodes.constant(np.array(scaler.spread) * scaler.factor))
        nodes.add("Cast", divided, to=TensorProto.FLOAT, gives=gives)


def _probabilities(graph: "GraphProto") -> str:
    """Name of the table of probabilities: an output of floats, or what a list of dictionaries is made from."""
    from onnx import TensorProto

    made_by = {name: node for node in graph.node for name in node.output}
    for output in graph.output:
        node = made_by.get(output.name)
        if node is not None and node.op_type == "ZipMap":
            return node.input[0]
        if output.type.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.DOUBLE):
            return output.name
    raise InputError("the classifier has no output of probabilities")


def _needed(graph: "GraphProto", wanted: str) -> "list[NodeProto]":
    """The nodes by which one value is computed, in their order."""
    names: set[str] = {wanted}
    kept: list[Any] = []
    for node in reversed(graph.node):
        if names & set(node.output):
            kept.append(node)
            names |= set(node.input)
            graphs = [part.g for part in node.attribute if part.HasField("g")]
            names |= {name for inner in graphs for each in inner.node for name in each.input}
    return kept[::-1]
