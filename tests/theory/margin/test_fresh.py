"""Means over fresh directions: unbiased, with honest errors and bounds, equal to brute force."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from softlabel.theory.kernel import KernelRows, kernel_matrix
from softlabel.theory.margin.fresh import BoundedMean, ControlledMean, Directions, Field, carrying, mean_norm
from softlabel.theory.margin.limits import Limits
from softlabel.theory.margin.rounding import Rounding
from tests.theory.margin.problems import arcs, norm_of_g, random_points, two_xor


def field_of(x, y, q):
    return Field(*carrying(torch.from_numpy(x), y, q))


def form_of(x, y, q):
    return float((q * y) @ kernel_matrix(x) @ (q * y))


def brute_force(x, y, q, draws=400_000, seed=99):
    """F(q) with its standard error, by the definition."""
    z = np.random.default_rng(seed).standard_normal((draws, x.shape[1]))
    lengths = norm_of_g(x, y, q, z)
    return lengths.mean(), lengths.std() / np.sqrt(draws)


def bounds_of(x, y, q, seed=1, **settings):
    defaults = {"square": form_of(x, y, q), "rounding": Rounding(*x.shape, 1.0), "failure": 0.01, "precision": 0.05}
    settings = defaults | settings
    return mean_norm(field_of(x, y, q), Directions(x.shape[1], seed), **settings)


def test_field_is_the_definition():
    x, y = random_points(12, 4, 0)
    q = np.random.default_rng(0).dirichlet(np.ones(12)) * (np.arange(12) > 3)
    z = np.random.default_rng(1).standard_normal((50, 4))
    field = field_of(x, y, q)
    here, opposite = field.both_ways(torch.from_numpy(z))
    assert here.numpy() == pytest.approx((z @ x.T > 0) @ (x * (q * y)[:, None]), abs=1e-15)
    assert opposite.numpy() == pytest.approx((z @ x.T < 0) @ (x * (q * y)[:, None]), abs=1e-15)


def test_directions_go_on_from_where_they_were():
    one, two = (Directions(3, 5) for _ in range(2))
    parts = torch.cat([one.draw(16), one.draw(16)])
    assert parts.shape == (32, 3)
    assert torch.equal(parts[:16], two.draw(16))
    assert not torch.equal(parts[:16], parts[16:])


def test_controlled_means_are_unbiased_and_their_errors_cover():
    """2,000 simulations: the mean of the estimates, and how often ±1.645 standard errors hold the truth."""
    rng, draws, rounds = np.random.default_rng(0), 200, 2000
    correlated = np.array([0.0, 0.9, -0.99])
    estimates, stored = [], 0
    for _ in range(rounds):
        control = rng.exponential(size=(draws, 3))
        values = 2 + correlated * (control - 1) + np.sqrt(1 - correlated**2) * rng.standard_normal((draws, 3))
        mean = ControlledMean(np.ones(3))
        mean.add(torch.from_numpy(values[:50]), torch.from_numpy(control[:50]))
        mean.add(torch.from_numpy(values[50:]), torch.from_numpy(control[50:]))
        value, error = mean.means()
        estimates.append(value)
        stored += np.abs(value - 2) <= norm.isf(0.05) * error
    assert mean.count == draws
    spread = np.std(estimates, axis=0)
    assert np.mean(estimates, axis=0) == pytest.approx(2, abs=4 * spread.max() / np.sqrt(rounds))
    assert spread == pytest.approx(np.sqrt((1 - correlated**2) / draws), rel=0.1)
    assert stored / rounds == pytest.approx(0.9, abs=0.025)


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


def test_empirical_bernstein_bounds_hold_where_a_normal_approximation_fails():
    """A value of 1 with probability 1/3000, else 0: most runs of 1,000 draws see none of them."""
    rng, failure = np.random.default_rng(0), 0.05
    misses = normal_misses = 0
    for _ in range(300):
        values = (rng.random((1000, 1)) < 1 / 3000).astype(float)
        mean = BoundedMean(np.ones(1))
        mean.add(torch.from_numpy(values[:300]))
        mean.add(torch.from_numpy(values[300:]))
        misses += mean.value[0] + mean.half_length(failure)[0] < 1 / 3000
        normal_misses += mean.value[0] + norm.isf(failure) * mean.error[0] < 1 / 3000
    assert misses == 0
    assert normal_misses > 150


def test_bounded_means_are_their_definitions():
    values = np.random.default_rng(0).random((500, 3)) * [1, 2, 3]
    mean = BoundedMean(np.array([1.0, 2, 3]))
    mean.add(torch.from_numpy(values))
    variance = values.var(axis=0, ddof=1)
    assert mean.value == pytest.approx(values.mean(0))
    assert mean.error == pytest.approx(np.sqrt(variance / 500))
    log = np.log(2 / 0.01)
    expected = np.sqrt(2 * variance * log / 500) + 7 * np.array([1, 2, 3]) * log / (3 * 499)
    assert mean.half_length(0.01) == pytest.approx(expected)
    mean.keep(np.array([2]))
    assert mean.half_length(0.01) == pytest.approx(expected[[2]])


@pytest.mark.parametrize("points", [random_points(8, 2, 0), random_points(15, 5, 1), two_xor(4)])
def test_mean_norm_equals_brute_force(points):
    x, y = points
    q = np.random.default_rng(2).dirichlet(np.ones(len(x)))
    value, error = brute_force(x, y, q)
    result = bounds_of(x, y, q)
    assert result.upper - result.value <= 0.05 * result.value
    assert result.value - result.lower <= 0.05 * result.value
    assert result.lower - 4 * error <= value <= result.upper + 4 * error


def test_mean_norm_where_rare_directions_hold_all_of_it():
    """±x turned by 1e-5, labeled apart: G is not 0 on 3e-6 of all directions and nearly 0 on the others."""
    angles = np.array([0.0, 1e-5, np.pi, np.pi + 1e-5])
    x, y = np.column_stack([np.cos(angles), np.sin(angles)]), np.array([1.0, -1, -1, 1])
    q = np.full(4, 0.25)
    z, shares = arcs(x)
    truth = float(shares @ norm_of_g(x, y, q, z))
    assert norm_of_g(x, y, q, z)[shares > 0.1].max() < 1e-5
    for seed in range(5):
        result = bounds_of(x, y, q, seed, stop=Limits(work=1e8).until(1.0))
        assert result.lower <= truth <= result.upper


def test_mean_norm_where_rounding_makes_the_second_moment_negative():
    """Points that nearly cancel: qᵀAq is below the rounding errors of its terms."""
    angles = np.array([0.0, 1e-9, np.pi, np.pi + 1e-9])
    x, y = np.column_stack([np.cos(angles), np.sin(angles)]), np.array([1.0, -1, -1, 1])
    z, shares = arcs(x)
    truth = float(shares @ norm_of_g(x, y, np.full(4, 0.25), z))
    for square in (-1e-17, 0.0):
        result = bounds_of(x, y, np.full(4, 0.25), square=square, stop=Limits(work=1e7).until(1.0))
        assert result.lower <= truth <= result.upper


def test_mean_norm_ends_on_request():
    x, y = random_points(10, 3, 3)
    stop = Limits(work=1e6).until(0.0)
    stop.spend(1.0)
    result = bounds_of(x, y, np.full(10, 0.1), precision=1e-9, stop=stop)
    assert 0 < result.value - result.lower < 0.5 * result.value
    wide = result.upper - result.lower
    assert stop.limits.spent < 1e8
    longer = bounds_of(x, y, np.full(10, 0.1), precision=1e-9, stop=Limits(work=2e9).until(1.0))
    assert longer.upper - longer.lower < wide / 4


def test_prepared_rows_serve_as_points():
    """The layout of kernels (rotated, padded) leaves F alone."""
    x, y = random_points(6, 40, 1)
    q = np.full(6, 1 / 6)
    rows = KernelRows.from_inputs(x, torch.float64)
    points = (rows.directions * rows.norms[:, None]).numpy()
    assert points.shape[1] < 40
    assert form_of(points, y, q) == pytest.approx(form_of(x, y, q), rel=1e-12)
    first, error = brute_force(x, y, q, 100_000)
    second, other = brute_force(points, y, q, 100_000)
    assert abs(first - second) <= 4 * np.hypot(error, other)
