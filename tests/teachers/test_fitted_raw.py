"""Models in memory for tables with text and gaps: each gets the columns that it learned from."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import softmax
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from softlabel.data import load
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.fitted_inputs import raw_frame
from softlabel.teachers.sources import query_teacher

NAMES = ["age", "sex", "port"]


def table(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    sex, port = rng.choice(["m", "f"], rows), rng.choice(["S", "C", "Q"], rows).astype(object)
    age = np.round(rng.normal(40, 10, rows), 1)
    y = np.where(rng.random(rows) < np.where(sex == "f", 0.85, 0.2) - 0.004 * (age - 40), "yes", "no")
    age[::9], port[::13] = np.nan, None
    return pd.DataFrame({"age": age, "sex": sex, "port": port}), y


def in_polars(frame):
    return pl.DataFrame({"age": pl.Series(frame["age"].to_numpy()).fill_nan(None), **{
        name: [None if pd.isna(entry) else entry for entry in frame[name]] for name in ("sex", "port")
    }})  # fmt: skip


def pipeline(frame, y):
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore"))
    steps = [("n", SimpleImputer(), ["age"]), ("w", words, ["sex", "port"])]
    return make_pipeline(ColumnTransformer(steps), LogisticRegression(max_iter=500)).fit(frame, y)


def test_a_pipeline_gets_the_users_own_pandas_frame():
    frame, y = table()
    model = pipeline(frame, y)
    problem = Problem.from_arrays(frame, y)
    assert problem.encoder is not None
    predictions = query_teacher(problem, model, transfer=frame[:30])
    assert predictions.probabilities == pytest.approx(model.predict_proba(frame), abs=1e-5)
    assert softmax(predictions.transfer, axis=1) == pytest.approx(model.predict_proba(frame[:30]), abs=1e-5)
    assert predictions.milliseconds is not None


def test_other_orders_and_further_columns_do_not_matter():
    frame, y = table()
    model = pipeline(frame, y)
    wider = frame.assign(note="x", number=np.arange(len(frame)))[["number", "port", "note", "sex", "age"]]
    predictions = query_teacher(Problem.from_arrays(wider, y), model)
    assert predictions.probabilities == pytest.approx(model.predict_proba(frame), abs=1e-5)


def test_a_pipeline_on_polars_frames_gets_polars_frames():
    frame, y = table()
    own = in_polars(frame)
    problem = Problem.from_arrays(own, y)
    seen = []

    class Watched:
        feature_names_in_ = tuple(NAMES)
        classes_ = ("no", "yes")

        def predict_proba(self, inputs):
            seen.append(inputs)
            sure = (inputs["sex"] == "f").to_numpy() * 0.8 + 0.1
            return np.stack([1 - sure, sure], axis=1)

    predictions = query_teacher(problem, Watched(), transfer=own[:9])
    assert all(isinstance(inputs, pl.DataFrame) for inputs in seen)
    assert seen[0].equals(own)
    assert seen[1].equals(own[:9])
    assert predictions.probabilities[:, 1] == pytest.approx(np.where(frame["sex"] == "f", 0.9, 0.1))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_from_a_file_becomes_a_frame_like_that_of_pandas(tmp_path, suffix):
    frame, y = table()
    model = pipeline(frame, y)
    whole_table = in_polars(frame).with_columns(pl.Series("y", y))
    path = tmp_path / f"t.{suffix}"
    whole_table.write_csv(path) if suffix == "csv" else whole_table.write_parquet(path)
    problem = load(path, "y")
    assert problem.source is None
    predictions = query_teacher(problem, model)
    assert predictions.probabilities == pytest.approx(model.predict_proba(frame), abs=1e-5)

    def function(inputs):
        assert isinstance(inputs, pd.DataFrame)
        assert inputs["port"].isna().sum() == frame["port"].isna().sum()
        return np.where(inputs["sex"] == "f", 0.9, 0.1)

    assert query_teacher(problem, function).probabilities[:, 1] == pytest.approx(
        np.where(frame["sex"] == "f", 0.9, 0.1)
    )


def test_without_pandas_the_frame_is_one_of_polars(monkeypatch):
    from softlabel.teachers import fitted_inputs

    frame = in_polars(table()[0])
    assert isinstance(raw_frame(frame), pd.DataFrame)
    monkeypatch.setattr(fitted_inputs, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "pandas")
    assert raw_frame(frame) is frame


def test_types_of_columns_survive_in_pandas():
    frame = pl.DataFrame(
        {
            "n": [1, None, 3], "i": [1, 2, 3], "b": [True, False, True], "g": [True, None, False],
            "t": ["a", None, "c"],
            "d": pl.Series(["2020-01-01", None, "2021-05-03"]).str.to_date(),
            "c": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
        }
    )  # fmt: skip
    made = raw_frame(frame, pd.DataFrame())
    assert made["n"].dtype == np.float64
    assert made["n"].isna().tolist() == made["t"].isna().tolist() == made["g"].isna().tolist() == [False, True, False]
    assert made["i"].dtype.kind == "i"
    assert made["b"].dtype == bool
    assert made["g"].tolist()[::2] == [True, False]
    assert made["d"].dt.year.tolist()[::2] == [2020, 2021]
    assert made["c"].tolist() == ["u", "v", "u"]


def test_a_model_of_the_encoded_columns():
    frame, y = table()
    problem = Problem.from_arrays(frame, y)
    by_array = LogisticRegression(max_iter=500).fit(problem.train.X, y[problem.train.rows])
    predictions = query_teacher(problem, by_array, transfer=problem.X[:4])
    assert predictions.probabilities == pytest.approx(by_array.predict_proba(problem.X), abs=1e-5)
    assert softmax(predictions.transfer, axis=1) == pytest.approx(by_array.predict_proba(problem.X[:4]), abs=1e-5)
    encoded = pd.DataFrame(problem.X, columns=problem.columns)[list(problem.columns)[::-1]]
    by_name = LogisticRegression(max_iter=500).fit(encoded, y)
    assert query_teacher(problem, by_name).probabilities == pytest.approx(by_name.predict_proba(encoded), abs=1e-5)


def test_a_model_of_an_array_with_gaps(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 1] > 0, "yes", "no")
    X[::5, 0] = np.nan
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    truth = model.predict_proba(X)
    assert query_teacher(Problem.from_arrays(X, y), model).probabilities == pytest.approx(truth, abs=1e-5)
    pd.DataFrame(X, columns=list("abc")).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    problem = load(tmp_path / "t.csv", "y")
    assert problem.encoder is not None
    assert query_teacher(problem, model).probabilities == pytest.approx(truth, abs=1e-5)


def test_names_that_a_library_invents_are_no_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    y = np.where(X[:, 1] > 0, "yes", "no")
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    model = LogisticRegression().fit(X, y)
    for names in (["Column_0", "Column_1", "Column_2"], ["f0", "f1", "f2"], ["0", "1", "2"]):
        model.feature_names_ = names  # as CatBoost calls them
        predictions = query_teacher(Problem.from_arrays(frame, y), model)
        assert predictions.probabilities == pytest.approx(model.predict_proba(X), abs=1e-5)
    model.feature_names_ = ["a", "b", "d"]
    with pytest.raises(InputError, match="the data have no 'd' and it does not know 'c'"):
        query_teacher(Problem.from_arrays(frame, y), model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="sex"), "learned from other columns: the data have no 'sex'"),
        (lambda frame: frame.rename(columns={"port": "harbor"}), "have no 'port' and it does not know 'harbor'"),
        (lambda frame: frame.assign(age="old" + frame["sex"]), "teacher Pipeline fails on the data: "),
    ],
)
def test_tables_that_do_not_fit(change, message):
    frame, y = table()
    model = pipeline(frame, y)
    with pytest.raises(InputError, match=message) as caught:
        query_teacher(Problem.from_arrays(change(frame), y), model)
    assert "\n" not in str(caught.value)


def test_an_array_of_another_width_names_both_counts():
    frame, y = table()
    model = LogisticRegression().fit(np.random.default_rng(0).normal(size=(len(y), 11)), y)
    with pytest.raises(InputError, match=r"array of 11 columns; the data have 3, and 7 once they are encoded: fit it"):
        query_teacher(Problem.from_arrays(frame, y), model)


def test_encoded_rows_are_no_rows_for_a_teacher_of_raw_columns():
    frame, y = table()
    problem = Problem.from_arrays(frame, y)
    with pytest.raises(InputError, match="the unlabeled rows are encoded already: pass them as a frame or a file"):
        query_teacher(problem, pipeline(frame, y), transfer=problem.X[:5])


def test_columns_of_an_array_with_gaps_have_the_order_of_the_teachers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 1] > 0, "yes", "no")
    X[::5, 0] = np.nan
    named = pd.DataFrame(X, columns=list("abc"))
    model = HistGradientBoostingClassifier(max_iter=10).fit(named, y)
    predictions = query_teacher(Problem.from_arrays(X, y), model)
    assert predictions.probabilities == pytest.approx(model.predict_proba(named), abs=1e-5)
    assert "the data's columns have no names" in predictions.notes[0]
    numbered = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    numbered.feature_names_ = ["0", "1", "2"]
    assert query_teacher(Problem.from_arrays(X, y), numbered).notes == ()
