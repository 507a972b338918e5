"""One sample solved for all points, against the whole problem; how many pairs a time allows."""

import numpy as np
import pytest
import torch

from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin.limits import UNLIMITED, Limits
from softlabel.theory.margin.replicate import affordable_pairs, functional_everywhere, solve_replicate, solve_teacher
from softlabel.theory.margin.sample import SampleProblem, draw_pairs, solve_sample
from tests.theory.margin.problems import digits, norm_of_g


@pytest.mark.parametrize("tolerance", [0.9, 1e-3])
def test_a_sample_of_few_points_never_promises_more_than_all_of_them(tolerance):
    """The gap is at least F_M(q_0) − γ_M of all points, even where the working set is all that was solved."""
    x, y = digits(60)
    q, z = np.full(60, 1 / 60), draw_pairs(50, 64, 3, torch.float64)
    points = torch.from_numpy(x)
    full = SampleProblem(points, torch.from_numpy(y), z)
    truth = solve_sample(full, q, tolerance=1e-6).upper
    few = np.zeros(60)
    few[:4] = 0.25
    result = solve_replicate(points, y, np.arange(4), few, z, tolerance, UNLIMITED)
    initial_value = norm_of_g(x, y, few, np.concatenate([z.numpy(), -z.numpy()])).mean()
    assert result.gap >= initial_value - truth * (1 + 1e-9)
    if tolerance < 0.1:
        assert result.gap == pytest.approx(initial_value - truth, abs=2 * tolerance * truth)


def test_functional_everywhere_is_that_of_one_problem():
    x, y = digits(50)
    points, signs, z = torch.from_numpy(x), torch.from_numpy(y), draw_pairs(30, 64, 1, torch.float64)
    q = np.zeros(50)
    q[5:15] = 0.1
    expected = SampleProblem(points, signs, z).evaluate(q, 0.01).functional
    assert functional_everywhere(points, signs, z, q, 0.01, UNLIMITED) == pytest.approx(expected, abs=1e-14)


def test_the_smoothed_problem_is_solved_for_all_points():
    x, y = digits(60)
    z, points = draw_pairs(200, 64, 3, torch.float64), torch.from_numpy(x)
    rows = KernelRows.from_inputs(x, torch.float64)
    q = solve_teacher(rows, points, y, np.arange(4), np.eye(60)[0], z, 0.01, 1e-3, UNLIMITED)
    here = SampleProblem(points, torch.from_numpy(y), z).evaluate(q, 0.01)
    assert q.sum() == pytest.approx(1)
    assert here.smooth - (here.functional.min() + here.shift) <= 3e-3 * here.smooth  # the gap


def test_more_time_allows_more_pairs():
    x, y = digits(100)
    q = np.full(100, 0.01)
    points = torch.from_numpy(x)
    assert affordable_pairs(points, y, np.arange(50), q, Limits(seconds=1), 1e-9) == 64
    assert affordable_pairs(points, y, np.arange(50), q, Limits(seconds=60), 1.0) > 10_000


def test_more_work_allows_more_pairs_whatever_the_clock(monkeypatch):
    monkeypatch.setattr("time.perf_counter", lambda: pytest.fail("the clock was asked"))
    x, y = digits(100)
    points, q = torch.from_numpy(x), np.full(100, 0.01)
    few, many = (
        affordable_pairs(points, y, np.arange(50), q, Limits(work=work, began=0.0), 0.1) for work in (1e9, 1e11)
    )
    assert 64 < few < many / 50
