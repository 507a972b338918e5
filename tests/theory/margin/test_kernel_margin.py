"""γ_1 against non-negative least squares and a quadratic program; the working set against all points at once."""

import sys

import cvxpy as cp
import numpy as np
import pytest
import torch
from scipy.optimize import nnls

from softlabel.theory.kernel import KernelRows, kernel_matrix
from softlabel.theory.margin import kernel_margin as function
from softlabel.theory.margin.kernel_margin import KernelMargin, bracket_low, labeled_product
from softlabel.theory.margin.limits import Limits
from tests.theory.margin.problems import digits, random_points, two_xor

module = sys.modules[KernelMargin.__module__]
PROBLEMS = [random_points(25, 3, 0), random_points(40, 6, 1), random_points(10, 50, 2), digits(80), two_xor(5)]


def labelled_gram(x, y):
    return kernel_matrix(x) * np.outer(y, y)


def by_least_squares(x, y):
    """min ½qᵀAq − Σq over q ≥ 0 as min ‖[Rq; …]‖: with A = RᵀR, R⁻ᵀ1 − Rq; then γ_1 = 1/√(Σq)."""
    a = labelled_gram(x, y)
    root = np.linalg.cholesky(a + 1e-13 * np.eye(len(a))).T
    q, _ = nnls(root, np.linalg.solve(root.T, np.ones(len(a))), maxiter=10000)
    return 1 / np.sqrt(q.sum())


@pytest.mark.parametrize("points", PROBLEMS)
def test_equals_least_squares_and_a_quadratic_program(points):
    x, y = points
    result = function(KernelRows.from_inputs(x, torch.float64), y, tolerance=1e-6)
    assert result.upper == pytest.approx(by_least_squares(x, y), rel=2e-6)
    q = cp.Variable(len(x), nonneg=True)
    a = labelled_gram(x, y)
    cone = cp.Problem(cp.Minimize(cp.quad_form(q, cp.psd_wrap(a))), [cp.sum(q) == 1])
    cone.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-10)
    optimum = float(np.sqrt(cone.value))
    assert result.lower - 1e-8 <= optimum <= result.upper + 1e-8
    assert result.upper - result.lower <= 1e-6 * result.upper
    assert result.q.min() >= 0
    assert result.q.sum() == pytest.approx(1)
    assert result.functional == pytest.approx(a @ result.q, abs=1e-12)
    assert result.upper == pytest.approx(np.sqrt(result.q @ a @ result.q), rel=1e-9)
    assert result.floor == pytest.approx(max(0, (a @ result.q).min()), abs=1e-12)
    assert result.floor <= result.upper**2 * (1 + 1e-9)


@pytest.mark.parametrize(("first", "added"), [(5, 3), (10, 100), (30, 1)])
def test_a_growing_working_set_ends_where_all_points_at_once_do(first, added, monkeypatch):
    x, y = digits(150)
    rows = KernelRows.from_inputs(x, torch.float64)
    direct = function(rows, y, tolerance=1e-5)
    monkeypatch.setattr(module, "FIRST", first)
    monkeypatch.setattr(module, "ADDED", added)
    messages = []
    grown = function(rows, y, tolerance=1e-5, report=messages.append)
    assert len(messages) > 1
    assert grown.upper - grown.lower <= 1e-5 * grown.upper
    assert grown.lower <= direct.upper
    assert direct.lower <= grown.upper
    assert "points support it" in messages[-1]


def test_a_limit_that_is_reached_leaves_a_valid_bracket(monkeypatch):
    monkeypatch.setattr(module, "FIRST", 20)
    monkeypatch.setattr(module, "ADDED", 5)
    x, y = digits(150)
    rows = KernelRows.from_inputs(x, torch.float64)
    stop = Limits(work=1e6).until(0.0)
    stop.spend(1.0)
    cut = function(rows, y, stop=stop)
    assert cut.lower <= by_least_squares(x, y) <= cut.upper


def test_float32_rows_agree():
    x, y = digits(150)
    single, double = (function(KernelRows.from_inputs(x, dtype), y) for dtype in (torch.float32, torch.float64))
    assert single.upper == pytest.approx(double.upper, rel=3e-4)


@pytest.mark.parametrize("block", [4, 1024])
def test_product_with_labels(block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    x, y = random_points(50, 4, 3)
    q = np.random.default_rng(0).random(50) * (np.arange(50) % 3 == 0)
    product = labeled_product(KernelRows.from_inputs(x, torch.float64), y, q)
    assert product == pytest.approx(labelled_gram(x, y) @ q, abs=1e-13)


def test_the_reference_of_digits():
    x, y = digits(200)
    result = function(KernelRows.from_inputs(x, torch.float64), y)
    assert (round(result.lower, 4), round(result.upper, 4)) == (0.0396, 0.0396)


def test_rounding_never_turns_the_bracket_round():
    assert bracket_low(np.array([0.25 + 1e-16, 0.25 + 1e-16]), 0.5 - 1e-16) <= 0.5 - 1e-16
    assert bracket_low(np.array([-1.0, 1.0]), 0.5) == 0
    assert bracket_low(np.array([0.0]), 0.0) == 0
    x, y = two_xor(3)
    result = function(KernelRows.from_inputs(x, torch.float64), y)
    assert result.lower <= result.upper


def test_cut_short_it_keeps_the_tightest_bracket(monkeypatch):
    """While the lower end is still 0, later working sets are better by their upper end alone."""
    x, y = digits(400)
    monkeypatch.setattr(module, "FIRST", 8)
    monkeypatch.setattr(module, "ADDED", 8)
    messages, limits = [], Limits(work=1e12)

    def report(line: str) -> None:
        messages.append(line)
        if len(messages) == 3:
            limits.spend(1e12)

    cut = function(KernelRows.from_inputs(x, torch.float64), y, stop=limits.until(1.0), report=report)
    assert len(messages) == 3
    uppers = [float(line.split(", ")[1].split("]")[0]) for line in messages]
    assert all("[0, " in line for line in messages)
    assert uppers[-1] < 0.9 * uppers[0]
    assert cut.upper == pytest.approx(min(uppers), rel=1e-3)
