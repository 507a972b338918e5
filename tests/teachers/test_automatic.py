"""The teacher that is trained here: strong, out of fold, repeatable, and frank about what it is."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris

from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers import automatic
from softlabel.teachers.audit import audit_teacher, best_temperature, log_loss
from softlabel.teachers.automatic import train_automatic_teacher, training_length


def blobs(rows=200, classes=3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    return Problem.from_arrays(3 * np.eye(classes)[y] + noise * rng.normal(size=(rows, classes)), y)


def only(monkeypatch, name):
    """Leave one of the models as the only candidate."""
    monkeypatch.setattr(automatic, "MODELS", {name: automatic.MODELS[name]})


@pytest.fixture
def quick(monkeypatch):
    """Fewer neurons and steps, where the test is not about how good the teacher is."""
    monkeypatch.setattr(automatic, "WIDTH", 32)
    monkeypatch.setattr(automatic, "UPDATES", 100)
    monkeypatch.setattr(automatic, "ROUNDS", 10)


def test_it_is_good_and_healthy():
    problem = Problem.from_arrays(*load_iris(return_X_y=True))
    found = train_automatic_teacher(problem)
    audit = audit_teacher(problem, found)
    assert audit.parts["test"].accuracy > 0.9
    assert audit.parts["train"].accuracy > 0.9
    assert audit.parts["validation"].loss < 0.3
    assert audit.warnings == ()
    assert found.known.all()
    assert found.out_of_fold
    assert found.parameters > 100
    assert found.milliseconds > 0


def test_the_description_names_the_choice_and_both_losses(quick):
    problem = blobs()
    found = train_automatic_teacher(problem)
    validation = problem.validation.rows
    loss = log_loss(found.logits[validation], problem.y[validation])
    assert f"log loss {loss:.4f} on validation rows" in found.description
    assert "a network of width 32" in found.description
    assert "boosted trees (" in found.description
    assert "a random forest (100 trees)" in found.description
    others = [float(text.split(")")[0]) for text in found.description.split("): ")[1:]]
    assert len(others) >= 1
    assert min(others) >= loss - 1e-4


def test_training_rows_are_labelled_by_models_that_have_not_seen_them():
    """Labels that are coin tosses can be memorised, but not foretold."""
    rng = np.random.default_rng(0)
    problem = Problem.from_arrays(rng.normal(size=(400, 10)), rng.integers(2, size=400))
    found = train_automatic_teacher(problem)
    train = problem.train.rows
    assert (found.logits[train].argmax(axis=1) == problem.y[train]).mean() < 0.6


@pytest.mark.parametrize("model", ["network", "trees", "forest"])
def test_labels_of_a_fold_do_not_depend_on_the_true_ones(quick, model):
    problem = blobs(rows=120)
    folds = np.array_split(np.arange(len(problem.train.rows)), 3)
    settings = {"learning_rate": 0.03, "rounds": 5, "leaf": 5}

    def labels(one):
        return automatic._FoldModels(model, settings, one, folds, seed=0).piece(1).arrays["logits"]

    y = problem.y.copy()
    own = problem.train.rows[folds[1]]
    y[own] = (y[own] + 1) % 3
    assert np.array_equal(labels(replace(problem, y=y)), labels(problem))
    y[problem.train.rows[folds[0]]] = 0
    assert not np.array_equal(labels(replace(problem, y=y)), labels(problem))


def test_each_model_is_chosen_where_it_is_better():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(1500, 6))
    board = (np.floor(2.5 * x[:, 0]) + np.floor(2.5 * x[:, 1])).astype(int) % 2
    assert "trained here: boosted trees" in train_automatic_teacher(Problem.from_arrays(x, board)).description
    smooth = rng.random(1500) < 1 / (1 + np.exp(-3 * x.sum(axis=1)))
    predictions = train_automatic_teacher(Problem.from_arrays(x, smooth))
    assert "trained here: a network" in predictions.description
    assert "the network's logits are divided by" in predictions.notes[0]
    x = rng.normal(size=(500, 12))
    several = (x[:, :10] > 1).sum(axis=1) > 1
    predictions = train_automatic_teacher(Problem.from_arrays(x, several))
    assert "trained here: a random forest (100 trees)" in predictions.description
    assert "the forest's logits are divided by" in predictions.notes[0]
    assert predictions.kind == "probabilities"


def test_the_seed_decides_everything(quick):
    problem = blobs()
    first = train_automatic_teacher(problem, seed=3)
    assert np.array_equal(first.logits, train_automatic_teacher(problem, seed=3).logits)
    assert not np.array_equal(first.logits, train_automatic_teacher(problem, seed=4).logits)


@pytest.mark.parametrize("model", ["network", "trees", "forest"])
def test_rows_outside_training_and_unlabelled_ones_have_the_same_model(quick, monkeypatch, model):
    only(monkeypatch, model)
    problem = blobs(classes=2)
    held = problem.test.rows
    found = train_automatic_teacher(problem, transfer=problem.X[held])
    assert found.transfer == pytest.approx(found.logits[held], abs=1e-5)


def test_trees_are_left_out_where_they_would_take_too_long(quick, monkeypatch):
    monkeypatch.setattr(automatic, "MOST_TREE_WORK", 1000)
    found = train_automatic_teacher(blobs())
    assert "boosted trees are left out: 120 rows × 3 columns × 3 classes are more than 1,000" in found.notes[0]
    assert "boosted trees" not in found.description


def test_every_stage_is_logged(quick, caplog):
    with caplog.at_level("INFO", logger="softlabel"):
        train_automatic_teacher(blobs())
    lines = [line for line in caplog.messages if line.startswith("teacher: ")]
    assert "network of width 32 on 120 rows" in lines[0]
    assert "boosted trees" in lines[1]
    assert "a random forest" in lines[2]
    assert [line.split(" by ")[0] for line in lines[3:]] == [f"teacher: labeling fold {k} of 5" for k in range(1, 6)]


@pytest.mark.parametrize("model", ["network", "forest"])
def test_networks_and_forests_are_calibrated(monkeypatch, model):
    only(monkeypatch, model)
    problem = blobs(600, noise=2.5)
    found = train_automatic_teacher(problem)
    validation = problem.validation.rows
    assert best_temperature(found.logits[validation], problem.y[validation]) == pytest.approx(1, abs=0.05)
    assert audit_teacher(problem, found).warnings == ()


@pytest.mark.parametrize("model", ["network", "forest"])
def test_an_easy_problem_does_not_make_labels_hard(monkeypatch, model):
    """Where every validation row is right the loss alone would ask for temperature 0."""
    only(monkeypatch, model)
    problem = blobs(120, noise=0.8)
    found = train_automatic_teacher(problem)
    assert audit_teacher(problem, found).parts["validation"].accuracy == 1
    assert found.probabilities[problem.train.rows].max(axis=1).mean() < 0.9999


@pytest.mark.parametrize("model", ["network", "trees", "forest"])
def test_a_class_of_one_training_row(quick, monkeypatch, model):
    problem = blobs(120)
    labels = problem.y.copy()
    for part, keep in (("train", 1), ("validation", 3), ("test", 3)):
        rows = problem.part(part).rows[labels[problem.part(part).rows] == 2]
        labels[rows[keep:]] = 0
    only(monkeypatch, model)
    found = train_automatic_teacher(replace(problem, y=labels))
    assert found.known.all()
    assert found.logits.shape == (120, 3)
    assert any("only ones of their class" in note for note in found.notes)


def test_few_rows_are_refused():
    problem = blobs(30, 2)
    with pytest.raises(InputError, match="has 18 training rows, teacher 'auto' needs 20"):
        train_automatic_teacher(problem)


def test_training_is_long_for_few_rows_and_short_for_many():
    assert training_length(50) == (50, 1000)
    assert training_length(1078) == (128, 112)
    assert training_length(20_000)[1] == 7
    assert training_length(50_000) == (256, 6)


def test_predictions_are_probabilities(quick):
    found = train_automatic_teacher(blobs())
    assert softmax(found.logits, axis=1).sum(axis=1) == pytest.approx(np.ones(200))
    assert np.isfinite(found.logits).all()


def test_a_forest_of_many_rows_is_small_and_fast(monkeypatch):
    """Few trees, each of some rows: its size does not grow with the rows."""
    monkeypatch.setattr(automatic, "LARGE", 100)
    monkeypatch.setattr(automatic, "TREE_ROWS", 60)
    problem = blobs(400)
    forest = automatic.RandomForest.best(problem, problem.train.rows, 0)
    assert len(forest.model.estimators_) == automatic.LARGE_FOREST
    assert forest.leaf == automatic.LARGE_LEAF
    assert max(tree.tree_.n_node_samples[0] for tree in forest.model.estimators_) <= 60


def test_votes_of_a_forest_are_never_certain():
    problem = blobs(200, noise=0.1)
    forest = automatic.RandomForest.best(problem, problem.train.rows, 0)
    plain = replace(forest, temperature=1.0)
    votes = forest.model.predict_proba(problem.X)
    assert votes.max() == 1
    assert softmax(plain.logits(problem.X), axis=1) == pytest.approx((100 * votes + 1) / 103)


def test_tables_with_text_have_a_teacher_too(quick):
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue"], 200)
    size = np.where(rng.random(200) < 0.1, None, rng.normal(size=200).round(2))
    problem = Problem.from_arrays(pl.DataFrame({"color": color, "size": size.tolist()}), color == "red")
    assert problem.encoder is not None
    predictions = train_automatic_teacher(problem)
    assert audit_teacher(problem, predictions).parts["test"].accuracy > 0.95
