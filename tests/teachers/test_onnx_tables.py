"""ONNX models as teachers of tables: every way in and out that classic exporters use."""

import numpy as np
import onnx
import polars as pl
import pytest
from onnx import TensorProto, helper, numpy_helper
from scipy.special import softmax
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softlabel as sl
from softlabel.data import load
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.export import export_student
from softlabel.teachers.onnx_file import query_onnx

NAMES = ["age", "weight", "dose (mg)", "days"]


def table(rows=120):
    x = np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float32)
    return x, np.array(["well", "ill", "odd"])[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)]


def write(path, model, x=None, types=None, **options):
    if x is None:
        found = to_onnx(model, initial_types=types, options={id(model): options} if options else None)
    else:
        found = to_onnx(model, x[:1], options={id(model): options} if options else None)
    path.write_bytes(found.SerializeToString())
    return path


def graph(path, nodes, inputs, outputs, held):
    """A model written by hand."""
    made = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def linear(path, weights, shape=("n", 4), kind=TensorProto.FLOAT, extra=()):
    """z = x W, with further nodes and outputs (name, node, type) after it."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), *(node for _, node, _ in extra)]
    outputs = [("z", kind, ["n", weights.shape[1]]), *((name, form, None) for name, _, form in extra)]
    return graph(path, nodes, [("x", kind, list(shape))], outputs, {"w": weights})


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(5, random_state=0)])
def test_classifiers_say_what_they_say(tmp_path, model, zipmap):
    x, y = table()
    model.fit(x, y)
    path = write(tmp_path / "m.onnx", model, x, zipmap=zipmap)
    found = query_onnx(Problem.from_arrays(x, y), path, transfer=x[:7])
    assert found.probabilities == pytest.approx(model.predict_proba(x), abs=1e-5)
    assert softmax(found.transfer, axis=1) == pytest.approx(model.predict_proba(x[:7]), abs=1e-5)
    assert found.kind == "probabilities"
    assert found.milliseconds > 0
    assert "m.onnx" in found.description


def test_named_predictions_are_put_in_the_order_of_the_classes(tmp_path):
    """As text '10' comes before '2', as numbers it does not."""
    x, y = table()
    number = np.select([y == "well", y == "ill"], [2, 10], 30)
    for classes in (number, number.astype(str)):
        model = LogisticRegression().fit(x, classes)
        order = [[str(name) for name in model.classes_].index(name) for name in ("2", "10", "30")]
        for zipmap in (True, False):
            path = write(tmp_path / "m.onnx", model, x, zipmap=zipmap)
            problem = Problem.from_arrays(x, number)
            assert problem.classes == ("2", "10", "30")
            found = query_onnx(problem, path, transfer=x[:3])
            assert found.probabilities == pytest.approx(model.predict_proba(x)[:, order], abs=1e-5)
            assert softmax(found.transfer, axis=1) == pytest.approx(model.predict_proba(x[:3])[:, order], abs=1e-5)


def test_an_order_that_decisions_leave_open_is_refused(tmp_path):
    """Two of three columns are never the largest, and the third one is not in its place."""
    x, y = table()
    last = helper.make_node("Gather", ["names", "where"], ["label"], axis=0)
    path = linear(tmp_path / "m.onnx", np.zeros((4, 3), np.float32))
    held = onnx.load(path)
    held.graph.node.extend(
        [
            helper.make_node("Add", ["z", "b"], ["shifted"]),
            helper.make_node("ArgMax", ["shifted"], ["where"], axis=1, keepdims=0),
            last,
        ]
    )
    held.graph.initializer.append(numpy_helper.from_array(np.array([1, 0, 0], np.float32), "b"))
    held.graph.initializer.append(numpy_helper.from_array(np.array(["odd", "well", "ill"], object), "names"))
    del held.graph.output[:]
    held.graph.output.append(helper.make_tensor_value_info("label", TensorProto.STRING, ["n"]))
    held.graph.output.append(helper.make_tensor_value_info("shifted", TensorProto.FLOAT, ["n", 3]))
    onnx.save(held, path)
    with pytest.raises(InputError, match=r"its columns are not in the order of the classes.*ZipMap"):
        query_onnx(Problem.from_arrays(x, y), path)


def test_columns_by_name(tmp_path):
    x, y = table()
    frame = pl.DataFrame(dict(zip(NAMES, x.T, strict=True)))
    model = make_pipeline(ColumnTransformer([("all", StandardScaler(), NAMES)]), LogisticRegression()).fit(frame, y)
    types = [(name, FloatTensorType([None, 1])) for name in NAMES]
    path = write(tmp_path / "m.onnx", model, types=types)
    truth = model.predict_proba(frame)
    for order in (NAMES, NAMES[::-1]):
        found = query_onnx(Problem.from_arrays(frame[order], y), path)
        assert found.probabilities == pytest.approx(truth, abs=1e-5)
    under = graph(
        tmp_path / "u.onnx",
        [helper.make_node("Concat", ["a", "dose__mg_"], ["x"], axis=1), helper.make_node("MatMul", ["x", "w"], ["z"])],
        [("a", TensorProto.FLOAT, ["n", 1]), ("dose__mg_", TensorProto.FLOAT, ["n", 1])],
        [("z", TensorProto.FLOAT, ["n", 3])],
        {"w": np.arange(6, dtype=np.float32).reshape(2, 3) - 2},
    )
    two = pl.DataFrame({"dose (mg)": x[:, 0], "a": x[:, 1]})
    said = (x[:, [1, 0]] @ (np.arange(6).reshape(2, 3) - 2)).argmax(axis=1)
    fitting = np.where(np.arange(len(said)) % 10 == 0, "odd", np.array(["ill", "odd", "well"])[said])
    found = query_onnx(Problem.from_arrays(two, fitting), under)
    assert found.logits == pytest.approx(x[:, [1, 0]] @ (np.arange(6).reshape(2, 3) - 2), abs=1e-5)
    with pytest.raises(InputError, match=r"takes columns by name \('age', .*\), the data's have no names"):
        query_onnx(Problem.from_arrays(x, y), path)
    with pytest.raises(InputError, match="the data have no 'age' and it does not know 'years'"):
        query_onnx(Problem.from_arrays(frame.rename({"age": "years"}), y), path)


def test_integers_are_cast_but_fractions_are_refused(tmp_path):
    x, y = table()
    integers = np.round(10 * x)
    model = LogisticRegression(max_iter=1000).fit(integers.astype(np.int64), y)
    path = write(tmp_path / "m.onnx", model, types=[("x", Int64TensorType([None, 4]))])
    assert query_onnx(Problem.from_arrays(integers, y), path).probabilities == pytest.approx(
        model.predict_proba(integers), abs=1e-5
    )
    broken = pl.DataFrame(dict(zip(NAMES, integers.T, strict=True)))
    broken[5, "weight"] = 1.25
    with pytest.raises(InputError, match=r"takes integers, column 'weight' has 1.25 \(row 6\)"):
        query_onnx(Problem.from_arrays(broken, y), path)


def test_double_and_text_inputs(tmp_path):
    x, y = table()
    weights = np.arange(12.0).reshape(4, 3) - 6
    path = linear(tmp_path / "d.onnx", weights, kind=TensorProto.DOUBLE)
    assert query_onnx(Problem.from_arrays(x, y), path).logits == pytest.approx(x @ weights, abs=1e-4)
    text = graph(
        tmp_path / "t.onnx",
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", TensorProto.STRING, ["n", 4])],
        [("y", TensorProto.STRING, ["n", 4])],
        {},
    )
    with pytest.raises(InputError, match=r"takes tensor\(string\) for 'x'; numbers are needed"):
        query_onnx(Problem.from_arrays(x, y), text)


def test_tables_of_logits_and_one_column(tmp_path):
    x, y = table()
    weights = (np.arange(12, dtype=np.float32) - 6).reshape(4, 3)
    found = query_onnx(Problem.from_arrays(x, y), linear(tmp_path / "z.onnx", weights))
    assert found.kind == "logits"
    assert found.logits == pytest.approx(x @ weights, abs=1e-4)
    assert found.parameters == 12
    two = Problem.from_arrays(x, y == "well")
    odds = linear(tmp_path / "o.onnx", weights[:, :1])
    assert query_onnx(two, odds).labels(np.arange(120)).values == pytest.approx((x @ weights)[:, 0], abs=1e-4)
    sigmoid = ("p", helper.make_node("Sigmoid", ["z"], ["p"]), TensorProto.FLOAT)
    both = linear(tmp_path / "s.onnx", weights[:, :1], extra=[sigmoid])
    with pytest.raises(InputError, match="returns 2 single columns: choose one with `output`, of z, p"):
        query_onnx(two, both)
    found = query_onnx(two, both, output="p")
    assert found.kind == "probabilities"
    assert found.probabilities[:, 1] == pytest.approx(1 / (1 + np.exp(-(x @ weights)[:, 0])), abs=1e-5)
    with pytest.raises(InputError, match="has no output 'q'; there are z, p"):
        query_onnx(two, both, output="q")


def test_one_column_a_class_is_not_taken_for_the_second(tmp_path):
    x, y = table()
    model = LogisticRegression().fit(x, y == "well")
    path = write(tmp_path / "m.onnx", model, x, zipmap="columns")
    with pytest.raises(InputError, match="single columns: choose one with `output`"):
        query_onnx(Problem.from_arrays(x, y == "well"), path)


def test_the_kind_may_be_named(tmp_path):
    x, y = table()
    model = LogisticRegression().fit(x, y)
    path = write(tmp_path / "m.onnx", model, x)
    found = query_onnx(Problem.from_arrays(x, y), path, kind="logits")
    assert found.logits == pytest.approx(model.predict_proba(x), abs=1e-5)


def test_models_that_do_not_fit(tmp_path):
    x, y = table()
    path = write(tmp_path / "m.onnx", LogisticRegression().fit(x, y), x)
    with pytest.raises(InputError, match="takes 4 columns, the data have 3"):
        query_onnx(Problem.from_arrays(x[:, :3], y), path)
    with pytest.raises(InputError, match="knows 'odd', which the data do not have and it does not know 'dead'"):
        query_onnx(Problem.from_arrays(x, np.where(y == "odd", "dead", y)), path)
    with pytest.raises(InputError, match=r"returns 5 columns; the data have 3 classes"):
        query_onnx(Problem.from_arrays(x, y), linear(tmp_path / "five.onnx", np.zeros((4, 5), np.float32)))
    with pytest.raises(InputError, match=r"predictions are not finite: nan \(row 1, 120 such rows\)"):
        query_onnx(Problem.from_arrays(x, y), linear(tmp_path / "nan.onnx", np.full((4, 3), np.nan, np.float32)))
    with pytest.raises(InputError, match=r"takes inputs of shape \('n', 1, 2, 2\), the data are a table"):
        query_onnx(
            Problem.from_arrays(x, y), linear(tmp_path / "image.onnx", np.zeros((2, 3), np.float32), ("n", 1, 2, 2))
        )
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read as an ONNX model"):
        query_onnx(Problem.from_arrays(x, y), tmp_path / "broken.onnx")
    labels = write(tmp_path / "m.onnx", LogisticRegression().fit(x, y), x)
    with pytest.raises(InputError, match="returns no table of probabilities"):
        query_onnx(Problem.from_arrays(x, y), labels, output="output_label")


@pytest.mark.parametrize("batch", [1, 50, 120])
def test_models_of_fixed_batch(tmp_path, batch):
    x, y = table()
    weights = (np.arange(12, dtype=np.float32) - 6).reshape(4, 3)
    path = linear(tmp_path / "z.onnx", weights, (batch, 4))
    assert query_onnx(Problem.from_arrays(x, y), path).logits == pytest.approx(x @ weights, abs=1e-4)


def test_parameters_of_classic_models_are_counted(tmp_path):
    x, y = table()
    problem = Problem.from_arrays(x, y)
    path = write(tmp_path / "m.onnx", LogisticRegression().fit(x, y), x, zipmap=False)
    assert query_onnx(problem, path).parameters == 3 * 4 + 3
    forest = RandomForestClassifier(4, random_state=0).fit(x, y)
    path = write(tmp_path / "f.onnx", forest, x, zipmap=False)
    leaves = sum(tree.tree_.n_leaves for tree in forest.estimators_)
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    assert query_onnx(problem, path).parameters == nodes + 3 * leaves


def test_a_network_for_images_predicts_rows_of_pixels(tmp_path):
    problem = load("digits")
    weights = np.random.default_rng(0).normal(size=(64, 10)).astype(np.float32)
    path = graph(
        tmp_path / "i.onnx",
        [helper.make_node("Flatten", ["x"], ["flat"], axis=1), helper.make_node("MatMul", ["flat", "w"], ["z"])],
        [("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [("z", TensorProto.FLOAT, ["n", 10])],
        {"w": weights},
    )
    assert query_onnx(problem, path).logits == pytest.approx(problem.X @ weights, abs=1e-3)


def test_our_own_students_find_their_columns_and_classes_by_name(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = np.where(x[:, 0] - x[:, 2] > 0, "yes", "no")
    names = ["a", "b", "c"]
    model = sl.TwoLayerClassifier(width=8).fit(pl.DataFrame(x, schema=names), y)
    export_student(model.model_, tmp_path, "s", x)
    straight = query_onnx(Problem.from_arrays(pl.DataFrame(x, schema=names), y), tmp_path / "s.onnx")
    turned = query_onnx(Problem.from_arrays(pl.DataFrame(x[:, ::-1], schema=names[::-1]), y), tmp_path / "s.onnx")
    assert turned.probabilities == pytest.approx(straight.probabilities, abs=1e-6)
    assert (straight.probabilities.argmax(1) == (y == "yes")).mean() > 0.95
    with pytest.raises(InputError, match="learned from other columns: the data have no 'a'"):
        query_onnx(Problem.from_arrays(pl.DataFrame(x, schema=["x", "b", "c"]), y), tmp_path / "s.onnx")
    with pytest.raises(InputError, match="is for other classes"):
        query_onnx(
            Problem.from_arrays(pl.DataFrame(x, schema=names), np.where(y == "yes", "ill", "well")), tmp_path / "s.onnx"
        )
    without = query_onnx(Problem.from_arrays(x, y), tmp_path / "s.onnx")
    assert without.probabilities == pytest.approx(straight.probabilities, abs=1e-6)


def test_a_model_of_other_classes_is_refused(tmp_path):
    x, _ = table()
    y = np.where(x[:, 0] > 0, 7, 3)
    path = write(tmp_path / "m.onnx", LogisticRegression().fit(x, y), x, zipmap=False)
    with pytest.raises(InputError, match=r"is for other classes: it decides for '3', '7', the data have '0', '1'"):
        query_onnx(Problem.from_arrays(x, np.where(y == 7, 1, 0)), path)
    numbered = write(tmp_path / "n.onnx", LogisticRegression().fit(x, (y == 7).astype(int)), x, zipmap=False)
    found = query_onnx(Problem.from_arrays(x, np.where(y == 7, "well", "sick")), numbered)
    assert (found.probabilities.argmax(1) == 1).tolist() == [bool(b) for b in found.probabilities[:, 1] > 0.5]
    assert (found.probabilities.argmax(1) != (y == 7)).mean() < 0.1


def test_a_model_whose_columns_contradict_the_labels_is_refused(tmp_path):
    x, _ = table()
    y = np.where(x[:, 0] > 0, "b", "a")
    swapped = linear(tmp_path / "s.onnx", np.array([[3, -3], [0, 0], [0, 0], [0, 0]], dtype=np.float32))
    with pytest.raises(InputError, match=r"of 96 rows: are its columns in the order of the classes \('a', 'b'\)"):
        query_onnx(Problem.from_arrays(x, y), swapped)
    straight = linear(tmp_path / "t.onnx", np.array([[-3, 3], [0, 0], [0, 0], [0, 0]], dtype=np.float32))
    assert (query_onnx(Problem.from_arrays(x, y), straight).probabilities.argmax(1) == (y == "b")).all()
