"""Minimization with a known curvature: the same minimum as L-BFGS, with fewer evaluations."""

import numpy as np
import pytest
from scipy.optimize import nnls

from softlabel.numerics import minimize_in_metric, minimize_nonnegative


def quadratic(seed, n=40):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((3 * n, n)) * np.geomspace(1, 1e-2, n)
    b = rng.standard_normal(3 * n)
    return a, b, nnls(a, b)[0]


class Recorder:
    """½‖aq − b‖² with its gradient, and every point that was asked for."""

    def __init__(self, a, b):
        self.a, self.b, self.seen = a, b, []

    def __call__(self, q):
        assert (q >= 0).all()
        self.seen.append(q.copy())
        rest = self.a @ q - self.b
        return 0.5 * float(rest @ rest), self.a.T @ rest

    def distance(self, truth):
        return min(float(np.linalg.norm(self.a @ (q - truth))) for q in self.seen)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factor", [1.0, 0.3, 3.0])
def test_a_quadratic_with_its_hessian_takes_few_evaluations(seed, factor):
    a, b, truth = quadratic(seed)
    objective, plain = Recorder(a, b), Recorder(a, b)
    hessian = factor * (a.T @ a)
    minimize_in_metric(
        objective, np.ones(len(truth)), lambda d: hessian @ d,
        done=lambda: objective.distance(truth) < 1e-4, evaluations=200,
    )  # fmt: skip
    minimize_nonnegative(plain, np.ones(len(truth)), done=lambda: plain.distance(truth) < 1e-4, evaluations=200)
    assert objective.distance(truth) < 1e-3
    assert len(objective.seen) < (len(plain.seen) if factor == 1 else 60)


def test_updates_correct_a_matrix_that_is_wrong():
    a, b, truth = quadratic(1, 12)
    objective = Recorder(a, b)
    minimize_in_metric(objective, np.ones(12), lambda d: d, done=lambda: False, evaluations=400)
    assert objective.distance(truth) < 1e-3


def test_it_ends_on_request_and_at_its_limit():
    a, b, _ = quadratic(2)
    objective = Recorder(a, b)
    minimize_in_metric(objective, np.ones(40), lambda d: d, done=lambda: len(objective.seen) >= 3, evaluations=100)
    assert len(objective.seen) == 3
    objective.seen.clear()
    minimize_in_metric(objective, np.ones(40), lambda d: d, done=lambda: False, evaluations=5)
    assert len(objective.seen) == 5


def test_a_function_whose_curvature_changes():
    """Σ exp(c·q) − q over q ≥ 0: the metric is the Hessian at the start only."""
    c = np.linspace(0.5, 2, 10)
    truth = np.maximum(np.log(1 / c) / c, 0)
    seen = []

    def objective(q):
        seen.append(q.copy())
        return float(np.sum(np.exp(c * q) - q)), c * np.exp(c * q) - 1

    minimize_in_metric(objective, np.full(10, 2.0), lambda d: c**2 * d, done=lambda: False, evaluations=100)
    assert seen[-1] == pytest.approx(truth, abs=1e-4)
