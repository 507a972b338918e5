"""Weighted copies of rows have the cross-entropy of soft labels as their loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from softlabel.studies.students.families.copies import SMALLEST, weighted_copies


def distributions(rows: int, classes: int, seed: int, sharp: float = 1.0) -> np.ndarray:
    return softmax(sharp * np.random.default_rng(seed).standard_normal((rows, classes)), axis=1)


@given(st.integers(1, 40), st.integers(2, 6), st.integers(0, 1000), st.sampled_from([0.3, 1.0, 6.0]))
@settings(max_examples=60, deadline=None)
def test_the_weighted_loss_is_the_cross_entropy(rows, classes, seed, sharp):
    p = distributions(rows, classes, seed, sharp)
    loss = -np.log(distributions(rows, classes, seed + 1))
    row, label, weight = weighted_copies(p, columns=3)
    assert set(label) == set(range(classes))  # a classifier knows every class
    left_out = p[p < SMALLEST].sum()
    assert (weight * loss[row, label]).sum() == pytest.approx((p * loss).sum(), abs=(left_out + 1e-9) * loss.max())


@given(st.integers(5, 40), st.integers(3, 6), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_where_copies_are_too_many_each_row_has_two(rows, classes, seed):
    p = distributions(rows, classes, seed)
    row, label, weight = weighted_copies(p, columns=10, seed=seed, most=10)
    assert len(row) <= 2 * rows + classes
    assert set(label) == set(range(classes))
    first = row[:rows]
    assert np.array_equal(label[:rows], p.argmax(1)[first])
    assert np.bincount(row, weight, rows) == pytest.approx(np.ones(rows), abs=0.5)


def test_two_copies_are_right_on_average():
    p = distributions(3, 5, 0)
    total = np.zeros((3, 5))
    for seed in range(4000):
        row, label, weight = weighted_copies(p, columns=10, seed=seed, most=1)
        np.add.at(total, (row[:6], label[:6]), weight[:6])  # without those that keep a class alive
    assert np.abs(total / 4000 - p).max() < 0.02


def test_logistic_regression_learns_soft_labels_from_copies():
    """Against the minimum of the cross-entropy of soft labels, found directly."""
    rng = np.random.default_rng(0)
    X, p = rng.standard_normal((60, 2)), distributions(60, 3, 1)
    row, label, weight = weighted_copies(p, columns=2)
    model = LogisticRegression(C=1e6, tol=1e-10, max_iter=10_000).fit(X[row], label, sample_weight=weight)

    def loss(flat):
        w = flat.reshape(3, 3)
        return -(p * log_softmax(X @ w[:, :2].T + w[:, 2], axis=1)).sum()

    best = minimize(loss, np.zeros(9), tol=1e-12).x.reshape(3, 3)
    expected = softmax(X @ best[:, :2].T + best[:, 2], axis=1)
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-3)
