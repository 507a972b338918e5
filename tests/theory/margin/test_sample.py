"""The sample problem against a plain loop, finite differences, and a cone program."""

import warnings

import numpy as np
import pytest
import torch

from softlabel.theory.margin import sample as module
from softlabel.theory.margin.limits import Limits
from softlabel.theory.margin.sample import SampleProblem, draw_pairs, solve_sample, unit
from tests.theory.margin.problems import cone_program, digits, norm_of_g, random_points, two_xor


def problem(x, y, z, single=False, dtype=torch.float64, **options):
    return SampleProblem(*(torch.as_tensor(part, dtype=dtype) for part in (x, y, z)), single=single, **options)


def naive(x, y, z, q, smoothing=0.0):
    """F(q), y_i mean⟨v, φ_i⟩ and the smoothed F, one direction after another."""
    value, smooth, functional = 0.0, 0.0, np.zeros(len(x))
    for direction in z:
        phi = (x @ direction > 0)[:, None] * x
        g = (q * y) @ phi
        length = np.linalg.norm(g)
        s = smoothing * q.sum()
        value, smooth = value + length, smooth + (length if length >= s else length**2 / (2 * s) + s / 2)
        if length > 1e-13 * q.sum():
            functional += y * (phi @ g) / max(length, s)
    return value / len(z), functional / len(z), smooth / len(z)


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("block", [7, 1000])
@pytest.mark.parametrize("mask_bytes", [0, 1 << 30])
def test_equals_a_plain_loop(single, block, mask_bytes, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "MASK_BYTES", mask_bytes)
    x, y = random_points(20, 4, 0)
    rng = np.random.default_rng(1)
    z, q = rng.standard_normal((30, 4)), rng.random(20)
    plain = problem(x, y, z, single).evaluate(q)
    all_z = z if single else np.concatenate([z, -z])
    expected = naive(x, y, all_z, q)
    assert plain.value == pytest.approx(expected[0], rel=1e-13)
    assert plain.functional == pytest.approx(expected[1], abs=1e-14)
    assert plain.value == pytest.approx(norm_of_g(x, y, q, all_z).mean(), rel=1e-13)
    smooth = problem(x, y, z, single).evaluate(q, 0.01)
    expected = naive(x, y, all_z, q, 0.01)
    assert (smooth.value, smooth.smooth) == pytest.approx((expected[0], expected[2]), rel=1e-13)
    assert smooth.functional == pytest.approx(expected[1], abs=1e-14)


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.03])
def test_gradient_is_that_of_finite_differences(single, smoothing):
    x, y = random_points(12, 3, 2)
    rng = np.random.default_rng(3)
    sample = problem(x, y, rng.standard_normal((40, 3)), single)
    q, step = rng.random(12) + 0.1, 1e-6
    here = sample.evaluate(q, smoothing)
    slopes = [
        (sample.evaluate(q + step * e, smoothing).smooth - sample.evaluate(q - step * e, smoothing).smooth) / (2 * step)
        for e in np.eye(12)
    ]
    assert here.functional + here.shift == pytest.approx(slopes, abs=1e-8)
    assert q @ (here.functional + here.shift) == pytest.approx(here.smooth, rel=1e-12)  # Euler: degree one


def test_the_mass_of_q_changes_nothing_but_the_scale():
    """G vanishes on a third of all directions, up to rounding: at any mass v is 0 there, not noise of norm 1."""
    x, y = two_xor(3)
    rng = np.random.default_rng(0)
    for dtype, error in ((torch.float64, 1e-14), (torch.float32, 1e-6)):
        sample = problem(x, y, rng.standard_normal((500, 3)), dtype=dtype)
        q = rng.permutation(np.full(8, 1 / 8))
        here = sample.evaluate(q)
        for mass in (1e-6, 3.0, 1e5):
            scaled = sample.evaluate(mass * q)
            assert scaled.value == pytest.approx(mass * here.value, rel=error)
            assert scaled.functional == pytest.approx(here.functional, abs=error)


def test_rounding_noise_has_no_direction():
    vectors = torch.tensor([[3.0, 4.0], [1e-17, 0], [0, 0], [1e-12, 0]], dtype=torch.float64)
    v, norms = unit(vectors)
    assert v.numpy() == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0, 0], [1, 0]]))
    assert norms.tolist() == [5, 0, 0, 1e-12]


@pytest.mark.parametrize(
    ("points", "directions", "single"),
    [
        (random_points(20, 3, 0), 50, True),
        (random_points(20, 5, 1), 100, False),
        (random_points(30, 8, 2), 120, True),
        (random_points(40, 4, 3), 30, False),
        (two_xor(3), 64, True),  # the optimum lies on a kink: G = 0 on a third of all directions
        (two_xor(3), 100, False),
        (two_xor(6), 150, True),
        (digits(40), 100, False),
    ],
)
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # said at 1e-10, which is more than is needed
def test_strong_duality_against_a_cone_program(points, directions, single):
    x, y = points
    z = np.random.default_rng(5).standard_normal((directions, x.shape[1]))
    optimum, q = cone_program(x, y, z if single else np.concatenate([z, -z]))
    sample = problem(x, y, z, single)
    result = solve_sample(sample, np.ones(len(x)), tolerance=2e-7, evaluations=20000)
    assert result.upper == pytest.approx(optimum, rel=1e-6)
    assert result.lower == pytest.approx(optimum, rel=5e-6)
    assert result.lower <= result.upper
    assert result.q.sum() == pytest.approx(1)
    assert result.q.min() >= 0
    assert sample.evaluate(result.q).value == pytest.approx(result.upper, rel=1e-12)
    assert sample.evaluate(result.dual, result.smoothing).functional.min() == pytest.approx(result.lower, rel=1e-6)
    assert sample.evaluate(np.maximum(q, 0)).value >= result.lower * (1 - 1e-9)  # the solver's q is no better


def test_every_q_brackets_the_margin():
    x, y = random_points(15, 3, 7)
    rng = np.random.default_rng(8)
    sample = problem(x, y, rng.standard_normal((80, 3)))
    result = solve_sample(sample, np.ones(15), tolerance=1e-6)
    for _ in range(50):
        q = rng.dirichlet(np.full(15, 0.3))
        here = sample.evaluate(q, rng.choice([0, 0.01, 0.3]))
        assert here.functional.min() <= result.upper
        assert here.value >= result.lower


def test_a_sample_that_cannot_be_separated_has_margin_0():
    """One direction sees two points with opposite labels, one of them the other's multiple there."""
    x = np.array([[1.0, 0], [0.5, 0], [0, 1]])
    y = np.array([1.0, -1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_sample(problem(x, y, np.array([[1.0, 1], [1, 0.5]]), single=True), np.ones(3))
    assert max(0, result.lower) <= 1e-9
    assert result.upper < 1e-3
    away = solve_sample(problem(x, y, np.array([[-1.0, -1]]), single=True), np.ones(3))  # sees nothing
    assert (away.lower, away.upper) == (0, 0)


def test_stops_on_request_with_valid_bounds():
    x, y = digits(60)
    sample = problem(x, y, draw_pairs(100, 64, 0, torch.float64))
    full = solve_sample(sample, np.ones(60), tolerance=1e-6)
    limits = Limits(work=1e6)
    counted = problem(x, y, draw_pairs(100, 64, 0, torch.float64), spend=limits.spend)
    limits.work = limits.spent + 8 * counted.operations
    part = solve_sample(counted, np.ones(60), tolerance=1e-6, stop=limits.until(1.0))
    assert part.evaluations < full.evaluations
    assert part.lower <= full.upper
    assert full.lower <= part.upper
    few = solve_sample(sample, np.ones(60), tolerance=1e-6, evaluations=10)
    assert few.evaluations <= 30  # a line search is finished
    assert few.lower <= full.lower <= full.upper <= few.upper


def test_directions_are_those_of_the_seed():
    assert torch.equal(draw_pairs(5, 3, 1, torch.float32), draw_pairs(5, 3, 1, torch.float32))
    assert not torch.equal(draw_pairs(5, 3, 1, torch.float32), draw_pairs(5, 3, 2, torch.float32))
