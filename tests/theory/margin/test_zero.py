"""Exact zeros of the margin, which rows make them, and near misses."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from softlabel.theory.margin import find_zero_margin
from softlabel.theory.margin.sample import SampleProblem, draw_pairs, solve_sample
from tests.theory.margin.problems import norm_of_g, random_points

SIGNS = np.array([1.0, -1, 1, -1, -1, 1])


def dependent(off: float = 0.0, d: int = 3) -> np.ndarray:
    """±x, ±x', ±(x + x' + off·e), whose labels +,−,+,−,−,+ depend on each other where off = 0."""
    x, other = np.random.default_rng(0).standard_normal((2, d))
    third = x + other
    third[0] += off
    rows = np.array([x, -x, other, -other, third, -third])
    return rows / np.linalg.norm(rows, axis=1).max()


def sample_margin(x, y, pairs=400) -> float:
    problem = SampleProblem(torch.from_numpy(x), torch.from_numpy(y), draw_pairs(pairs, x.shape[1], 0, torch.float64))
    return solve_sample(problem, np.ones(len(x)), tolerance=1e-3, evaluations=1000).upper


def test_parallel_rows_with_opposite_labels():
    x, y = random_points(20, 4, 0)
    x[13], y[13] = 0.3 * x[5], -y[5]
    result = find_zero_margin(x, y)
    assert result is not None
    assert result.rows == (5, 13)
    assert result.reason == "rows 5 and 13 are parallel and labeled differently"
    assert sample_margin(x, y) < 1e-3
    assert find_zero_margin(x, np.where(np.arange(20) == 13, y[5], y)) is None


def test_a_row_of_zeros():
    x, y = random_points(10, 4, 0)
    x[7] = 0
    result = find_zero_margin(x, y)
    assert result is not None
    assert result.rows == (7,)
    assert "row 7 is all zeros" in result.reason


def test_antiparallel_alone_is_no_zero():
    x, y = random_points(10, 4, 0)
    for label in (1, -1):
        x[3], y[3] = -0.5 * x[2], label * y[2]
        assert find_zero_margin(x, y) is None
        assert sample_margin(x, y) > 1e-3


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-9, 1e3])
@pytest.mark.parametrize("d", [2, 3, 10])
def test_the_dependency_of_antiparallel_pairs(scale, d):
    rng = np.random.default_rng(1)
    lengths = rng.uniform(0.2, 1, 6)[:, None]  # only directions matter
    result = find_zero_margin(scale * lengths * dependent(d=d), SIGNS)
    assert result is not None
    assert result.rows == (0, 1, 2, 3, 4, 5)
    assert "antiparallel pairs" in result.reason
    assert find_zero_margin(scale * lengths * dependent(d=d), -SIGNS) is not None


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-9])
@pytest.mark.parametrize("off", [1e-5, 1e-3, 0.1])
def test_near_misses_are_none(scale, off):
    assert find_zero_margin(scale * dependent(off), SIGNS) is None
    assert find_zero_margin(scale * dependent(), np.array([1.0, -1, 1, -1, 1, -1])) is None
    assert find_zero_margin(scale * dependent()[:5], SIGNS[:5]) is None
    assert find_zero_margin(scale * dependent()[1:], SIGNS[1:]) is None


def test_the_dependency_among_other_points_and_its_margin():
    x, y = random_points(40, 3, 4)
    places = [3, 8, 15, 16, 30, 39]
    x[places], y[places] = dependent(), SIGNS
    result = find_zero_margin(x, y)
    assert result is not None
    assert result.rows == tuple(places)
    assert sample_margin(x, y, 100) < 2e-3


def test_the_certificate_of_the_example_by_hand():
    """q = (|x|⁻¹, …) makes G vanish for every direction."""
    x = dependent()
    q = np.array([1.0, 1, 1, 1, 1, 1]) / 6
    z = np.random.default_rng(0).standard_normal((1000, 3))
    assert norm_of_g(x, SIGNS, q, z).max() < 1e-15


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(2, 9))
def test_agrees_with_the_program_over_all_directions(seed, d, n):
    """On whole-number points, where zeros abound: Σ q_i y_i φ_i(z_k) = 0 for many z_k at once, as a linear program."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-1, 2, (n, d)).astype(float)
    y = rng.choice([-1.0, 1.0], n)
    result = find_zero_margin(x, y)
    z = rng.standard_normal((300, d))
    z = np.concatenate([z, -z])
    phi = (z @ x.T > 0)[:, None, :] * (x * y[:, None]).T[None]  # (M, d, n)
    equations = np.vstack([phi.reshape(-1, n), np.ones((1, n))])
    right = np.r_[np.zeros(len(equations) - 1), 1]
    program = linprog(np.zeros(n), A_eq=equations, b_eq=right, bounds=(0, None))
    assert (result is not None) == (program.status == 0)
    if result is not None:
        rows = list(result.rows)
        part = linprog(np.zeros(len(rows)), A_eq=equations[:, rows], b_eq=right, bounds=(0, None))
        assert part.status == 0  # the rows named suffice


def test_many_equal_rows_take_no_time():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 8))[rng.integers(0, 5, 20000)]
    y = np.where(x[:, 0] > np.median(x[:, 0]), 1.0, -1.0)
    began = time.perf_counter()
    assert find_zero_margin(x, y) is None
    y[77] *= -1
    result = find_zero_margin(x, y)
    assert result is not None
    assert 77 in result.rows
    assert time.perf_counter() - began < 5
