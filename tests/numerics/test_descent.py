import numpy as np
import pytest
from scipy.optimize import nnls

from softlabel.numerics import minimize_nonnegative


def test_finds_the_least_squares_solution_and_stops_on_request():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((30, 8)), rng.standard_normal(30)
    truth, _ = nnls(a, b)
    seen = []

    def objective(q):
        assert (q >= 0).all()
        seen.append(q.copy())
        return 0.5 * float(np.sum((a @ q - b) ** 2)), a.T @ (a @ q - b)

    minimize_nonnegative(objective, np.ones(8), done=lambda: False, evaluations=500)
    assert seen[-1] == pytest.approx(truth, abs=1e-6)
    assert len(seen) <= 501
    seen.clear()
    minimize_nonnegative(objective, np.ones(8), done=lambda: len(seen) >= 4, evaluations=500)
    assert 4 <= len(seen) <= 8
    seen.clear()
    minimize_nonnegative(objective, np.ones(8), done=lambda: False, evaluations=3)
    assert len(seen) <= 23  # the last line search is finished
