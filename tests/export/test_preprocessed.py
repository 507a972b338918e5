"""Encoder and scale in front of scikit-learn classifiers: the file says what the classifier says."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from skl2onnx.common import tree_ensemble
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from softlabel.data.scaling import SCALES, Scaler
from softlabel.errors import InputError
from softlabel.export import load_model, preprocessed_onnx
from softlabel.export.onnx_graph import student_onnx
from softlabel.networks.softening import UNCHANGED, Softening
from softlabel.studies.predict import predict
from tests.export.students import student
from tests.export.tables import encoder_of, mixed_frame

CLASSES = ("no", "yes", "perhaps")
FRAME, OTHERS = mixed_frame(300), mixed_frame(200, seed=1)
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "boosted trees": HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "logistic": LogisticRegression(max_iter=500),
}


@pytest.fixture
def integers(monkeypatch):
    """skl2onnx passes a truth value to a field of integers, which recent versions of protobuf refuse."""
    right = tree_ensemble.add_node

    def add_node(*args, nodes_missing_value_tracks_true=0, **rest):
        return right(*args, nodes_missing_value_tracks_true=int(nodes_missing_value_tracks_true), **rest)

    monkeypatch.setattr(tree_ensemble, "add_node", add_node)


def converted(model, inputs, opset=17, zipmap=False):
    return to_onnx(model, inputs[:1], options={"zipmap": zipmap}, target_opset={"": opset, "ai.onnx.ml": 3})


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("with_encoder", [True, False])
def test_the_file_says_what_the_classifier_says(tmp_path, integers, kind, scale, with_encoder):
    """Trees may split between neighboring numbers, so every feature must be the same float32 number."""
    encoder = encoder_of(FRAME)
    inputs, others = encoder.transform(FRAME), encoder.transform(OTHERS)
    scaler = Scaler.fit(inputs, scale)
    y = (inputs[:, 0] > 0).astype(int) + np.random.default_rng(0).integers(0, 2, len(inputs))
    model = MODELS[kind].fit(scaler.apply(inputs), y)
    truth = model.predict_proba(scaler.apply(others))
    inner = converted(model, scaler.apply(inputs))
    built = preprocessed_onnx(
        inner, scaler, encoder if with_encoder else None, None if with_encoder else encoder.features, CLASSES,
        UNCHANGED, inputs.shape[1],
    )  # fmt: skip
    onnx.checker.check_model(built, full_check=True)
    path = tmp_path / "m.onnx"
    path.write_bytes(built.SerializeToString())
    loaded = load_model(path)
    assert loaded.classes == CLASSES
    assert loaded.columns == (encoder.columns if with_encoder else encoder.features)
    result = predict(path, OTHERS if with_encoder else others)
    assert result.probabilities == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("opset", [11, 15, 20])
@pytest.mark.parametrize("zipmap", [True, False])
def test_older_operators_and_dictionaries_of_classes(tmp_path, opset, zipmap):
    encoder = encoder_of(FRAME)
    inputs = encoder.transform(FRAME)
    scaler = Scaler.fit(inputs, "standard")
    model = LogisticRegression().fit(scaler.apply(inputs), np.arange(300) % 3)
    inner = converted(model, scaler.apply(inputs), opset, zipmap)
    before = inner.SerializeToString()
    built = preprocessed_onnx(inner, scaler, encoder, None, CLASSES, UNCHANGED, inputs.shape[1])
    assert inner.SerializeToString() == before
    domains = [entry.domain for entry in built.opset_import]
    assert len(set(domains)) == len(domains)
    path = tmp_path / "m.onnx"
    path.write_bytes(built.SerializeToString())
    truth = model.predict_proba(scaler.apply(encoder.transform(OTHERS)))
    assert load_model(path).probabilities(OTHERS) == pytest.approx(truth, abs=1e-5)


def test_inputs_and_outputs_are_those_of_a_student():
    model, x = student(3), np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    tree = DecisionTreeClassifier(max_depth=2).fit(model.scaler.apply(x), np.arange(60) % 3)
    inner = converted(tree, x)
    built = preprocessed_onnx(inner, model.scaler, None, model.columns, model.classes, Softening(2.0), 3)
    like = student_onnx(model)
    assert built.graph.input == like.graph.input
    assert [one.name for one in built.graph.output] == ["label", "softened_probabilities"]


def test_what_is_no_classifier_is_refused():
    def model_of(inputs, outputs, nodes):
        graph = helper.make_graph(nodes, "g", inputs, outputs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, ["n"])
    node = helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)
    with pytest.raises(InputError, match="no output of probabilities"):
        preprocessed_onnx(model_of([x], [y], [node]), Scaler("none"), None, None, CLASSES, UNCHANGED, 3)
    other = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 3])
    with pytest.raises(InputError, match="must have one input, got 2"):
        preprocessed_onnx(model_of([x, other], [y], [node]), Scaler("none"), None, None, CLASSES, UNCHANGED, 3)
    with pytest.raises(InputError, match=r"the encoder makes \d+ columns, got d = 3"):
        preprocessed_onnx(model_of([x], [y], [node]), Scaler("none"), encoder_of(FRAME), None, CLASSES, UNCHANGED, 3)
