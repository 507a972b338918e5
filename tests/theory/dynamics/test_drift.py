"""The kernel's drift against dense matrices, and the lemmas along real runs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from softlabel.errors import InputError
from softlabel.theory.dynamics import KernelProblem
from softlabel.theory.dynamics.drift import LIPSCHITZ, drift, mean_deviation
from tests.theory.dynamics.problems import SIGMA, full_matrix, problem


def moved_slopes(p, seed=1, size=0.3):
    return p.slopes + size * torch.from_numpy(np.random.default_rng(seed).standard_normal(tuple(p.slopes.shape)))


@pytest.mark.parametrize("kind", [{}, {"n": 30, "d": 4, "m": 3}, {"strength": float("inf")}, {"strength": 0.0}])
def test_changes_are_those_of_the_full_matrices(kind):
    p = problem(**kind)
    slopes = moved_slopes(p)
    now = KernelProblem(p.x, p.features, slopes, p.output, p.privileged, p.y, p.strength)
    result = drift(p, slopes, np.ones(p.units), 1.0)
    assert result.lemma2[0] == pytest.approx(np.linalg.norm(full_matrix(now) - full_matrix(p), 2), rel=1e-6)
    inner = (p.x @ p.x.t()).numpy()
    grams = [[np.outer(s, s) * inner for s in table.numpy()] for table in (slopes, p.slopes)]
    changes = [np.linalg.norm(a - b, 2) for a, b in zip(*grams, strict=True)]
    assert result.relative == pytest.approx(max(changes) / max(np.linalg.norm(g, 2) for g in grams[1]), rel=1e-9)
    assert result.lemma2[0] <= result.lemma2[1]


def test_nothing_moved():
    p = problem()
    result = drift(p, p.slopes, np.zeros(p.units), 1.0, np.zeros(p.units))
    assert result.relative == pytest.approx(0, abs=1e-12)
    assert result.lemma2[0] == 0
    assert result.lemma3 == pytest.approx((0, 0), abs=1e-12)
    assert result.lemma4 == (0, 0)
    assert result.holds


@pytest.mark.parametrize("strength", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("sigma", ["softplus", "tanh"])
def test_the_lemmas_hold_along_a_run(sigma, strength):
    rng = np.random.default_rng(2)
    n, d, m = 12, 5, 6
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    w = 0.02 * rng.standard_normal((m, d))
    start, output = w.copy(), rng.choice((-1.0, 1.0), m)
    value, slope = SIGMA[sigma]
    privileged = value(w @ x.T) + rng.standard_normal((m, n))
    y = rng.choice((-1.0, 1.0), n)
    p = KernelProblem.from_arrays(x, value(w @ x.T), slope(w @ x.T), output, privileged, y, strength)
    pulled = np.zeros(m)
    step = 0.02
    for _ in range(60):
        f = value(w @ x.T)
        r = np.outer(output / np.sqrt(m), y - output @ f / np.sqrt(m)) + strength * (privileged - f)
        w = w + step * (slope(w @ x.T) * r) @ x
        pulled += step * np.linalg.norm(r, axis=1)
        result = drift(
            p, torch.from_numpy(slope(w @ x.T)), np.linalg.norm(w - start, axis=1), LIPSCHITZ[sigma], pulled
        )  # fmt: skip
        assert result.holds


def test_lemma_3_as_printed_fails_for_a_start_at_zero():
    """It has 2‖w_k(0)‖ where 2 belongs; the kernel of softplus moves in proportion to the weights."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((6, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    value, slope = SIGMA["softplus"]
    w = 1e-3 * np.ones((1, 4))
    zero = np.zeros((1, 4))
    p = KernelProblem.from_arrays(x, value(zero @ x.T), slope(zero @ x.T), [1.0], value(zero @ x.T), np.ones(6), 1.0)
    moved = np.linalg.norm(w, axis=1)
    result = drift(p, torch.from_numpy(slope(w @ x.T)), moved, 1.0)
    printed = np.linalg.norm(x, 2) ** 2 * moved[0] * (moved[0] + 0.0)
    assert result.lemma3[0] > printed
    assert result.holds


def test_lemma_4_as_printed_fails_for_a_unit_that_hardly_counts():
    """It has the factor |a_k|/√m alone; privileged knowledge moves a unit whatever its output weight."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((6, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    value, slope = SIGMA["tanh"]
    w, output = 0.1 * rng.standard_normal((2, 4)), np.array([1e-4, 1.0])
    start, privileged, y = w.copy(), rng.standard_normal((2, 6)), rng.choice((-1.0, 1.0), 6)
    strength, step = 1.0, 0.02
    mix = output / np.sqrt(2)
    a = mix @ mix
    final = (a * y + strength * mix @ privileged) / (a + strength)
    units_final = np.outer(mix, y - final) / strength + privileged
    integral = pulled = 0.0
    for _ in range(50):
        f = value(w @ x.T)
        r = np.outer(mix, y - mix @ f) + strength * (privileged - f)
        w = w + step * (slope(w @ x.T) * r) @ x
        integral += step * np.linalg.norm(f[0] - units_final[0])
        pulled += step * np.linalg.norm(r[0])
    moved = np.linalg.norm(w[0] - start[0])
    assert moved > mix[0] * np.linalg.norm(x, 2) * integral
    assert moved <= np.linalg.norm(x, 2) * pulled


def test_constants_bound_the_slopes():
    z = torch.linspace(-8, 8, 20001, dtype=torch.float64, requires_grad=True)
    functions = {"softplus": torch.nn.functional.softplus, "tanh": torch.tanh, "erf": torch.erf,
                 "gelu": torch.nn.functional.gelu}  # fmt: skip
    for name, function in functions.items():
        (first,) = torch.autograd.grad(function(z).sum(), z, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), z)
        assert first.abs().max() <= LIPSCHITZ[name] + 1e-12
        assert second.abs().max() <= LIPSCHITZ[name] + 1e-12


def two_units(strength, output, kernels, changed, start, times):
    """One example, two units with H_k = kernels: η(t) once `changed` is added to them, from a start of η."""
    slopes = np.sqrt(np.array(kernels))[:, None]
    mix = np.array(output) / np.sqrt(2)
    coupling = strength * np.eye(2) + np.outer(mix, mix)
    moved = np.diag(np.array(kernels) + changed) @ coupling
    p = KernelProblem.from_arrays([[1.0]], np.array(start)[:, None], slopes, output, [[0.0], [0.0]], [0.0], strength)
    features = np.stack([expm(-moved * t) @ np.array(start) for t in times])[..., None]
    now = np.sqrt(np.array(kernels) + changed)[None, :, None].repeat(len(times), 0)
    return mean_deviation(p, times, features, now)


def test_lemma_1_as_printed_fails_and_holds_with_the_condition_number():
    """e^{−H̄t} is not normal and first grows: printed off by a factor of 40, corrected right."""
    times = np.concatenate([[0.0], np.geomspace(1e-4, 3e4, 800)])
    result = two_units(1e-4, [0.01, 2.0], [100.0, 1e-3], np.array([0.0, 1e-7]), [0.0, 1.0], times)
    assert 0 < result.q < 1e-3
    assert result.left > 30 * result.printed
    assert result.left <= result.right


@settings(max_examples=40, deadline=None)
@given(
    strength=st.floats(1e-3, 10),
    output=st.lists(st.floats(0.1, 2), min_size=2, max_size=2),
    kernels=st.lists(st.floats(0.05, 5), min_size=2, max_size=2),
    change=st.lists(st.floats(-0.01, 0.01), min_size=2, max_size=2),
    start=st.tuples(st.floats(-1, 1), st.floats(0.5, 1)),
)
def test_lemma_1_with_the_condition_number_holds(strength, output, kernels, change, start):
    times = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 400)])
    result = two_units(strength, output, kernels, np.array(change) * kernels, list(start), times)
    assert result.left <= result.right * 1.02 + 1e-8  # the integral is a sum over times up to 1e4


def test_lemma_1_along_a_run():
    rng = np.random.default_rng(5)
    n, d, m, strength, step = 4, 30, 40, 1.0, 0.02
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    value, slope = SIGMA["tanh"]
    w, output = 0.2 * rng.standard_normal((m, d)), rng.choice((-1.0, 1.0), m)
    y, known = 0.01 * rng.choice((-1.0, 1.0), n), value(w @ x.T)
    y = y + output @ known / np.sqrt(m)
    p = KernelProblem.from_arrays(x, known, slope(w @ x.T), output, known, y, strength)
    features, slopes = [], []
    for _ in range(400):
        f = value(w @ x.T)
        features.append(f)
        slopes.append(slope(w @ x.T))
        r = np.outer(output, y - output @ f / np.sqrt(m)) / np.sqrt(m) + strength * (known - f)
        w = w + step * (slopes[-1] * r) @ x
    result = mean_deviation(p, step * np.arange(400), np.array(features), np.array(slopes))
    assert 0 < result.q < 1
    assert 0 < result.left <= result.right


def test_lemma_1_needs_poles_and_a_strength():
    with pytest.raises(InputError, match="0 < λ < ∞"):
        mean_deviation(problem(strength=0.0), np.zeros(1), np.zeros((1, 4, 7)), np.zeros((1, 4, 7)))
    p = problem(n=9, d=2)
    with pytest.raises(InputError, match="strictly positive poles"):
        mean_deviation(p, np.zeros(1), p.features.numpy()[None], p.slopes.numpy()[None])
