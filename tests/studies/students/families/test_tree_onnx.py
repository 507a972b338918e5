"""Trees with centered thresholds answer as before on their training rows, and as ONNX nodes everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from softlabel.studies.students.families.files import onnx_probabilities
from softlabel.studies.students.families.scikit import _center, model_logits, parameter_count_of
from softlabel.studies.students.families.scikit_onnx import classifier_onnx
from softlabel.studies.students.families.tree_onnx import center_thresholds

MODELS = [
    DecisionTreeClassifier(max_leaf_nodes=9, random_state=0),
    RandomForestClassifier(5, max_depth=4, random_state=0),
    ExtraTreesClassifier(4, max_depth=4, random_state=0),
    HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=3),
    LogisticRegression(),
]


def table(classes: int, values: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(300) % classes
    X = rng.integers(values, size=(300, 4)) / 7 + 0.3 * y[:, None] / values
    return X.astype(np.float32), y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("values", [3, 10_000])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_onnx_model_answers_as_the_estimator(model, classes, values):
    X, y = table(classes, values)
    model.fit(X, y)
    before = model.predict_proba(X)
    _center(model, {}, X)
    assert np.array_equal(model.predict_proba(X), before)  # training rows stay on their sides
    fresh = table(classes, values, seed=1)[0]
    rows = np.concatenate([X, fresh, np.nextafter(X, np.float32(9)), np.nextafter(X, np.float32(-9))])
    logits = model_logits(model, rows) / 0.7
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    answers = onnx_probabilities(classifier_onnx(model, 4, 0.7).SerializeToString(), rows)
    assert np.abs(answers - expected).max() < 1e-5
    assert parameter_count_of(model) > 0


def test_rows_that_are_rounded_otherwise_stay_on_their_side():
    """Thresholds of histograms can be training values themselves."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3)).astype(np.float32)
    X = np.repeat(X, 2, axis=0)  # so that percentiles fall on values
    y = (X.sum(axis=1) > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=5, max_bins=16).fit(X, y)
    _center(model, {}, X)
    for direction in (9, -9):
        assert np.array_equal(model.predict_proba(np.nextafter(X, np.float32(direction))), model.predict_proba(X))


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=20, unique=True), st.floats(-1e6, 1e6))
@settings(max_examples=100, deadline=None)
def test_a_centered_threshold_splits_the_values_alike(values, threshold):
    X = np.array(values, dtype=np.float32)[:, None]
    moved = np.array([threshold])
    center_thresholds(np.array([0]), moved, {}, X)
    below = X[:, 0].astype(np.float64) <= threshold
    assert np.array_equal(X[:, 0].astype(np.float64) <= moved[0], below)
    if 0 < below.sum() < len(X):
        assert np.float32(moved[0]) == moved[0]
