"""Teachers that saw rows of the data, and teachers of rare classes: warned of where it is due, and only there."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from softlabel.data.problem import Problem
from softlabel.teachers.in_sample import in_sample
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.ranking import ranking
from softlabel.teachers.reading import log_probabilities
from tests.teachers.test_audit import audit, made, warned


def rare(rows, area=0.82, share=0.015, seed=0):
    """A problem with few positives, and the log-odds of an honest teacher with about this AUC (logits (n, 2))."""
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < share).astype(int)
    distance = np.sqrt(2) * norm.ppf(area)
    score = rng.normal(size=rows) + distance * y
    odds = np.log(share / (1 - share)) + distance * score - distance**2 / 2
    return Problem.from_arrays(score[:, None], np.array(["no", "yes"])[y], seed=seed), np.stack(
        [0 * odds, odds], axis=1
    )


def test_a_teacher_of_rare_positives_has_not_collapsed():
    """It decides for the frequent class in nearly every row, and so it should: it ranks rows well."""
    for seed in range(5):
        problem, z = rare(4000, seed=seed)
        assert (z.argmax(axis=1) == 0).mean() > 0.99 - 0.005
        warnings = audit(problem, z).warnings
        assert not any("collapsed" in warning or "no better" in warning for warning in warnings), warnings


def test_scores_that_rank_nothing_have_collapsed():
    problem, z = rare(4000)
    z = z[np.random.default_rng(1).permutation(len(z))]
    z[:, 1] -= 3
    warned(problem, z, "no better than chance (AUC 0.")
    warned(problem, z, "collapsed into one class")


def test_probabilities_that_are_shifted_toward_one_class():
    problem, z = made()
    warnings = warned(problem, z + np.array([9.0, 0.0, 0.0]), "shifted toward this class")
    assert not any("collapsed" in warning for warning in warnings)


def test_the_ranking_is_the_auc():
    problem, z = rare(2000)
    p = softmax(z, axis=1)
    assert ranking(p, problem.y)[0] == pytest.approx(roc_auc_score(problem.y, p[:, 1]))
    problem, z = made(400, 4)
    p = softmax(z, axis=1)
    assert ranking(p, problem.y)[0] == pytest.approx(roc_auc_score(problem.y, p, multi_class="ovr"))
    assert ranking(p, np.zeros(400, dtype=int)) == (0.5, False)


def fitted_forest(seed=0):
    """A forest fitted on the training rows of breast cancer, as many people bring theirs."""
    X, y = load_breast_cancer(return_X_y=True)
    problem = Problem.from_arrays(X, y, seed=seed)
    train = problem.train.rows
    model = RandomForestClassifier(30, random_state=seed).fit(X[train], y[train])
    return problem, log_probabilities(model.predict_proba(X))


def test_a_forest_fitted_on_the_training_rows_is_noticed():
    problem, z = fitted_forest()
    report = audit(problem, z)
    assert report.parts["train"].accuracy > 0.995
    assert 0.9 < report.parts["test"].accuracy < 0.98
    finding = in_sample(problem, TeacherPredictions(z, "t", "probabilities"))
    assert finding.better == ("train",)
    assert finding.p < 0.01
    warned(problem, z, "memorized")
    assert not any("fitted on" in warning for warning in audit(problem, z, out_of_fold=True).warnings)


def test_the_accuracies_of_the_issue_are_noticed():
    """1.000 on 341 training rows and 0.947 on 114 test rows, with the same probability for every decision."""
    problem, _ = fitted_forest()
    rng = np.random.default_rng(0)
    right = np.ones(len(problem), dtype=bool)
    for part, wrong in (("validation", 5), ("test", 6)):
        rows = problem.part(part).rows
        right[rng.choice(rows, wrong, replace=False)] = False
    z = 2 * np.eye(2)[np.where(right, problem.y, 1 - problem.y)]
    assert audit(problem, z).parts["test"].accuracy == pytest.approx(0.947, abs=1e-3)
    warned(
        problem, z, "the teacher is better on training rows (accuracy 100.0%, log loss 0.127) than on validation and"
    )
    warned(problem, z, "it was probably fitted on them, so part of its soft labels there is memorized; use out-of-fold")


@pytest.mark.parametrize(
    ("parts", "better", "words"),
    [
        (("train", "validation"), ("train", "validation"), "better on training and validation rows"),
        (("test",), ("test",), "fitted on rows that are tested here, so its scores there are too good"),
    ],
)
def test_other_parts_that_a_teacher_was_fitted_on(parts, better, words):
    problem, z = made(1500, sharpness=1.5)
    for part in parts:
        rows = problem.part(part).rows
        z[rows] += 1.0 * np.eye(3)[problem.y[rows]]
    assert in_sample(problem, TeacherPredictions(z, "t", "logits")).better == better
    warned(problem, z, words)


def test_honest_teachers_draw_few_false_alarms():
    """At level 1 %; forests fitted on other rows of the same table, and true probabilities."""
    alarms, runs = 0, 400
    for seed in range(runs):
        problem, z = made(200, 2 + seed % 3, 1 + seed % 4, seed)
        alarms += in_sample(problem, TeacherPredictions(z, "t", "logits")) is not None
    assert alarms <= 0.0325 * runs  # 4.5 deviations above 1 %


def test_trifles_are_not_worth_a_warning():
    problem, z = made(60_000, 2, 2.0)
    train = problem.train.rows
    z[train] += 0.03 * np.eye(2)[problem.y[train]]
    assert in_sample(problem, TeacherPredictions(z, "t", "logits")) is None
    z[train] += 0.5 * np.eye(2)[problem.y[train]]
    assert in_sample(problem, TeacherPredictions(z, "t", "logits")) is not None


def test_parts_that_differ_by_design_are_not_compared():
    problem, z = made(1500, sharpness=1.5)
    rows = problem.test.rows
    z[rows] += np.eye(3)[problem.y[rows]]
    predictions = TeacherPredictions(z, "t", "logits")
    assert in_sample(problem, predictions) is not None
    assert in_sample(replace(problem, official_test=True), predictions) is None
    assert in_sample(replace(problem, times=np.arange(1500)), predictions) is None


def test_rows_of_a_group_count_once():
    """Three groups with hard rows make no difference, however many rows they have."""
    problem, z = made(600, 2, 1.0)
    groups = np.repeat(np.arange(12), 50)
    parts = {"train": np.arange(300), "validation": np.arange(300, 450), "test": np.arange(450, 600)}
    z = np.where(np.arange(600)[:, None] < 300, 3.0, 1.0) * np.eye(2)[problem.y]
    predictions = TeacherPredictions(z, "t", "logits")
    assert in_sample(replace(problem, parts=parts), predictions).p < 1e-50
    assert in_sample(replace(problem, parts=parts, groups=np.where(groups < 6, 0, groups)), predictions) is None
