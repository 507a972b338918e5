"""Fitted models and functions as teachers: asked as they want to be, aligned by name, their faults told in one line."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softlabel.data import load
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.fitted import query_fitted

NAMES = ["age", "weight", "dose"]


def table(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3)) * [1.0, 10.0, 0.1]
    return x, np.array(["ill", "well", "odd"])[(x[:, 0] > 0).astype(int) + (x[:, 1] > 3)]


class Stub:
    """Answers with a fixed table."""

    def __init__(self, answer, classes=None):
        self.answer = answer
        if classes is not None:
            self.classes_ = classes

    def predict_proba(self, inputs):
        return self.answer(inputs) if callable(self.answer) else self.answer


def test_a_fitted_model_says_what_it_says():
    x, y = table()
    model = LogisticRegression().fit(x, y)
    found = query_fitted(Problem.from_arrays(x, y), model, transfer=x[:5].astype(np.float32))
    assert found.probabilities == pytest.approx(model.predict_proba(x), abs=1e-5)
    assert found.kind == "probabilities"
    assert not found.out_of_fold
    assert found.description == "LogisticRegression.predict_proba"
    assert softmax(found.transfer, axis=1) == pytest.approx(model.predict_proba(x[:5]), abs=1e-4)
    assert found.milliseconds > 0


def test_columns_of_predictions_are_put_in_the_order_of_the_classes():
    x, y = table(9)
    y = np.array(["b", "a", "c"] * 3)
    x = np.repeat(x[:3], 3, axis=0) + np.arange(9)[:, None]
    said = np.tile([0.7, 0.2, 0.1], (9, 1))
    problem = Problem.from_arrays(np.tile(x, (3, 1)), np.tile(y, 3))
    found = query_fitted(problem, Stub(np.tile(said, (3, 1)), ["c", "a", "b"]))
    assert found.probabilities[0] == pytest.approx([0.2, 0.1, 0.7])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_given_back_to_the_model_that_learned_from_them(frame):
    x, y = table()
    mine = frame(dict(zip(NAMES, x.T, strict=True)))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(mine, y)
    problem = Problem.from_arrays(mine, y)
    truth = model.predict_proba(mine)
    found = query_fitted(problem, model, transfer=x[:4].astype(np.float32))
    assert found.probabilities == pytest.approx(truth, abs=1e-5)
    assert softmax(found.transfer, axis=1) == pytest.approx(truth[:4], abs=1e-4)
    turned = Problem.from_arrays(mine[NAMES[::-1]], y)
    found = query_fitted(turned, model, transfer=x[:4, ::-1].astype(np.float32))
    assert found.probabilities == pytest.approx(truth, abs=1e-5)
    assert softmax(found.transfer, axis=1) == pytest.approx(truth[:4], abs=1e-4)
    by_array = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    assert query_fitted(problem, by_array).probabilities == pytest.approx(truth, abs=1e-5)


def test_a_table_from_a_file_is_named_for_the_model(tmp_path):
    x, y = table()
    mine = pl.DataFrame({**dict(zip(NAMES, x.T, strict=True)), "state": y})
    mine.select(["dose", "state", "age", "weight"]).write_csv(tmp_path / "t.csv")
    model = LogisticRegression().fit(mine[NAMES], y)
    problem = load(tmp_path / "t.csv", "state")
    assert problem.columns == ("dose", "age", "weight")
    assert query_fitted(problem, model).probabilities == pytest.approx(model.predict_proba(mine[NAMES]), abs=1e-4)


def test_a_model_with_names_for_data_without(tmp_path):
    x, y = table()
    model = LogisticRegression().fit(pl.DataFrame(dict(zip(NAMES, x.T, strict=True))), y)
    found = query_fitted(Problem.from_arrays(x, y), model)
    assert "no names" in found.notes[0]
    with pytest.raises(InputError, match="learned from 3 columns, the data have 2"):
        query_fitted(Problem.from_arrays(x[:, :2], y), model)


def test_other_columns_are_named():
    x, y = table()
    model = LogisticRegression().fit(pl.DataFrame(dict(zip(NAMES, x.T, strict=True))), y)
    other = pl.DataFrame(dict(zip(["age", "height", "dose"], x.T, strict=True)))
    with pytest.raises(InputError, match="data have no 'weight' and it does not know 'height'; rename or drop"):
        query_fitted(Problem.from_arrays(other, y), model)
    with pytest.raises(InputError, match="learned from 3 columns, the data have 2"):
        query_fitted(Problem.from_arrays(x[:, :2], y), LogisticRegression().fit(x, y))


def test_other_classes_are_named():
    x, y = table()
    model = LogisticRegression().fit(x, np.where(y == "odd", "dead", y))
    with pytest.raises(InputError, match="knows 'dead', which the data do not have and it does not know 'odd'"):
        query_fitted(Problem.from_arrays(x, y), model)


def test_classes_as_numbers_and_truth_values():
    x, _ = table()
    for y in (x[:, 0] > 0, (x[:, 0] > 0).astype(int), (x[:, 0] > 0).astype(float)):
        model = LogisticRegression().fit(x, x[:, 0] > 0)
        found = query_fitted(Problem.from_arrays(x, y), model)
        assert found.probabilities == pytest.approx(model.predict_proba(x), abs=1e-5)


def fails(inputs):
    raise RuntimeError("no graphics card\nat line 3")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (fails, "teacher Stub fails on the data: RuntimeError: no graphics card$"),
        (lambda x: np.full((len(x), 3), np.nan), "not finite"),
        (lambda x: np.full((len(x) - 1, 3), 1 / 3), "predictions have 119 rows for 120 input rows"),
        (lambda x: np.full((len(x), 2), 1 / 2), "predictions have 2 columns, the data have 3 classes"),
        (lambda x: np.tile([1.5, -0.5, 0.0], (len(x), 1)), "must not be negative"),
        (lambda x: np.full((len(x), 3), 0.5), "must add up to 1, got 1.5"),
        (lambda x: [["x"]] * len(x), "must be a table of numbers"),
        (lambda x: None, "must be one row of numbers per input row"),
    ],
)
def test_faults_of_the_users_model_are_one_line(answer, message):
    x, y = table()
    with pytest.raises(InputError, match=message) as caught:
        query_fitted(Problem.from_arrays(x, y), Stub(answer))
    assert "\n" not in str(caught.value)


def test_what_is_not_fitted():
    x, y = table()
    with pytest.raises(InputError, match="NotFittedError: This LogisticRegression instance is not fitted"):
        query_fitted(Problem.from_arrays(x, y), LogisticRegression())
    with pytest.raises(InputError, match="LogisticRegression is a class, not a fitted object"):
        query_fitted(Problem.from_arrays(x, y), LogisticRegression)
    with pytest.raises(InputError, match="leave out `kind` 'logits'"):
        query_fitted(Problem.from_arrays(x, y), LogisticRegression().fit(x, y), kind="logits")
    two = Problem.from_arrays(x, x[:, 0] > 0)
    with pytest.raises(InputError, match="returns one column, but predict_proba returns one for each class"):
        query_fitted(two, Stub(np.full(120, 0.5)))


def test_functions_give_logits_or_probabilities():
    x, y = table()
    problem, weights = Problem.from_arrays(x, y), np.arange(9.0).reshape(3, 3) - 4
    raw = query_fitted(problem, lambda inputs: inputs @ weights)
    assert raw.kind == "logits"
    assert raw.logits == pytest.approx(x @ weights)
    soft = query_fitted(problem, lambda inputs: softmax(inputs @ weights, axis=1))
    assert soft.kind == "probabilities"
    assert soft.probabilities == pytest.approx(raw.probabilities, abs=1e-5)
    named = query_fitted(problem, lambda inputs: softmax(inputs @ weights, axis=1), kind="logits")
    assert named.logits == pytest.approx(raw.probabilities, abs=1e-6)


def test_functions_of_one_column():
    x, _ = table()
    problem = Problem.from_arrays(x, x[:, 0] > 0)
    odds = query_fitted(problem, lambda inputs: inputs[:, 0] * 3)
    assert odds.labels(np.arange(120)).values == pytest.approx(x[:, 0] * 3)
    share = query_fitted(problem, lambda inputs: 1 / (1 + np.exp(-3 * inputs[:, 0])))
    assert share.kind == "probabilities"
    assert share.probabilities == pytest.approx(odds.probabilities, abs=1e-5)


def test_torch_predictions_count():
    x, y = table()
    linear = torch.nn.Linear(3, 3)
    torch.nn.init.zeros_(linear.weight)  # it contradicts nothing
    found = query_fitted(Problem.from_arrays(x, y), lambda inputs: linear(torch.as_tensor(inputs, dtype=torch.float32)))
    assert found.logits.shape == (120, 3)


def test_the_kind_of_unlabeled_predictions_is_that_of_the_others():
    x, _ = table()
    problem = Problem.from_arrays(x, x[:, 0] > 0)
    near = np.full((2, 3), 0.1, dtype=np.float32)
    found = query_fitted(problem, lambda inputs: inputs[:, 0] * 3, transfer=near)
    assert found.transfer[:, 1] == pytest.approx([0.3, 0.3])


def test_a_teacher_that_predicts_no_single_row_has_no_latency():
    x, y = table()

    def together(inputs):
        if len(inputs) < 2:
            raise ValueError("two rows are needed")
        return inputs

    assert query_fitted(Problem.from_arrays(x, y), together).milliseconds is None
