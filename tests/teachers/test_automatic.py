"""The teacher that is trained here: strong, out of fold, repeatable, and frank about what it is."""

from dataclasses import replace

import numpy as np
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
    other = float(found.description.split(": ")[-1].split(")")[0])
    assert other >= loss - 1e-4


def test_training_rows_are_labelled_by_models_that_have_not_seen_them():
    """Labels that are coin tosses can be memorised, but not foretold."""
    rng = np.random.default_rng(0)
    problem = Problem.from_arrays(rng.normal(size=(400, 10)), rng.integers(2, size=400))
    found = train_automatic_teacher(problem)
    train = problem.train.rows
    assert (found.logits[train].argmax(axis=1) == problem.y[train]).mean() < 0.6


def test_trees_and_networks_are_chosen_where_each_is_better():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(900, 12))
    board = (np.floor(2.5 * x[:, 0]) + np.floor(2.5 * x[:, 1])).astype(int) % 2
    assert "trained here: boosted trees" in train_automatic_teacher(Problem.from_arrays(x, board)).description
    smooth = rng.random(900) < 1 / (1 + np.exp(-3 * x.sum(axis=1)))
    found = train_automatic_teacher(Problem.from_arrays(x, smooth))
    assert "trained here: a network" in found.description
    assert "temperature" in found.notes[0]


def test_the_seed_decides_everything(quick):
    problem = blobs()
    first = train_automatic_teacher(problem, seed=3)
    assert np.array_equal(first.logits, train_automatic_teacher(problem, seed=3).logits)
    assert not np.array_equal(first.logits, train_automatic_teacher(problem, seed=4).logits)


@pytest.mark.parametrize("trees", [True, False])
def test_rows_outside_training_and_unlabelled_ones_have_the_same_model(quick, monkeypatch, trees):
    if not trees:
        monkeypatch.setattr(automatic, "MOST_TREE_WORK", 0)
    problem = blobs(classes=2)
    held = problem.test.rows
    found = train_automatic_teacher(problem, transfer=problem.X[held])
    assert found.transfer == pytest.approx(found.logits[held], abs=1e-5)


def test_trees_are_left_out_where_they_would_take_too_long(quick, monkeypatch):
    monkeypatch.setattr(automatic, "MOST_TREE_WORK", 1000)
    found = train_automatic_teacher(blobs())
    assert "boosted trees are left out: 120 rows × 3 columns × 3 classes are more than 1,000" in found.notes[0]
    assert "trees" not in found.description
    assert found.kind == "logits"


def test_every_stage_is_logged(quick, caplog):
    with caplog.at_level("INFO", logger="softlabel"):
        train_automatic_teacher(blobs())
    lines = [line for line in caplog.messages if line.startswith("teacher: ")]
    assert "network of width 32 on 120 rows" in lines[0]
    assert "boosted trees" in lines[1]
    assert [line.split(" by ")[0] for line in lines[2:]] == [f"teacher: labeling fold {k} of 5" for k in range(1, 6)]


def test_the_network_is_calibrated(monkeypatch):
    monkeypatch.setattr(automatic, "MOST_TREE_WORK", 0)
    problem = blobs(600, noise=2.5)
    found = train_automatic_teacher(problem)
    validation = problem.validation.rows
    assert best_temperature(found.logits[validation], problem.y[validation]) == pytest.approx(1, abs=0.05)
    assert audit_teacher(problem, found).warnings == ()


def test_an_easy_problem_does_not_make_labels_hard(monkeypatch):
    """Where every validation row is right the loss alone would ask for temperature 0."""
    monkeypatch.setattr(automatic, "MOST_TREE_WORK", 0)
    problem = blobs(120, noise=0.8)
    found = train_automatic_teacher(problem)
    assert audit_teacher(problem, found).parts["validation"].accuracy == 1
    assert found.probabilities[problem.train.rows].max(axis=1).mean() < 0.9999


@pytest.mark.parametrize("trees", [True, False])
def test_a_class_of_one_training_row(quick, monkeypatch, trees):
    problem = blobs(120)
    labels = problem.y.copy()
    for part, keep in (("train", 1), ("validation", 3), ("test", 3)):
        rows = problem.part(part).rows[labels[problem.part(part).rows] == 2]
        labels[rows[keep:]] = 0
    if not trees:
        monkeypatch.setattr(automatic, "MOST_TREE_WORK", 0)
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
