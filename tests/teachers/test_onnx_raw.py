"""ONNX models for tables as people have them: columns by name, text, gaps, and models of boosted trees."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import polars as pl
import pytest
import torch
from onnx import TensorProto, helper
from scipy.special import softmax
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (
    BooleanTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from softlabel.data import load
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.onnx_file import query_onnx
from softlabel.teachers.rows import QueryRows, unlabeled_rows
from softlabel.teachers.sources import query_teacher

FILES = Path(__file__).parent / "files"  # written by make_onnx_files.py
BOOSTED = sorted(path.stem for path in FILES.glob("*.onnx"))
NUMBERS, WORDS = ["age", "fare (€)", "siblings"], ["sex", "port"]


def passengers(rows=240, seed=0):
    """A table with text, integers, gaps in numbers and in text, and an id."""
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(35, 12, rows), 1)
    sex, port = rng.choice(["male", "female"], rows), rng.choice(["S", "C", "Q"], rows)
    lived = rng.random(rows) < 1 / (1 + np.exp(-(2.5 * (sex == "female") - 1.5 + (port == "C") - 0.02 * (age - 35))))
    frame = pl.DataFrame(
        {
            "ticket id": np.arange(rows) + 1000, "age": age, "fare (€)": np.round(rng.gamma(2, 10, rows), 2),
            "siblings": rng.integers(0, 4, rows), "sex": sex, "port": port,
        }
    )  # fmt: skip
    gaps = np.arange(rows) % 11 == 3
    frame = frame.with_columns(
        pl.when(pl.Series(gaps)).then(None).otherwise(pl.col("age")).alias("age"),
        pl.when(pl.Series(np.roll(gaps, 4))).then(None).otherwise(pl.col("port")).alias("port"),
    )
    return frame, np.where(lived, "lived", "died")


def as_pandas(frame):
    """As pandas would have it, with empty text for missing text."""
    return pd.DataFrame(
        {c: frame[c].fill_null("").to_list() if c in WORDS else frame[c].to_numpy() for c in frame.columns}
    )


def pipeline(frame, y):
    words = OneHotEncoder(handle_unknown="ignore")
    steps = [("n", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS), ("w", words, WORDS)]
    return make_pipeline(ColumnTransformer(steps), LogisticRegression()).fit(frame[NUMBERS + WORDS], y)


def exported(path, model, kinds=None, names=None):
    kinds = kinds or {}
    types = [(name, kinds.get(name, FloatTensorType)([None, 1])) for name in NUMBERS]
    types += [(name, StringTensorType([None, 1])) for name in WORDS]
    content = to_onnx(model, initial_types=types, options={id(model): {"zipmap": False}} if names is None else None)
    path.write_bytes(content.SerializeToString())
    return path


@pytest.fixture(scope="module")
def ship(tmp_path_factory):
    """A problem with an encoder from a file, a pipeline of text columns, its ONNX file and its probabilities."""
    folder = tmp_path_factory.mktemp("ship")
    frame, y = passengers()
    frame.with_columns(pl.Series("fate", y)).write_csv(folder / "ship.csv")
    mine = as_pandas(frame)
    model = pipeline(mine, y)
    return load(folder / "ship.csv", "fate"), exported(folder / "m.onnx", model), model, mine


def test_the_problem_of_these_tests_is_encoded(ship):
    problem = ship[0]
    assert problem.encoder is not None
    assert problem.X.shape[1] > len(problem.encoder.columns)
    assert "ticket id" not in problem.encoder.columns


@pytest.mark.parametrize("kinds", [{}, {"siblings": Int64TensorType}])
@pytest.mark.parametrize("names", [None, "zipmap"])
def test_columns_by_name_with_text_and_gaps(ship, tmp_path, kinds, names):
    problem, _, model, mine = ship
    path = exported(tmp_path / "m.onnx", model, kinds, names)
    predictions = query_onnx(problem, path)
    assert predictions.probabilities == pytest.approx(model.predict_proba(mine[NUMBERS + WORDS]), abs=1e-4)
    assert predictions.milliseconds is not None


def test_a_frame_in_memory_is_read_like_a_file(ship):
    _, path, model, mine = ship
    own = Problem.from_arrays(mine.drop(columns="ticket id").replace({"port": {"": None}}), model.predict(mine))
    assert own.encoder is not None
    assert query_onnx(own, path).probabilities == pytest.approx(model.predict_proba(mine), abs=1e-4)


def test_unlabeled_rows_with_text(ship, tmp_path):
    problem, path, model, _ = ship
    frame, _ = passengers(60, seed=1)
    frame.write_csv(tmp_path / "u.csv")
    truth = model.predict_proba(as_pandas(frame))
    for transfer in (tmp_path / "u.csv", frame, frame.drop("ticket id")):
        predictions = query_teacher(problem, path, transfer=transfer)
        assert softmax(predictions.transfer, axis=1) == pytest.approx(truth, abs=1e-4)
    rows = unlabeled_rows(frame, problem)
    some = query_teacher(problem, path, transfer=rows.take(np.arange(60) % 2 == 0))
    assert softmax(some.transfer, axis=1) == pytest.approx(truth[::2], abs=1e-4)
    with pytest.raises(InputError, match=r"takes the columns of the data by name .*, but the unlabeled rows"):
        query_teacher(problem, path, transfer=rows.X)
    with pytest.raises(InputError, match="unlabeled rows have no column 'sex'"):
        query_teacher(problem, path, transfer=frame.drop("sex"))


def test_unlabeled_rows_are_encoded_anew_for_another_split(ship):
    problem, path, model, _ = ship
    frame, _ = passengers(60, seed=1)
    rows = unlabeled_rows(frame, problem)
    assert unlabeled_rows(rows, problem) is rows
    other = problem.with_split("standard", seed=5)
    assert np.array_equal(unlabeled_rows(rows, other).X, other.encoder.transform(frame))
    predictions = query_teacher(other, path, transfer=rows)
    assert softmax(predictions.transfer, axis=1) == pytest.approx(model.predict_proba(as_pandas(frame)), abs=1e-4)


def test_an_unknown_category_is_the_models_matter(ship, tmp_path):
    problem, path, model, mine = ship
    strange = problem.table.with_columns(
        pl.when(pl.arange(len(problem)) == 7).then(pl.lit("X")).otherwise("port").alias("port")
    )
    predictions = query_onnx(replace(problem, table=strange), path)
    changed = mine.copy()
    changed.loc[7, "port"] = "X"
    assert predictions.probabilities[7] == pytest.approx(model.predict_proba(changed)[7], abs=1e-4)


def test_a_column_that_the_table_lacks(ship):
    problem, path, _, _ = ship
    with pytest.raises(InputError, match="learned from other columns: the data have no 'port'"):
        query_onnx(replace(problem, table=problem.table.drop("port")), path)


def test_text_where_the_model_takes_numbers(ship):
    problem, path, _, _ = ship
    age = pl.Series("age", [*["30"] * 9, "old", *["31"] * (len(problem) - 10)])
    with pytest.raises(InputError, match=r"takes numbers in column 'age', row 10 has 'old': export it with text"):
        query_onnx(replace(problem, table=problem.table.with_columns(age)), path)
    dates = pl.Series("age", pd.date_range("2020-01-01", periods=len(problem)).to_numpy())
    with pytest.raises(InputError, match=r"takes tensor\(float\) in column 'age', which has values of type"):
        query_onnx(replace(problem, table=problem.table.with_columns(dates)), path)


def test_gaps_where_the_model_takes_integers(ship, tmp_path):
    problem, _, model, _ = ship
    path = exported(tmp_path / "m.onnx", model, {"siblings": Int64TensorType})
    holes = pl.when(pl.arange(len(problem)) == 4).then(None).otherwise("siblings").alias("siblings")
    with pytest.raises(InputError, match="takes integers, column 'siblings' is missing in row 5: fill it in"):
        query_onnx(replace(problem, table=problem.table.with_columns(holes)), path)


def test_numbers_written_with_commas_are_read_as_the_data_are(tmp_path):
    frame, y = passengers()
    comma = frame.with_columns(pl.col("fare (€)").map_elements(lambda v: f"{v:.2f}".replace(".", ","), pl.String))
    comma.with_columns(pl.Series("fate", y)).write_csv(tmp_path / "t.csv", separator=";")
    problem = load(tmp_path / "t.csv", "fate")
    model = pipeline(as_pandas(frame), y)
    predictions = query_onnx(problem, exported(tmp_path / "m.onnx", model))
    assert problem.table["fare (€)"].dtype == pl.String
    assert predictions.probabilities == pytest.approx(model.predict_proba(as_pandas(frame)), abs=1e-4)


def two_columns(path, kinds, shape=("n", 1)):
    """z = a − b of two inputs of these types; text counts as its length."""
    nodes = [helper.make_node("Cast", [name], [f"{name}f"], to=TensorProto.FLOAT) for name in ("a", "b")]
    nodes += [helper.make_node("Sub", ["af", "bf"], ["s"]), helper.make_node("Reshape", ["s", "form"], ["z"])]
    inputs = [helper.make_tensor_value_info(n, k, list(shape)) for n, k in zip("ab", kinds, strict=True)]
    output = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 1])
    form = helper.make_tensor("form", TensorProto.INT64, [2], [-1, 1])
    graph = helper.make_graph(nodes, "g", inputs, [output], [form])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.mark.parametrize("shape", [("n", 1), ("n",)])
@pytest.mark.parametrize("kind", [TensorProto.BOOL, TensorProto.INT32, TensorProto.STRING, TensorProto.DOUBLE])
def test_plain_numbers_become_what_a_model_takes(tmp_path, kind, shape):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"b": rng.normal(size=90), "a": rng.integers(0, 2, 90)})
    y = np.where(frame["a"] - frame["b"] > 0, "yes", "no")
    problem = Problem.from_arrays(frame, y)
    assert problem.table is None
    path = two_columns(tmp_path / "m.onnx", [kind, TensorProto.FLOAT], shape)
    assert query_onnx(problem, path).logits[:, 1] == pytest.approx(frame["a"] - frame["b"], abs=1e-6)
    if kind == TensorProto.BOOL:
        other = Problem.from_arrays(frame.with_columns(pl.col("a") * 2), y)
        with pytest.raises(InputError, match=r"takes true or false \(1 or 0\), column 'a' has 2 \(row \d+\)"):
            query_onnx(other, path)


def test_truth_values_of_a_table(tmp_path):
    frame, y = passengers(120)
    frame = frame.with_columns((pl.col("siblings") > 1).alias("many"))
    types = [("many", BooleanTensorType([None, 1]))]
    model = LogisticRegression().fit(frame.select("many").to_numpy().astype(float), y)
    content = to_onnx(model, initial_types=types, options={id(model): {"zipmap": False}})
    (tmp_path / "m.onnx").write_bytes(content.SerializeToString())
    problem = Problem.from_arrays(frame, y)
    predictions = query_onnx(problem, tmp_path / "m.onnx")
    assert predictions.probabilities == pytest.approx(
        model.predict_proba(frame.select("many").to_numpy().astype(float)), abs=1e-5
    )
    assert "the teacher does not use the columns" in predictions.notes[0]


@pytest.mark.parametrize("name", BOOSTED)
def test_boosted_trees_of_other_libraries(name):
    """Whatever they return: tables, or lists of {class: probability}, with numbers or names of classes."""
    expected = json.loads((FILES / f"{name}.json").read_text())
    X, y = {"breast-cancer": load_breast_cancer, "wine": load_wine}[expected["table"]](return_X_y=True)
    X = X[:, :5]
    X[::7, 1] = np.nan
    labels = np.array(["barolo", "grignolino", "barbera"])[y] if name.endswith("names") else y
    problem = Problem.from_arrays(X, labels)
    assert problem.encoder is not None
    predictions = query_onnx(problem, FILES / f"{name}.onnx")
    order = [expected["classes"].index(c) for c in problem.classes]
    shown = predictions.probabilities[expected["rows"]]
    assert shown == pytest.approx(np.array(expected["probabilities"])[:, order], abs=2e-6)
    accuracy = (predictions.logits.argmax(axis=1) == problem.y).mean()
    assert accuracy > 0.8


@pytest.mark.parametrize("name", ["lightgbm-wine", "xgboost-wine", "catboost-wine"])
def test_a_model_that_numbers_its_classes_has_them_in_the_order_of_the_data(name):
    X, y = load_wine(return_X_y=True)
    problem = Problem.from_arrays(X[:, :5], np.array(["a", "b", "c"])[y])
    predictions = query_onnx(problem, FILES / f"{name}.onnx")
    assert (predictions.logits.argmax(axis=1) == problem.y).mean() > 0.8
    from_one = Problem.from_arrays(X[:, :5], y + 1)
    assert np.array_equal(query_onnx(from_one, FILES / f"{name}.onnx").logits, predictions.logits)
    with pytest.raises(InputError, match="in the order of the classes"):
        query_onnx(Problem.from_arrays(X[:, :5], np.array(["c", "a", "b"])[y]), FILES / f"{name}.onnx")


def test_one_table_of_numbers_takes_raw_columns_or_encoded_ones(ship, tmp_path):
    problem, *_ = ship
    raw = LogisticRegression(max_iter=1000).fit(problem.X, problem.y)
    path = tmp_path / "encoded.onnx"
    path.write_bytes(to_onnx(raw, problem.X[:1], options={"zipmap": False}).SerializeToString())
    predictions = query_onnx(problem, path)
    assert predictions.probabilities == pytest.approx(raw.predict_proba(problem.X), abs=1e-4)
    assert "it gets the encoded columns" in predictions.notes[0]
    rows = QueryRows(problem.X[:5])
    assert softmax(query_onnx(problem, path, transfer=rows).transfer, axis=1) == pytest.approx(
        raw.predict_proba(problem.X[:5]), abs=1e-4
    )
    with pytest.raises(
        InputError,
        match=r"takes one table of 5 columns; the data have 6, of which 'sex', 'port' are not .* and 9 once",
    ):
        query_onnx(problem, FILES / "lightgbm-wine.onnx")


def test_gaps_of_numbers_reach_the_model_as_nan(tmp_path):
    """The model counts the gaps of each row: one table of raw columns, in which gaps are NaN and not filled in."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)).astype(np.float32)
    X[::4, 0] = X[::6, 2] = np.nan
    y = np.where(np.isnan(X).any(axis=1), "yes", "no")
    nodes = [
        helper.make_node("IsNaN", ["x"], ["gap"]),
        helper.make_node("Cast", ["gap"], ["one"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["one", "axis"], ["z"], keepdims=1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    output = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 1])
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [1])
    graph = helper.make_graph(nodes, "g", inputs, [output], [axis])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    frame = pl.DataFrame({n: [None if np.isnan(v) else float(v) for v in X[:, k]] for k, n in enumerate("abc")})
    for data in (frame, X):
        predictions = query_onnx(Problem.from_arrays(data, y), tmp_path / "m.onnx", kind="logits")
        assert np.array_equal(predictions.logits[:, 1], np.isnan(X).sum(axis=1))


def test_string_labels_in_another_order(ship, tmp_path):
    """The pipeline knows 'died' and 'lived'; the data may have chosen another order of classes."""
    problem, _, model, mine = ship
    turned = problem.with_classes(classes="lived,died").with_split("standard")
    for names in (None, "zipmap"):
        predictions = query_onnx(turned, exported(tmp_path / "m.onnx", model, names=names))
        assert turned.classes == ("lived", "died")
        assert predictions.probabilities == pytest.approx(model.predict_proba(mine)[:, ::-1], abs=1e-4)


@pytest.mark.filterwarnings("ignore")  # of the exporter
def test_a_torch_network_of_the_encoded_columns(ship, tmp_path):
    pytest.importorskip("onnxscript")
    problem, *_ = ship
    torch.manual_seed(0)
    d = problem.X.shape[1]
    network = torch.nn.Sequential(torch.nn.Linear(d, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    torch.nn.init.zeros_(network[2].weight)
    torch.onnx.export(
        network, (torch.zeros(2, d),), tmp_path / "m.onnx", input_names=["x"], external_data=False, verbose=False,
        dynamic_shapes=({0: "n"},),
    )  # fmt: skip
    predictions = query_onnx(problem, tmp_path / "m.onnx")
    assert predictions.kind == "logits"
    truth = network(torch.from_numpy(problem.X)).detach().numpy()
    assert predictions.logits == pytest.approx(truth, abs=1e-5)
