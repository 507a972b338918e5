"""Means over fresh directions: unbiased, with honest errors, equal to brute force."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from softlabel.theory.kernel import Rows, kernel_matrix
from softlabel.theory.margin import Field
from softlabel.theory.margin import fresh as module
from softlabel.theory.margin.fresh import (
    ControlledMean,
    Directions,
    Estimate,
    mean_norm,
    observe_alignment,
    teacher_margin,
)
from tests.theory.margin.problems import norm_of_g, random_points, two_xor


def field_of(x, y, q, dtype=torch.float64):
    return Field.of(torch.as_tensor(x, dtype=dtype), y, q)


def form_of(x, y, q):
    return float((q * y) @ kernel_matrix(x) @ (q * y))


def brute_force(x, y, q, draws=400_000, seed=99):
    """F(q) and y_i E⟨v_q, φ_i⟩ with their standard errors, by the definition."""
    z = np.random.default_rng(seed).standard_normal((draws, x.shape[1]))
    active = z @ x.T > 0
    g = active @ (x * (q * y)[:, None])
    lengths = np.linalg.norm(g, axis=1)
    v = g / np.maximum(lengths, 1e-300)[:, None] * (lengths > 1e-14)[:, None]
    aligned = y * active * (v @ x.T)
    root = np.sqrt(draws)
    return lengths.mean(), lengths.std() / root, aligned.mean(0), aligned.std(0) / root


def test_field_is_the_definition():
    x, y = random_points(12, 4, 0)
    q = np.random.default_rng(0).dirichlet(np.ones(12)) * (np.arange(12) > 3)
    z = np.random.default_rng(1).standard_normal((50, 4))
    field = field_of(x, y, q)
    here, opposite = field.both_ways(torch.from_numpy(z))
    assert here.numpy() == pytest.approx((z @ x.T > 0) @ (x * (q * y)[:, None]), abs=1e-15)
    assert opposite.numpy() == pytest.approx((z @ x.T < 0) @ (x * (q * y)[:, None]), abs=1e-15)
    v = field.v(torch.from_numpy(z)).numpy()
    lengths = np.linalg.norm(v, axis=1)
    assert lengths == pytest.approx((norm_of_g(x, y, q, z) > 0).astype(float))


def test_directions_go_on_from_where_they_were():
    one, two = (Directions(3, 5, torch.float64) for _ in range(2))
    parts = torch.cat([one.draw(16), one.draw(16)])
    assert parts.shape == (32, 3)
    assert torch.equal(parts[:16], two.draw(16))
    assert not torch.equal(parts[:16], parts[16:])


def test_controlled_means_are_unbiased_and_their_errors_cover():
    """2,000 simulations: the mean of the estimates, and how often ±1.645 standard errors hold the truth."""
    rng, draws, rounds = np.random.default_rng(0), 200, 2000
    correlated = np.array([0.0, 0.9, -0.99])
    estimates, held = [], 0
    for _ in range(rounds):
        control = rng.exponential(size=(draws, 3))
        values = 2 + correlated * (control - 1) + np.sqrt(1 - correlated**2) * rng.standard_normal((draws, 3))
        mean = ControlledMean(np.ones(3))
        mean.add(torch.from_numpy(values[:50]), torch.from_numpy(control[:50]))
        mean.add(torch.from_numpy(values[50:]), torch.from_numpy(control[50:]))
        value, error = mean.means()
        estimates.append(value)
        held += np.abs(value - 2) <= norm.isf(0.05) * error
    assert mean.count == draws
    spread = np.std(estimates, axis=0)
    assert np.mean(estimates, axis=0) == pytest.approx(2, abs=4 * spread.max() / np.sqrt(rounds))
    assert spread == pytest.approx(np.sqrt((1 - correlated**2) / draws), rel=0.1)
    assert held / rounds == pytest.approx(0.9, abs=0.025)


def test_a_constant_needs_no_control():
    mean = ControlledMean(np.array([3.0]))
    mean.add(torch.full((10, 1), 2.0), torch.full((10, 1), 3.0))
    assert [part[0] for part in mean.means()] == [2, 0]


def test_a_control_that_hardly_varies_is_left_alone():
    """Rounding noise of a constant control has no slope worth the name."""
    rng = np.random.default_rng(0)
    values = rng.random((1000, 1))
    noise = 0.25 + 3e-8 * np.round(rng.standard_normal((1000, 1)))
    mean = ControlledMean(np.array([0.25 + 1e-7]))
    mean.add(torch.from_numpy(values), torch.from_numpy(noise))
    value, error = mean.means()
    assert value[0] == pytest.approx(values.mean(), rel=1e-12)
    assert error[0] == pytest.approx(values.std() / np.sqrt(998), rel=1e-9)


def test_mean_norm_where_the_mean_square_of_a_pair_is_constant():
    """Orthogonal points at q = ½: ‖G(z)‖² + ‖G(−z)‖² = ½ always, and E‖G‖ = ¼ + √2/8."""
    y, q = np.array([1.0, -1]), np.full(2, 0.5)
    for dtype in (torch.float64, torch.float32):
        found = mean_norm(field_of(np.eye(2), y, q, dtype), Directions(2, 0, dtype), 0.25, precision=1e-3)
        assert abs(found.value - 0.25 - np.sqrt(2) / 8) <= 4 * found.error


def test_estimates_have_two_ends():
    estimate = Estimate(1.0, 0.1)
    assert estimate.upper(0.025) == pytest.approx(1.196, abs=1e-4)
    assert estimate.lower(0.025) == pytest.approx(0.804, abs=1e-4)


@pytest.mark.parametrize("points", [random_points(8, 2, 0), random_points(15, 5, 1), two_xor(4)])
def test_mean_norm_equals_brute_force(points):
    x, y = points
    q = np.random.default_rng(2).dirichlet(np.ones(len(x)))
    value, error, _, _ = brute_force(x, y, q)
    for dtype in (torch.float64, torch.float32):
        found = mean_norm(field_of(x, y, q, dtype), Directions(x.shape[1], 1, dtype), form_of(x, y, q), precision=1e-3)
        assert found.error <= 1e-3 * found.value
        assert abs(found.value - value) <= 4 * np.hypot(found.error, error)


def test_mean_norm_covers_as_often_as_it_says(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 4 * 10 * 1024)  # 1,024 draws a time
    x, y = random_points(10, 3, 3)
    q = np.random.default_rng(2).dirichlet(np.ones(10))
    truth, error, _, _ = brute_force(x, y, q, draws=2_000_000)
    field, form = field_of(x, y, q), form_of(x, y, q)
    high = low = 0
    for seed in range(200):
        found = mean_norm(field, Directions(3, seed, torch.float64), form, precision=0.01, stop=lambda: True)
        assert found.error > 3 * error
        high += found.upper(0.1) < truth
        low += found.lower(0.1) > truth
    assert 8 <= high <= 34  # 20 expected
    assert 8 <= low <= 34


def test_mean_norm_ends_when_told():
    x, y = random_points(10, 3, 3)
    q = np.full(10, 0.1)
    found = mean_norm(
        field_of(x, y, q), Directions(3, 0, torch.float64), form_of(x, y, q), precision=1e-9, stop=lambda: True
    )
    assert 0 < found.error < 0.05 * found.value


@pytest.mark.parametrize("pairs", [5, 16, 100, 1000])
def test_alignment_takes_the_draws_asked_for(pairs):
    x, y = random_points(10, 3, 3)
    q = np.full(10, 0.1)
    mean = ControlledMean(y * (kernel_matrix(x) @ (q * y)))
    observe_alignment(
        field_of(x, y, q), Directions(3, 0, torch.float64), torch.from_numpy(x), torch.from_numpy(y), mean, pairs
    )
    assert mean.count == pairs


@pytest.mark.parametrize("points", [random_points(8, 2, 0), random_points(12, 4, 5), two_xor(4)])
def test_teacher_margin_equals_brute_force(points):
    x, y = points
    q = np.random.default_rng(2).dirichlet(np.full(len(x), 20.0))
    _, _, aligned, error = brute_force(x, y, q)
    functional = y * (kernel_matrix(x) @ (q * y))
    lower, value, errors = teacher_margin(
        field_of(x, y, q),
        Directions(x.shape[1], 3, torch.float64),
        torch.from_numpy(x),
        y,
        functional,
        failure=0.01,
        precision=0.02,
    )
    assert (np.abs(value - aligned) <= 4.5 * np.hypot(errors, error)).all()
    assert lower <= aligned.min() + 4 * error.max()
    worst = value.argmin()
    assert lower >= value[worst] - 5 * errors[worst]


def test_teacher_margin_fails_no_oftener_than_it_says():
    x, y = two_xor(4)
    q = np.full(16, 1 / 16)
    _, _, aligned, error = brute_force(x, y, q)  # all points alike, the hardest case for a bound on the least
    truth = aligned.mean()
    assert aligned == pytest.approx(truth, abs=5 * error.max())
    functional = y * (kernel_matrix(x) @ (q * y))
    field, table = field_of(x, y, q), torch.from_numpy(x)
    failures = sum(
        teacher_margin(
            field, Directions(4, seed, torch.float64), table, y, functional, failure=0.2, precision=1, stop=lambda: True
        )[0]
        > truth
        for seed in range(150)
    )
    assert failures <= 150 * 0.2 + 12


def test_teacher_margin_of_one_worst_point_is_a_bound_not_an_estimate():
    """Where one point alone decides, an estimate in place of a bound would be too large half of the time."""
    x, y = random_points(8, 2, 0)
    q = np.random.default_rng(2).dirichlet(np.full(8, 20.0))
    _, _, aligned, error = brute_force(x, y, q, 2_000_000)
    first, second = np.sort(aligned)[:2]
    assert second - first > 0.02
    functional = y * (kernel_matrix(x) @ (q * y))
    field, table = field_of(x, y, q), torch.from_numpy(x)
    found = [
        teacher_margin(
            field, Directions(2, seed, torch.float64), table, y, functional, failure=0.2, precision=1, stop=lambda: True
        )
        for seed in range(150)
    ]
    worst = aligned.argmin()
    assert error[worst] < 0.2 * np.mean([errors[worst] for _, _, errors in found])
    failures = sum(lower > first for lower, _, _ in found)
    assert 3 <= failures <= 30  # 15 expected: half of the failure probability is the pilot's


def test_prepared_rows_serve_as_points():
    """The layout of kernels (rotated, padded) leaves F alone."""
    x, y = random_points(6, 40, 1)
    q = np.full(6, 1 / 6)
    rows = Rows.of(x, torch.float64)
    points = (rows.directions * rows.norms[:, None]).numpy()
    assert points.shape[1] < 40
    assert form_of(points, y, q) == pytest.approx(form_of(x, y, q), rel=1e-12)
    first, error, _, _ = brute_force(x, y, q, 100_000)
    second, other, _, _ = brute_force(points, y, q, 100_000)
    assert abs(first - second) <= 4 * np.hypot(error, other)


def test_alignment_ends_when_told_but_not_before_it_can_judge(monkeypatch):
    x, y = random_points(40, 5, 1)
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 64 * 80)
    mean = ControlledMean(np.zeros(40))
    field = field_of(x, y, np.full(40, 1 / 40))
    points, signs = torch.from_numpy(x), torch.from_numpy(y)
    observe_alignment(field, Directions(5, 0, points.dtype), points, signs, mean, 10_000, lambda: True)
    assert mean.count == module.LEAST_PAIRS


def test_teacher_margin_cut_short_is_wider_but_still_a_bound():
    x, y = random_points(40, 5, 1)
    q = np.full(40, 1 / 40)
    functional = y * (kernel_matrix(x) @ (q * y))
    ends = [
        teacher_margin(
            field_of(x, y, q), Directions(5, 3, torch.float64), torch.from_numpy(x), y, functional,
            failure=0.01, precision=0.01, stop=stop,
        )[0]
        for stop in (lambda: True, None)
    ]  # fmt: skip
    assert ends[0] < ends[1] <= brute_force(x, y, q)[2].min() + 1e-3
