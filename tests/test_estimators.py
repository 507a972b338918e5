"""Students as scikit-learn classifiers: conformance, soft labels, teachers, frames, weights, refusals."""

from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs, make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import softlabel
from softlabel.errors import InputError
from softlabel.estimators import ClassifierOptions, DistilledClassifier, TwoLayerClassifier
from softlabel.networks.student_model import StudentModel

IRIS = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


def quick(**options) -> TwoLayerClassifier:
    return TwoLayerClassifier(**{"width": 8, "epochs": 60, "learning_rate": 0.1, **options})


def overlapping(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, classes 0 and 1 drawn at random, and the probability of class 1 by which they were."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    p = expit(2 * x[:, 0] - x[:, 1])
    return x, (rng.random(n) < p).astype(int), p


class Recorder(ClassifierMixin, BaseEstimator):
    """Answers with fixed probabilities, and remembers what it was fitted on."""

    def __init__(self, log=None):
        self.log = log

    def __sklearn_clone__(self):
        return Recorder(self.log)

    def fit(self, X, y, sample_weight=None, soft_labels=None):
        self.classes_ = np.unique(y)
        self.log.append({"X": X, "y": y, "weights": sample_weight, "soft": soft_labels})
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.mark.parametrize(
    "estimator",
    [TwoLayerClassifier(), DistilledClassifier(ExtraTreesClassifier(n_estimators=10), cv=3)],
    ids=["two-layer", "distilled"],
)
def test_scikit_learns_own_checks(estimator):
    results = check_estimator(estimator, on_skip=None)
    assert len(results) > 50
    assert {one["check_name"] for one in results if one["status"] != "passed"} <= {"check_array_api_input"}


def test_both_are_public():
    assert softlabel.TwoLayerClassifier is TwoLayerClassifier
    assert softlabel.DistilledClassifier is DistilledClassifier


def test_digits_are_learned():
    x, y = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(x, y, random_state=0, stratify=y)
    assert TwoLayerClassifier(64).fit(train_x, train_y).score(test_x, test_y) >= 0.95


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_small_tables_are_learned_as_well_as_by_logistic_regression(load):
    x, y = load(return_X_y=True)
    ours = cross_val_score(TwoLayerClassifier(), x, y, cv=3).mean()
    theirs = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), x, y, cv=3).mean()
    assert ours >= theirs - 0.02


def test_many_rows_are_learned_in_mini_batches():
    x, y = make_classification(6000, 10, n_informative=5, n_classes=3, random_state=0)
    train_x, test_x, train_y, test_y = train_test_split(x, y, random_state=0)
    fitted = TwoLayerClassifier(epochs=20).fit(train_x, train_y)
    assert fitted.n_iter_ == 20 * 18  # 4,500 rows in batches of 256
    assert str(fitted.model_.network.hidden.dtype) == "torch.float32"
    baseline = LogisticRegression().fit(train_x, train_y)
    assert fitted.score(test_x, test_y) > baseline.score(test_x, test_y) + 0.05
    again = TwoLayerClassifier(epochs=20).fit(train_x, train_y)
    assert np.array_equal(fitted.predict_proba(test_x), again.predict_proba(test_x))


@pytest.mark.parametrize(
    ("options", "steps"),
    [({}, 300), ({"epochs": 7}, 7), ({"epochs": 7, "batch_size": 60}, 21), ({"epochs": 7, "batch_size": None}, 7)],
)
def test_steps_are_counted(options, steps):
    assert TwoLayerClassifier(4, **options).fit(*IRIS).n_iter_ == steps


@pytest.mark.parametrize("names", [["no", "yes"], ["c", "a", "b"]])
def test_answers_agree_with_each_other_and_with_the_model_on_disk(names, tmp_path):
    x, codes = make_blobs(90, 4, centers=len(names), cluster_std=4.0, random_state=0)
    y = np.array(names)[codes]
    fitted = quick().fit(x, y)
    assert fitted.classes_.tolist() == sorted(names)
    p = fitted.predict_proba(x)
    assert p.shape == (90, len(names))
    assert p.sum(axis=1) == pytest.approx(1)
    assert (fitted.predict(x) == np.array(sorted(names))[p.argmax(axis=1)]).all()
    assert fitted.predict_log_proba(x) == pytest.approx(np.log(p))
    z = fitted.decision_function(x)
    assert z.shape == ((90,) if len(names) == 2 else (90, 3))
    assert fitted.score(x, y) > 0.8
    hot = np.eye(len(names))[np.searchsorted(sorted(names), y)]
    assert fitted.loss_ == pytest.approx(-(hot * np.log(p)).sum(axis=1).mean())
    fitted.model_.save(tmp_path / "s.safetensors")
    again = StudentModel.load(tmp_path / "s.safetensors")
    assert again.classes == tuple(sorted(names))
    assert np.array_equal(again.probabilities(x), p)


def test_far_inputs_have_finite_logarithms():
    fitted = quick().fit(*IRIS)
    assert np.isfinite(fitted.predict_log_proba(1e6 * IRIS[0])).all()


def test_a_seed_decides_and_none_is_zero():
    def answers(random_state):
        return quick(random_state=random_state).fit(*IRIS).predict_proba(IRIS[0])

    assert np.array_equal(answers(None), answers(0))
    assert np.array_equal(answers(np.random.RandomState(3)), answers(np.random.RandomState(3)))
    assert not np.array_equal(answers(0), answers(1))


# Frames


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("make", [quick, lambda: DistilledClassifier(KNeighborsClassifier(), quick())])
def test_frames_keep_their_columns(frame, make):
    x, y = IRIS
    table = frame(dict(zip(NAMES, x.T, strict=True)))
    fitted = make().fit(table, y)
    assert fitted.feature_names_in_.tolist() == NAMES
    model = fitted.model_ if hasattr(fitted, "model_") else fitted.student_.model_
    assert model.columns == tuple(NAMES)
    assert fitted.predict_proba(table) == pytest.approx(make().fit(x, y).predict_proba(x), abs=1e-9)
    renamed = frame(dict(zip(["a", *NAMES[1:]], x.T, strict=True)))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(renamed)
    with pytest.raises(ValueError, match="3 features, but TwoLayerClassifier is expecting 4"):
        make().fit(x, y).predict(x[:, :3])


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_labels_and_weights_may_be_series(series):
    x, y = IRIS
    weights = 1.0 + np.arange(150) % 3
    fitted = quick().fit(x, series(y), sample_weight=series(weights))
    assert np.array_equal(fitted.predict_proba(x), quick().fit(x, y, weights).predict_proba(x))


# Soft labels


def test_true_probabilities_beat_labels_drawn_from_them():
    """Where soft labels are the very probabilities that hard ones were drawn with, they leave out the noise."""
    test_x, _, test_p = overlapping(4000, seed=99)
    truth = np.stack([1 - test_p, test_p], axis=1)
    saved = []
    for seed in range(5):
        x, y, p = overlapping(60, seed)
        hard, soft = (TwoLayerClassifier(random_state=seed).fit(x, y, soft_labels=labels) for labels in (None, p))
        losses = [-(truth * one.predict_log_proba(test_x)).sum(axis=1).mean() for one in (hard, soft)]
        saved.append(losses[0] - losses[1])
    assert min(saved) > 0
    assert np.mean(saved) > 0.1


def test_one_column_means_the_second_class():
    x, y, p = overlapping()
    one = quick().fit(x, y, soft_labels=p).predict_proba(x)
    two = quick().fit(x, y, soft_labels=np.stack([1 - p, p], axis=1)).predict_proba(x)
    assert one == pytest.approx(two, abs=1e-9)
    assert np.corrcoef(one[:, 1], p)[0, 1] > 0.9


def test_soft_labels_of_three_classes_are_learned():
    x, y = IRIS
    p = LogisticRegression(C=0.1).fit(x, y).predict_proba(x)
    probabilities = TwoLayerClassifier().fit(x, y, soft_labels=p).predict_proba(x)
    assert np.abs(probabilities - p).max() < 0.06
    assert np.abs(probabilities - p).mean() < 0.01


@pytest.mark.parametrize(("on", "expected"), [("labels", 0.75), ("both", 0.9)])
def test_temperature_softens_the_labels_or_is_taken_back(on, expected):
    """p = 0.9 at temperature 2 is √0.9/(√0.9 + √0.1) = 0.75; a student as warm as its labels is at 0.9 when cold."""
    x, y, _ = overlapping(40)
    classifier = TwoLayerClassifier(4, temperature=2.0, options=ClassifierOptions(temperature_on=on))
    fitted = classifier.fit(x, y, soft_labels=np.full(40, 0.9))
    assert fitted.predict_proba(x)[:, 1] == pytest.approx(expected, abs=0.01)


def test_hard_labels_have_no_temperature_but_may_be_smoothed():
    cold = quick().fit(*IRIS).predict_proba(IRIS[0])
    warm = quick(temperature=5.0, options=ClassifierOptions(temperature_on="both")).fit(*IRIS).predict_proba(IRIS[0])
    assert np.array_equal(cold, warm)
    smooth = TwoLayerClassifier(smoothing=0.3).fit(*IRIS).predict_proba(IRIS[0])
    assert np.median(smooth.max(axis=1)) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("soft", "message"),
    [
        (np.full((149, 3), 1 / 3), r"must have shape \(150, 3\), one column for each class of y \(0, 1, 2\)"),
        (np.full((150, 2), 1 / 2), r"got \(150, 2\)"),
        (np.full(150, 0.5), r"got \(150,\)"),
        (np.full((150, 3), 0.5), "must sum to 1, got 1.5 at row 0; normalize them"),
        (np.tile([1.5, -0.5, 0.0], (150, 1)), r"must lie in \[0, 1\], got \[1.5, -0.5, 0.0\] at row 0"),
        (np.full((150, 3), np.nan), r"must lie in \[0, 1\], got \[nan"),
        (np.full((150, 3), "a"), "must be numeric"),
    ],
)
def test_soft_labels_that_do_not_fit(soft, message):
    with pytest.raises(InputError, match=message) as caught:
        quick().fit(*IRIS, soft_labels=soft)
    assert "\n" not in str(caught.value)


# Teachers


def distill_from(teacher, **options) -> DistilledClassifier:
    return DistilledClassifier(teacher, quick(**options), prefit=True)


def test_a_teachers_columns_are_put_in_order():
    x, codes = make_blobs(90, 4, centers=3, cluster_std=2.0, random_state=0)
    y = np.array(["c", "a", "b"])[codes]

    class Turned:
        classes_ = np.array(["b", "c", "a"])

        def predict_proba(self, inputs):
            return np.eye(3)[[self.classes_.tolist().index(one) for one in y]]

    assert distill_from(Turned()).fit(x, y).score(x, y) > 0.9
    direct = quick(random_state=0).fit(x, y, soft_labels=np.eye(3)[np.searchsorted(["a", "b", "c"], y)])
    assert np.array_equal(distill_from(Turned()).fit(x, y).predict_proba(x), direct.predict_proba(x))


def test_a_teacher_of_frames_gets_frames():
    table = pd.DataFrame(IRIS[0], columns=NAMES)
    teacher = LogisticRegression(max_iter=1000).fit(table, IRIS[1])
    distill_from(teacher).fit(table, IRIS[1])  # a warning would be an error here


def test_teachers_that_cannot_teach():
    x, y = IRIS
    two = LogisticRegression().fit(x[:100], y[:100])
    with pytest.raises(InputError, match="the teacher is for other classes: it does not know '2'"):
        distill_from(two).fit(x, y)
    with pytest.raises(InputError, match="teacher LinearSVC has no predict_proba"):
        distill_from(LinearSVC().fit(x, y)).fit(x, y)
    with pytest.raises(NotFittedError):
        distill_from(LogisticRegression()).fit(x, y)

    class Narrow:
        def predict_proba(self, inputs):
            return np.full((len(inputs), 2), 0.5)

    with pytest.raises(InputError, match="predictions have 2 columns, the data have 3 classes"):
        distill_from(Narrow()).fit(x, y)

    class Unnormalized:
        def predict_proba(self, inputs):
            return np.full((len(inputs), 3), 0.5)

    with pytest.raises(InputError, match=r"must add up to 1, got 1\.5 \(row 1, 150 such rows\)"):
        distill_from(Unnormalized()).fit(x, y)


def test_copies_keep_a_fitted_teacher():
    teacher = LogisticRegression(max_iter=1000).fit(*IRIS)
    original = distill_from(teacher, width=5)
    twin = clone(original)
    assert twin.teacher is teacher
    assert twin.student.width == 5
    assert twin is not original
    assert twin.student is not original.student
    assert clone(DistilledClassifier(teacher)).teacher is not teacher
    assert cross_val_score(original, *IRIS, cv=3).min() > 0.85


def test_copies_keep_the_options():
    options = ClassifierOptions(scale="max", train_output=False)
    assert clone(quick(options=options)).options == options


# Pipelines and searches


def test_a_grid_of_temperatures_in_a_pipeline():
    x, y, p = overlapping(150)
    soft = np.stack([1 - p, p], axis=1)
    pipe = make_pipeline(StandardScaler(), quick())
    grid = {"twolayerclassifier__temperature": [1.0, 20.0]}
    search = GridSearchCV(pipe, grid, scoring="neg_log_loss", cv=3)
    search.fit(x, y, twolayerclassifier__soft_labels=soft)
    assert search.best_params_ == {"twolayerclassifier__temperature": 1.0}  # at 20, all labels are about 1/2
    assert search.predict_proba(x).shape == (150, 2)


def test_a_grid_over_the_student_of_a_distillation():
    search = GridSearchCV(
        DistilledClassifier(KNeighborsClassifier(), quick()), {"student__width": np.array([1, 16])}, cv=2
    ).fit(*IRIS)
    assert search.best_params_ == {"student__width": 16}
    assert search.best_score_ > 0.9


# Weights


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), classes=st.sampled_from([2, 3]), soft=st.booleans())
def test_a_weight_is_a_number_of_equal_rows(seed, classes, soft):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(20, 3)), np.arange(20) % classes
    times = rng.integers(0, 4, 20)
    times[:classes] = 2
    p = rng.dirichlet(np.ones(classes), 20) if soft else None
    order = rng.permutation(20)
    weighted = quick(optimizer="gradient", learning_rate=1.0).fit(
        x[order], y[order], times[order] / 7, None if p is None else p[order]
    )
    repeated = quick(optimizer="gradient", learning_rate=1.0).fit(
        x.repeat(times, axis=0), y.repeat(times), soft_labels=None if p is None else p.repeat(times, axis=0)
    )
    assert weighted.predict_proba(x) == pytest.approx(repeated.predict_proba(x), abs=1e-9)
    assert weighted.loss_ == pytest.approx(repeated.loss_, abs=1e-9)


def test_a_class_of_weight_zero_is_no_class():
    x, y = IRIS
    fitted = quick().fit(x, y, sample_weight=y != 1)
    assert fitted.classes_.tolist() == [0, 2]
    distilled = DistilledClassifier(KNeighborsClassifier(), quick()).fit(x, y, sample_weight=y != 1)
    assert distilled.classes_.tolist() == [0, 2]
    without = DistilledClassifier(KNeighborsClassifier(), quick()).fit(x[y != 1], y[y != 1])
    assert np.array_equal(distilled.predict_proba(x), without.predict_proba(x))


@pytest.mark.parametrize("make", [quick, DistilledClassifier])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(149), r"one entry per row: 150 rows, got shape \(149,\)"),
        (np.where(np.arange(150) == 3, -1.0, 1.0), "not negative, got -1.0 at row 3"),
        (np.where(np.arange(150) == 4, np.nan, 1.0), "finite and not negative, got nan at row 4"),
        (np.zeros(150), "zero for every row"),
        (["much"] * 150, "must be numeric"),
        ((IRIS[1] == 1) * 1.0, r"y has one class only \(1\)"),
    ],
)
def test_weights_that_cannot_be(make, weights, message):
    with pytest.raises(InputError, match=message):
        make().fit(*IRIS, sample_weight=weights)


# Settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be an integer ≥ 1, got 0"),
        ({"width": 2.5}, "width must be an integer, got 2.5"),
        ({"width": True}, "width must be an integer, got True"),
        ({"radius": -1}, "radius must be a positive number"),
        ({"learning_rate": "fast"}, "learning_rate must be a number, got 'fast'"),
        ({"smoothing": 1.0}, "smoothing must lie in"),
        ({"options": ClassifierOptions(temperature_on="teacher")}, "temperature_on must be 'labels' or 'both'"),
        ({"epochs": 0}, "epochs must be a whole number from 1"),
        ({"epochs": "many"}, "epochs must be an integer, got 'many'"),
        ({"batch_size": 0}, "batch_size must be an integer ≥ 1"),
        ({"batch_size": "small"}, "batch_size must be an integer, got 'small'"),
        ({"activation": "rely"}, "did you mean 'relu'"),
        ({"activation": 3}, "activation must be a string, got 3"),
        ({"init": "symmetric", "width": 3}, "use 4"),
        ({"optimizer": "adamm"}, "did you mean 'adam'"),
        ({"options": ClassifierOptions(schedule="cosin")}, "did you mean 'cosine'"),
        ({"options": ClassifierOptions(scale="standart")}, "did you mean 'standard'"),
        ({"options": ClassifierOptions(precision="float16")}, "precision must be float32, float64 or bfloat16"),
        ({"options": ClassifierOptions(scale=cast(Any, 3))}, "scale must be a string, got 3"),
        ({"options": {"scale": "max"}}, "options must be a ClassifierOptions or None"),
        ({"random_state": -1}, "random_state must not be negative"),
    ],
)
def test_settings_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message) as caught:
        quick(**options).fit(*IRIS)
    assert "\n" not in str(caught.value)


def test_settings_reach_the_network():
    options = ClassifierOptions(train_output=False, biases=False, scale="max")
    fitted = quick(width=5, radius=0.5, activation="tanh", options=options).fit(*IRIS)
    network = fitted.model_.network
    assert network.hidden.shape == (5, 4)
    assert network.activation == "tanh"
    assert network.hidden_bias is None
    assert set(network.output.flatten().tolist()) <= {-1.0, 1.0}
    assert fitted.model_.scaler.how == "max"
    without_biases = ClassifierOptions(biases=False)
    still = quick(width=5, learning_rate=1e-12, epochs=1, options=without_biases).fit(*IRIS)
    moved = (network.hidden - still.model_.network.hidden).norm(dim=1)
    assert moved.max().item() == pytest.approx(0.5 / np.sqrt(5), rel=1e-6)


# Distillation


def test_rows_are_labelled_by_teachers_that_have_not_seen_them():
    """One neighbour knows its own rows' labels by heart; out of fold, it must guess labels that are noise."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    log = []
    DistilledClassifier(KNeighborsClassifier(1), Recorder(log)).fit(x, y)
    agreement = (log[-1]["soft"].argmax(axis=1) == y).mean()
    assert 0.25 < agreement < 0.75
    teacher = KNeighborsClassifier(1).fit(x, y)
    DistilledClassifier(teacher, Recorder(log), prefit=True).fit(x, y)
    assert (log[-1]["soft"].argmax(axis=1) == y).all()


def test_folds_hold_out_every_row_once_class_by_class():
    log = []
    x, y = np.arange(60.0)[:, None], np.repeat([0, 1, 2], 20)
    fitted = DistilledClassifier(Recorder(log), quick(), cv=4).fit(x, y)
    assert fitted.folds_ == 4
    assert len(log) == 5
    full, *parts = log
    assert len(full["X"]) == 60
    assert all(np.bincount(part["y"]).tolist() == [15, 15, 15] for part in parts)
    left_out = np.concatenate([np.setdiff1d(x[:, 0], part["X"][:, 0]) for part in parts])
    assert sorted(left_out.tolist()) == x[:, 0].tolist()


@pytest.mark.parametrize(("rare", "folds"), [(1, 0), (2, 2), (4, 4), (9, 5)])
def test_few_rows_of_a_class_mean_fewer_folds(rare, folds):
    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat([0, 1], [40 - rare, rare])
    log = []
    fitted = DistilledClassifier(KNeighborsClassifier(1), Recorder(log)).fit(x, y)
    assert fitted.folds_ == folds
    if folds == 0:
        assert np.array_equal(log[-1]["soft"], fitted.teacher_.predict_proba(x))


def test_splits_are_used_and_must_hold_out_every_row():
    x, y, _ = overlapping(40)
    halves = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    log = []
    fitted = DistilledClassifier(KNeighborsClassifier(3), Recorder(log), cv=halves).fit(x, y, np.arange(40) > 4)
    first = KNeighborsClassifier(3).fit(x[20:], y[20:]).predict_proba(x[5:20])
    second = KNeighborsClassifier(3).fit(x[5:20], y[5:20]).predict_proba(x[20:])
    assert np.array_equal(log[-1]["soft"], np.concatenate([first, second]))
    assert fitted.folds_ == 2
    with pytest.raises(InputError, match="hold out every row once; 20 of 40 were never held out"):
        DistilledClassifier(KNeighborsClassifier(3), cv=halves[:1]).fit(x, y)
    with pytest.raises(InputError, match="cv must be at least 2 folds, got 1"):
        DistilledClassifier(KNeighborsClassifier(3), cv=1).fit(x, y)


def test_weights_reach_whoever_takes_them():
    x, y, _ = overlapping(40)
    weights = np.arange(40.0)
    log = []
    DistilledClassifier(Recorder(log), Recorder(log), cv=2).fit(x, y, sample_weight=weights)
    assert len(log) == 4  # the teacher on all rows that count, on two folds, and the student
    assert log[0]["weights"].tolist() == weights[1:].tolist() == log[-1]["weights"].tolist()
    assert sorted([*log[1]["weights"], *log[2]["weights"]]) == weights[1:].tolist()
    log.clear()
    DistilledClassifier(KNeighborsClassifier(), Recorder(log)).fit(x, y, sample_weight=weights)
    assert log[0]["weights"].tolist() == weights[1:].tolist()


def test_a_teacher_that_is_fitted_already_is_not_fitted_again():
    x, y = IRIS
    teacher = LogisticRegression(max_iter=1000).fit(x, y)
    frozen = FrozenEstimator(teacher)
    for known, prefit in ((teacher, True), (frozen, False)):
        fitted = DistilledClassifier(known, quick(), prefit=prefit).fit(x, y)
        assert fitted.teacher_ is known
        assert fitted.folds_ == 0
        direct = quick(random_state=0).fit(x, y, soft_labels=teacher.predict_proba(x))
        assert np.array_equal(fitted.predict_proba(x), direct.predict_proba(x))
    assert DistilledClassifier(teacher, quick()).fit(x, y).teacher_ is not teacher
    with pytest.raises(InputError, match="`prefit` is True and `teacher` is None"):
        DistilledClassifier(prefit=True).fit(x, y)


def test_distillations_repeat_though_the_teacher_is_random():
    def answers(random_state):
        distilled = DistilledClassifier(ExtraTreesClassifier(5), quick(), random_state=random_state)
        return distilled.fit(*IRIS).predict_proba(IRIS[0])

    assert np.array_equal(answers(None), answers(0))
    assert not np.array_equal(answers(0), answers(1))
    own = DistilledClassifier(ExtraTreesClassifier(5, random_state=8)).fit(*IRIS)
    assert own.teacher_.random_state == 8
    assert own.teacher is not own.teacher_


def test_a_student_of_a_better_teacher():
    """The teacher is a pipeline that knows the right features of a frame; the defaults of the student do the rest."""
    x, y = IRIS
    table = pd.DataFrame(x, columns=NAMES)
    teacher = make_pipeline(StandardScaler(), LogisticRegression())
    distilled = DistilledClassifier(teacher).fit(table, y)
    assert isinstance(distilled.student_, TwoLayerClassifier)
    assert distilled.score(table, y) > 0.94
    assert log_loss(y, distilled.predict_proba(table)) == pytest.approx(
        log_loss(y, distilled.teacher_.predict_proba(table)), abs=0.05
    )
    assert distilled.decision_function(table).shape == (150, 3)
    assert distilled.predict_log_proba(table) == pytest.approx(np.log(distilled.predict_proba(table)))


def test_students_that_cannot_learn_soft_labels():
    with pytest.raises(InputError, match="student LogisticRegression cannot learn from a teacher"):
        DistilledClassifier(student=LogisticRegression()).fit(*IRIS)
    with pytest.raises(NotFittedError):
        DistilledClassifier().predict(IRIS[0])
