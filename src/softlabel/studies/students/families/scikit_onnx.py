"""Scikit-learn students as ONNX classifiers of scaled inputs: "label" (class numbers) and calibrated "probabilities".

logits = log p of a classifier, or the sums of boosted trees        probabilities = softmax(logits/τ)
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.errors import SoftlabelError
from softlabel.studies.students.families.tree_onnx import boosted_nodes, ensemble_node, tree_nodes

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
SMALLEST = 1e-9  # probabilities below have the logarithm of this one


def classifier_onnx(model: Any, inputs: int, temperature: float) -> "ModelProto":
    """A fitted classifier of class numbers 0 … K − 1, calibrated with a temperature."""
    from onnx import ModelProto, TensorProto, helper, numpy_helper

    nodes, constants, imports = _outputs(model, inputs)
    values = {"smallest": [SMALLEST], "temperature": [temperature], "zero": [0.0]}
    source = "logits_of_trees"
    if nodes[-1].output[0] == "probabilities_of_model":
        nodes.append(helper.make_node("Max", ["probabilities_of_model", "smallest_constant"], ["clipped"]))
        nodes.append(helper.make_node("Log", ["clipped"], [source]))
    elif len(model.classes_) == 2:  # one sum, the log-odds of the second class
        nodes.append(helper.make_node("Mul", [source, "zero_constant"], ["first_logit"]))
        nodes.append(helper.make_node("Concat", ["first_logit", source], ["both_logits"], axis=1))
        source = "both_logits"
    nodes += [
        helper.make_node("Div", [source, "temperature_constant"], ["calibrated_logits"]),
        helper.make_node("Softmax", ["calibrated_logits"], ["probabilities"], axis=1),
        helper.make_node("ArgMax", ["calibrated_logits"], ["label"], axis=1, keepdims=0),
    ]
    used = {name.removesuffix("_constant") for node in nodes for name in node.input}
    constants += [
        numpy_helper.from_array(np.array(value, dtype=np.float32), f"{name}_constant")
        for name, value in values.items()
        if name in used
    ]
    graph = helper.make_graph(
        nodes, "student", [helper.make_tensor_value_info("inputs", TensorProto.FLOAT, ["batch", inputs])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, ["batch"]),
         helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", len(model.classes_)])],
        constants,
    )  # fmt: skip
    built: ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid(*pair) for pair in imports.items()], ir_version=IR_VERSION
    )
    return built


def _outputs(model: Any, inputs: int) -> tuple[list[Any], list[Any], dict[str, int]]:
    """Nodes from "inputs" to the model's probabilities or (boosted trees) logits, their constants and opsets."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    opsets = {"": OPSET, "ai.onnx.ml": ML_OPSET}
    if isinstance(model, HistGradientBoostingClassifier):
        base = np.ravel(model._baseline_prediction).tolist()  # pyright: ignore[reportAttributeAccessIssue]
        return [ensemble_node(boosted_nodes(model), base, "inputs", "logits_of_trees")], [], opsets
    if isinstance(model, DecisionTreeClassifier | RandomForestClassifier | ExtraTreesClassifier):
        members = [model] if isinstance(model, DecisionTreeClassifier) else model.estimators_
        trees = [tree_nodes(tree, 1 / len(members)) for tree in members]
        base = [0.0] * len(model.classes_)
        return [ensemble_node(trees, base, "inputs", "probabilities_of_model")], [], opsets
    return _converted(model, inputs)


def _converted(model: Any, inputs: int) -> tuple[list[Any], list[Any], dict[str, int]]:
    """The same by skl2onnx, for any estimator that it knows."""
    from onnx import helper
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    name = type(model).__name__
    try:
        converted: Any = convert_sklearn(
            model, initial_types=[("inputs", FloatTensorType([None, inputs]))], target_opset=OPSET,
            options={id(model): {"zipmap": False}},
        )  # fmt: skip
    except Exception as problem:
        raise SoftlabelError(
            f"a student of the class {name} cannot be exported, since skl2onnx cannot convert it "
            f"({str(problem).splitlines()[0][:120]}): choose another `student` to export one"
        ) from None
    graph = converted.graph
    probabilities = next(output.name for output in graph.output if output.name != graph.output[0].name)
    nodes = [*graph.node, helper.make_node("Identity", [probabilities], ["probabilities_of_model"])]
    theirs = {output.name: f"{output.name}_of_converted" for output in graph.output}
    for node in nodes:  # "label" and "probabilities" are names of the calibrated outputs
        node.input[:] = [theirs.get(one, one) for one in node.input]
        node.output[:] = [theirs.get(one, one) for one in node.output]
    return nodes, list(graph.initializer), {one.domain: one.version for one in converted.opset_import}
