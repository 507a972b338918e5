"""Columns of a table as typed inputs of an ONNX model, and scikit-learn pipelines with one input per column."""

import numpy as np
import pandas
import polars as pl
import pytest
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import BooleanTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from softlabel.errors import InputError
from softlabel.export import load_model
from softlabel.export.column_feeds import column_feed
from softlabel.studies.predict import predict

STRING, FLOAT, INT64, BOOL = "tensor(string)", "tensor(float)", "tensor(int64)", "tensor(bool)"


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["a", None, " b "], STRING, ["a", "", " b "]),
        ([1, 2, None], STRING, ["1", "2", ""]),
        ([1.0, 2.5, None], STRING, ["1", "2.5", ""]),
        ([1, 2, 3], FLOAT, [1.0, 2.0, 3.0]),
        (["1.5", "NA", "-2"], FLOAT, [1.5, np.nan, -2.0]),
        ([True, False, None], "tensor(double)", [1.0, 0.0, np.nan]),
        ([2**53 + 1, 0, -7], INT64, [2**53 + 1, 0, -7]),
        ([1.0, 2.0, 3.0], "tensor(int32)", [1, 2, 3]),
        ([True, False, True], BOOL, [True, False, True]),
        (["True", "false", "1"], BOOL, [True, False, True]),
        ([0, 1, 1], BOOL, [False, True, True]),
    ],
)
def test_entries_of_every_type(values, kind, expected):
    feed = column_feed(pl.Series("c", values), kind, "t")
    assert feed.shape == (3, 1)
    np.testing.assert_array_equal(feed[:, 0], np.array(expected, dtype=feed.dtype))


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (["x", "1"], FLOAT, "t: column 'c' has 'x' in row 1, which is not a number"),
        ([1.0, 2.5], INT64, "takes integers in column 'c', which has '2.5' in row 2"),
        ([1, None], INT64, "takes integers in column 'c', which is missing in row 2"),
        ([1, 2], BOOL, "takes true and false in column 'c', which has '2' in row 2"),
        (["yes", "no"], BOOL, "takes true and false in column 'c', which has 'yes' in row 1"),
        ([True, None], BOOL, "which is missing in row 2"),
    ],
)
def test_entries_of_another_type_are_one_line(values, kind, message):
    with pytest.raises(InputError, match=message):
        column_feed(pl.Series("c", values), kind, "t")


def table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "town": rng.choice(["Ulm", "Köln", "01"], rows),
            "area": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)).astype(np.float32),
            "floor": rng.integers(0, 5, rows),
            "sold": rng.random(rows) > 0.5,
        }
    )


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """A pipeline with inputs of four types, and its file."""
    frame = table()
    columns = ColumnTransformer(
        [
            ("town", OneHotEncoder(handle_unknown="ignore"), ["town"]),
            ("area", SimpleImputer(), ["area"]),
            ("rest", "passthrough", ["floor", "sold"]),
        ]
    )
    model = make_pipeline(columns, LogisticRegression()).fit(frame, np.where(frame["area"] > 0, "large", "small"))
    types = [StringTensorType, FloatTensorType, Int64TensorType, BooleanTensorType]
    kinds = [(name, kind([None, 1])) for name, kind in zip(frame.columns, types, strict=True)]
    path = tmp_path_factory.mktemp("m") / "m.onnx"
    path.write_bytes(convert_sklearn(model, initial_types=kinds, target_opset=17).SerializeToString())
    return model, path


def test_a_pipeline_takes_frames_and_files(pipeline, tmp_path):
    model, path = pipeline
    frame, loaded = table(30, 1), load_model(path)
    assert loaded.columns == ("town", "area", "floor", "sold")
    assert loaded.classes == ("large", "small")
    truth = model.predict_proba(frame)
    assert loaded.probabilities(frame) == pytest.approx(truth, abs=1e-5)
    frame.assign(kind="small", other="?").to_csv(tmp_path / "t.csv", index=False)
    result = predict(path, tmp_path / "t.csv", label="kind", drop=["other"])
    assert result.probabilities == pytest.approx(truth, abs=1e-5)
    assert result.accuracy == pytest.approx((model.predict(frame) == "small").mean())


def test_text_that_looks_like_numbers_stays_text(pipeline, tmp_path):
    model, path = pipeline
    frame = table(10, 2).assign(town="01")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert predict(path, tmp_path / "t.csv").probabilities == pytest.approx(model.predict_proba(frame), abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"floor": 0.5}, r"column 'floor', which has '0.5' in row 1"),
        ({"area": "large"}, r"t.csv': column 'area' has 'large' in row 1, which is not a number"),
        ({"sold": 7}, r"takes true and false in column 'sold', which has '7' in row 1"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line(pipeline, tmp_path, change, message):
    table(10).assign(**change).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=message) as caught:
        predict(pipeline[1], tmp_path / "t.csv")
    assert "\n" not in str(caught.value)


def test_missing_columns_and_arrays_are_refused(pipeline):
    with pytest.raises(InputError, match="lacks 1 of the model's 4 columns: town"):
        predict(pipeline[1], table().drop(columns="town"))
    with pytest.raises(InputError, match="must be a polars or pandas frame or a dictionary with the columns town"):
        predict(pipeline[1], np.zeros((3, 4)))
