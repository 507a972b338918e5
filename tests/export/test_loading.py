"""One door to models: ours and others', tables and images; what cannot be used is one line."""

import io
import re
import zipfile

import numpy as np
import onnx
import pytest
import torch
from numpy.lib import format as npy
from onnx import TensorProto, helper, numpy_helper
from scipy.special import expit, softmax

from softlabel.errors import InputError
from softlabel.export import export_onnx, export_student, load_model, save_student
from softlabel.export.onnx_graph import student_onnx
from softlabel.networks.deep import build_network, network_logits
from softlabel.networks.deep.prepared import prepared_for
from tests.export.students import COLUMNS, NAMES, inputs, network, student
from tests.networks.deep.small import images

WEIGHTS = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def foreign(path, nodes, outputs, graph_inputs=None, constants=(), more_opsets=()):
    """A model of somebody else's: inputs "x" (n, 3) by default, outputs (name, type, shape)."""
    graph_inputs = graph_inputs or [("x", FLOAT, ["n", 3])]
    graph = helper.make_graph(
        [helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes],
        "g",
        [helper.make_tensor_value_info(*one) for one in graph_inputs],
        [one if not isinstance(one, tuple) else helper.make_tensor_value_info(*one) for one in outputs],
        [numpy_helper.from_array(WEIGHTS, "w"), *(numpy_helper.from_array(value, name) for name, value in constants)],
    )
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(*one) for one in more_opsets)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("ending", ["safetensors", "onnx", "npz"])
def test_our_two_layer_students(tmp_path, ending, classes):
    model = student(classes)
    loaded = load_model(str(export_student(model, tmp_path, "s", inputs()).path(ending)))
    assert (loaded.classes, loaded.columns, loaded.shape) == (NAMES[:classes], COLUMNS, (3,))
    assert loaded.kind == ("ONNX model" if ending == "onnx" else "two-layer student")
    assert not loaded.takes_images
    x = inputs(9000, seed=2)  # more than a batch
    p = loaded.probabilities(x)
    assert p.sum(axis=1) == pytest.approx(np.ones(9000), abs=1e-12)
    assert p == pytest.approx(model.probabilities(x), abs=1e-5)


def test_a_student_without_column_names(tmp_path):
    loaded = export_student(student(columns=None), tmp_path, "s", inputs())
    assert load_model(loaded.path("onnx")).columns is None
    assert load_model(loaded.path("safetensors")).columns is None


def test_deep_students(tmp_path):
    net = prepared_for(build_network("resnet8", 2, (1, 8, 8), 0.25, seed=1), images()).eval()
    about = {"network": "resnet8", "width": 0.25, "classes": ["cat", "dog"], "image": [1, 8, 8]}
    save_student(tmp_path / "d.safetensors", net, about)
    export_onnx(net, images().pixels, tmp_path / "d.onnx", ("cat", "dog"))
    truth = network_logits(net, images().pixels).softmax(1).numpy()
    for name, kind, classes in (
        ("d.safetensors", "deep student", ("cat", "dog")),
        ("d.onnx", "ONNX model", ("cat", "dog")),
    ):
        loaded = load_model(tmp_path / name)
        assert (loaded.kind, loaded.classes, loaded.columns, loaded.shape) == (kind, classes, None, (1, 8, 8))
        assert loaded.takes_images
        assert loaded.probabilities(images().pixels.numpy()) == pytest.approx(truth, abs=1e-4)
        with pytest.raises(InputError, match=r"takes numbers \(n, channels, height, width\) = \('n', 1, 8, 8\)"):
            loaded.probabilities(np.zeros((2, 8, 8)))


@pytest.mark.parametrize("scale", ["none", "max", "unit", "standard"])
@pytest.mark.parametrize("activation", ["relu", "softplus", "tanh"])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_npz_file_of_a_numpy_predictor_says_what_the_student_says(tmp_path, scale, activation, classes):
    model = student(classes, scale, activation=activation, columns=None if classes == 4 else COLUMNS)
    loaded = load_model(export_student(model, tmp_path, "s", inputs()).path("npz"))
    assert (loaded.classes, loaded.columns) == (model.classes, model.columns)
    x = inputs(50, seed=9)
    assert loaded.probabilities(x) == pytest.approx(model.probabilities(x), abs=1e-5)


def _changed_npz(**changes):
    def make(path):
        export_student(student(5), path.parent, path.stem, inputs())
        model = dict(np.load(path))
        np.savez(path, **{name: array for name, array in (model | changes).items() if array is not None})

    return make


def _pickled_npz(path):
    export_student(student(5), path.parent, path.stem, inputs())
    np.savez(path, **(dict(np.load(path)) | {"hidden": np.array([print], dtype=object)}))


def _compressed_npz(path):
    np.savez_compressed(path, hidden=np.zeros((1000, 1000)))


def _lying_npz(path):
    """A header that claims 18 TiB."""
    with zipfile.ZipFile(path, "w") as archive:
        header = io.BytesIO()
        npy.write_array_header_1_0(header, {"shape": (1 << 41,), "fortran_order": False, "descr": "<f8"})
        archive.writestr("hidden.npy", header.getvalue())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda path: np.savez(path, X=np.zeros((3, 2))),
            "not one of a student exported by this version of softlabel",
        ),
        (lambda path: path.write_bytes(b"x"), "is not a readable NPZ file"),
        (lambda path: path.write_bytes(b""), r"is empty \(0 bytes\)"),
        (_pickled_npz, "holds Python objects, which softlabel never unpickles"),
        (_compressed_npz, "not one of a student"),
        (_lying_npz, "declares 16.0 TiB"),
        (_changed_npz(format=None), "not one of a student"),
        (_changed_npz(hidden=None), "is not a complete student"),
        (_changed_npz(classes=np.array(["a", "b"])), "."),
        (_changed_npz(classes=np.array(["a", "b", "c"])), "3 classes need a network with 3 outputs"),
        (_changed_npz(activation=np.array("step")), "."),
        (_changed_npz(scale=np.array("some")), "scale must be one of"),
        (_changed_npz(shift=np.zeros(2)), "the scaler has 2"),
        (_changed_npz(hidden=np.full((8, 3), np.nan, np.float32)), "weights must be finite numbers"),
        (_changed_npz(label_temperature=np.array(-1.0)), "label temperature must be a positive number"),
    ],
)
def test_an_npz_file_that_is_no_student_is_one_line(tmp_path, make, message):
    make(tmp_path / "m.npz")
    with pytest.raises(InputError, match=message) as caught:
        load_model(tmp_path / "m.npz")
    assert "\n" not in str(caught.value)


def test_code_is_never_run(tmp_path):
    (tmp_path / "m.py").write_text("raise SystemExit('run')\n")
    with pytest.raises(InputError, match=r"never executed: use its .safetensors or .npz or .onnx file"):
        load_model(tmp_path / "m.py")
    (tmp_path / "m.onnx").touch()
    with pytest.raises(InputError, match=r"use m.onnx beside it"):
        load_model(tmp_path / "m.py")


def test_logits_of_others_become_probabilities(tmp_path):
    path = foreign(tmp_path / "m.onnx", [("MatMul", ["x", "w"], ["z"])], [("z", FLOAT, ["n", 4])])
    loaded = load_model(path)
    assert loaded.classes == ("0", "1", "2", "3")
    assert loaded.columns is None
    for rows in (1, 40):
        assert loaded.probabilities(inputs(rows)) == pytest.approx(softmax(inputs(rows) @ WEIGHTS, axis=1), abs=1e-5)


def test_probabilities_of_others_stay(tmp_path):
    nodes = [("MatMul", ["x", "w"], ["z"]), ("Softmax", ["z"], ["s"], {"axis": 1}), ("Identity", ["s"], ["p"])]
    for outputs in ([("p", FLOAT, ["n", 4])], [("z", FLOAT, ["n", 4]), ("p", FLOAT, ["n", 4])]):
        loaded = load_model(foreign(tmp_path / "m.onnx", nodes, outputs))
        assert loaded.probabilities(inputs()) == pytest.approx(softmax(inputs() @ WEIGHTS, axis=1), abs=1e-5)


@pytest.mark.parametrize("likely", [True, False])
def test_one_column_for_two_classes(tmp_path, likely):
    """Log-odds that all lie in [0, 1] are still log-odds."""
    nodes = [("MatMul", ["x", "v"], ["z"]), ("Sigmoid", ["z"], ["p"])]
    column = WEIGHTS[:, :1] * 0.01
    path = foreign(
        tmp_path / "m.onnx", nodes[: 1 + likely], [("p" if likely else "z", FLOAT, ["n", 1])], constants=[("v", column)]
    )
    x = np.abs(inputs()) * np.sign(column[:, 0])
    z = (x @ column)[:, 0]
    assert (z > 0).all()
    p = load_model(path).probabilities(x)
    assert p == pytest.approx(np.stack([expit(-z), expit(z)], axis=1), abs=1e-6)
    assert (p[:, 1] > 0.5).all()


def classifier(path, labels, zipped, graph_inputs=None, first=()):
    """A linear classifier of the kind that scikit-learn's models become."""
    kind, values = ("strings", labels) if isinstance(labels[0], str) else ("int64s", labels)
    settings = {
        "coefficients": WEIGHTS.T.ravel().tolist(), "intercepts": [0.0] * 4, "multi_class": 1,
        "post_transform": "SOFTMAX", "domain": "ai.onnx.ml",
        ("classlabels_strings" if kind == "strings" else "classlabels_ints"): values,
    }  # fmt: skip
    nodes = [*first, ("LinearClassifier", ["x" if not first else "joined"], ["label", "scores"], settings)]
    text = TensorProto.STRING if kind == "strings" else INT64
    outputs = [("label", text, ["n"]), ("scores", FLOAT, ["n", 4])]
    if zipped:
        nodes.append(("ZipMap", ["scores"], ["zipped"], {f"classlabels_{kind}": values, "domain": "ai.onnx.ml"}))
        pairs = helper.make_map_type_proto(text, helper.make_tensor_type_proto(FLOAT, []))
        outputs[1] = helper.make_value_info("zipped", helper.make_sequence_type_proto(pairs))
    return foreign(path, nodes, outputs, graph_inputs, more_opsets=[("ai.onnx.ml", 3)])


@pytest.mark.parametrize("labels", [["d", "b", "a", "c"], [3, 10, 7, 1]])
@pytest.mark.parametrize("zipped", [True, False])
def test_classifiers_that_name_their_classes(tmp_path, labels, zipped):
    loaded = load_model(classifier(tmp_path / "m.onnx", labels, zipped))
    truth = softmax(inputs() @ WEIGHTS, axis=1)
    p = loaded.probabilities(inputs())
    for place, label in enumerate(labels):
        assert p[:, loaded.classes.index(str(label))] == pytest.approx(truth[:, place], abs=1e-5)


def test_classes_that_an_output_picks_from(tmp_path):
    """As in networks, where the label is looked up in a list."""
    nodes = [
        ("MatMul", ["x", "w"], ["z"]),
        ("ArgMax", ["z"], ["place"], {"axis": 1, "keepdims": 0}),
        ("Gather", ["names", "place"], ["picked"], {"axis": 0}),
        ("Identity", ["picked"], ["label"]),
    ]
    outputs = [("label", INT64, ["n"]), ("z", FLOAT, ["n", 4])]
    path = foreign(tmp_path / "m.onnx", nodes, outputs, constants=[("names", np.array([3, 10, 7, 1]))])
    assert load_model(path).classes == ("3", "10", "7", "1")


def test_probabilities_above_one_by_rounding_are_probabilities(tmp_path):
    """Forests answer with 1.0000001 where every tree agrees."""
    nodes = [("MatMul", ["x", "w"], ["z"]), ("Softmax", ["z"], ["s"], {"axis": 1}), ("Mul", ["s", "more"], ["y"])]
    more = [("more", np.array(1 + 3e-7, dtype=np.float32))]
    path = foreign(tmp_path / "m.onnx", nodes, [("y", FLOAT, ["n", 4])], constants=more)
    x = 100 * inputs()
    truth = softmax((x @ WEIGHTS).astype(np.float64), axis=1)
    assert truth.max() > 1 - 1e-9
    assert load_model(path).probabilities(x) == pytest.approx(truth, abs=1e-4)


def test_one_input_a_column_names_the_columns(tmp_path):
    graph_inputs = [(name, FLOAT, ["n", 1]) for name in COLUMNS[:2]] + [(COLUMNS[2], INT64, ["n", 1])]
    first = [
        ("Cast", [COLUMNS[2]], ["last"], {"to": FLOAT}),
        ("Concat", [*COLUMNS[:2], "last"], ["joined"], {"axis": 1}),
    ]
    loaded = load_model(classifier(tmp_path / "m.onnx", ["a", "b", "c", "d"], True, graph_inputs, first))
    assert loaded.columns == COLUMNS
    x = np.round(inputs())
    assert loaded.probabilities(x) == pytest.approx(softmax(x @ WEIGHTS, axis=1), abs=1e-5)
    with pytest.raises(InputError, match="takes integers for 'height', got other numbers"):
        loaded.probabilities(inputs())


def test_models_of_fixed_batch_and_double_inputs(tmp_path):
    nodes = [("Cast", ["x"], ["f"], {"to": FLOAT}), ("MatMul", ["f", "w"], ["z"])]
    path = foreign(tmp_path / "m.onnx", nodes, [("z", FLOAT, [7, 4])], [("x", TensorProto.DOUBLE, [7, 3])])
    for rows in (1, 7, 40):
        p = load_model(path).probabilities(inputs(rows))
        assert p == pytest.approx(softmax(inputs(rows) @ WEIGHTS, axis=1), abs=1e-5)


def test_channels_last(tmp_path):
    nodes = [("ReduceMean", ["x"], ["m"], {"axes": [1, 2], "keepdims": 0}), ("MatMul", ["m", "w"], ["z"])]
    loaded = load_model(foreign(tmp_path / "m.onnx", nodes, [("z", FLOAT, ["n", 4])], [("x", FLOAT, ["n", 8, 6, 3])]))
    assert loaded.shape == (3, 8, 6)
    pixels = images(channels=3).pixels.numpy()[:, :, :, :6]
    assert loaded.probabilities(pixels) == pytest.approx(softmax(pixels.mean((2, 3)) @ WEIGHTS, axis=1), abs=1e-5)


def test_a_changed_onnx_file_is_refused(tmp_path):
    path = tmp_path / "s.onnx"
    for change in ("weights", "classes", "graph", "nothing"):
        model = student_onnx(student())
        if change == "weights":
            weights = numpy_helper.to_array(model.graph.initializer[2]) * 1.5
            model.graph.initializer[2].CopyFrom(numpy_helper.from_array(weights, model.graph.initializer[2].name))
        elif change == "classes":
            next(prop for prop in model.metadata_props if prop.key == "classes").value = '["yes", "no"]'
        elif change == "graph":
            next(node for node in model.graph.node if node.op_type == "Relu").op_type = "Tanh"
        path.write_bytes(model.SerializeToString())
        if change == "nothing":
            assert load_model(path).classes == NAMES[:2]
            continue
        with pytest.raises(InputError, match="was changed after softlabel wrote it: export it again"):
            load_model(path)
        kept = [prop for prop in model.metadata_props if prop.key != "format"]
        del model.metadata_props[:]
        model.metadata_props.extend(kept)
        path.write_bytes(model.SerializeToString())
        loaded = load_model(path)  # as the message says
        assert loaded.probabilities(inputs()).shape == (40, 2)
        assert loaded.classes == NAMES[:2]


def test_answers_that_are_no_numbers_are_refused(tmp_path):
    loaded = load_model(export_student(student(scale="unit"), tmp_path, "s", inputs()).path("onnx"))
    x = inputs(4)
    x[2] = 0
    with pytest.raises(InputError, match=r"no finite output for 1 of 4 inputs \(first in row 3\)"):
        loaded.probabilities(x)


@pytest.mark.parametrize(
    "wrong", [np.zeros((4, 2)), np.zeros(3), np.zeros((0, 3)), np.array(1.0), np.array([["a", "b", "c"]])]
)
@pytest.mark.parametrize("ending", ["safetensors", "onnx"])
def test_inputs_of_another_shape_or_kind(tmp_path, wrong, ending):
    loaded = load_model(export_student(student(), tmp_path, "s", inputs()).path(ending))
    with pytest.raises(InputError, match=re.escape(f"takes numbers (n, columns) = ('n', 3), got {wrong.dtype}")):
        loaded.probabilities(wrong)


def text_input(path):
    text = TensorProto.STRING
    foreign(path, [("Identity", ["x"], ["y"])], [("y", text, ["n", 3])], [("x", text, ["n", 3])])


def free_columns(path):
    foreign(path, [("Relu", ["x"], ["y"])], [("y", FLOAT, ["n", "d"])], [("x", FLOAT, ["n", "d"])])


def no_table(path):
    foreign(path, [("ArgMax", ["x"], ["y"], {"axis": 1})], [("y", INT64, ["n", 1])])


def two_tables(path):
    graph_inputs = [("x", FLOAT, ["n", 3]), ("x2", FLOAT, ["n", 3])]
    foreign(path, [("Add", ["x", "x2"], ["y"])], [("y", FLOAT, ["n", 3])], graph_inputs)


def cut(path):
    path.write_bytes(student_onnx(student()).SerializeToString()[:-100])


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("none.onnx", lambda path: None, "there is no model"),
        ("folder.onnx", lambda path: path.mkdir(), "is a directory: pass a model file in it"),
        ("m.txt", lambda path: path.write_text("x"), "is not a model: a .safetensors, .npz or .onnx file is needed"),
        ("m.onnx", lambda path: path.write_bytes(b""), "is empty"),
        ("m.onnx", lambda path: path.write_bytes(b"x" * 50), "cannot be read as an ONNX model"),
        ("m.onnx", cut, "cannot be read as an ONNX model"),
        ("m.onnx", text_input, r"takes tensor\(string\) for 'x'"),
        ("m.onnx", free_columns, "with fixed sizes except n is needed"),
        ("m.onnx", no_table, "has no output table of numbers"),
        ("m.onnx", two_tables, "takes 2 inputs: one table, or one column each"),
        ("m.safetensors", lambda path: path.write_bytes(b"x"), "cannot be read"),
        ("m.safetensors", lambda path: network().save(path), "contains a network without scaling and class names"),
        ("m.safetensors", lambda path: _other(path), "does not contain a student"),
    ],
)
def test_what_is_no_model_is_one_line(tmp_path, capfd, name, make, message):
    make(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        load_model(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert capfd.readouterr() == ("", "")  # the runtime says nothing by itself


def _other(path):
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, path)
