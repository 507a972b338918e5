"""The smoothed teacher: its v, the bound on its margin, and certificates against exact values in the plane."""

import numpy as np
import pytest
import torch

from softlabel.errors import InputError
from softlabel.teachers import KernelLimitTeacher
from softlabel.theory.kernel import kernel_matrix
from softlabel.theory.margin import TeacherField, margin
from softlabel.theory.margin.fresh import ControlledMean, Directions, carrying
from softlabel.theory.margin.limits import Limits
from softlabel.theory.margin.rounding import Rounding
from softlabel.theory.margin.teacher import (
    LEAST_PAIRS,
    KnownMeans,
    PlainBounds,
    RestBounds,
    observe_alignment,
    teacher_margin,
)
from tests.theory.margin.problems import (
    arcs,
    digits,
    exact_alignment,
    exact_margin,
    norm_of_g,
    plane_points,
    random_points,
    two_xor,
)


def field_of(x, y, q, smoothing=0.01):
    return TeacherField(*carrying(torch.from_numpy(x), y, q), smoothing)


def smoothed_v(x, y, q, smoothing):
    def v(z):
        g = (z @ x.T > 0) @ (x * (q * y)[:, None])
        return g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), smoothing)

    return v


def brute_force(x, y, q, smoothing, draws=400_000, seed=99):
    """y_i E⟨v, φ_i⟩ with standard errors, by the definition."""
    z = np.random.default_rng(seed).standard_normal((draws, x.shape[1]))
    aligned = y * (z @ x.T > 0) * (smoothed_v(x, y, q, smoothing)(z) @ x.T)
    return aligned.mean(0), aligned.std(0) / np.sqrt(draws)


def known_means(x, y, q):
    pull = y * (kernel_matrix(x) @ (q * y))
    return KnownMeans(pull, float(q @ pull))


def certify(x, y, q, smoothing, seed=3, by_rest=False, **settings):
    field, points, rounding = field_of(x, y, q, smoothing), torch.from_numpy(x), Rounding(*x.shape, 1.0)
    certificate = (
        RestBounds(field, points, y, rounding, known_means(x, y, q))
        if by_rest
        else PlainBounds(field, points, y, rounding)
    )
    return teacher_margin(certificate, Directions(x.shape[1], seed), **{"failure": 0.01, "precision": 0.1} | settings)


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_on_what_smoothing_costs(seed):
    """γ* ≥ γ(v) = E[‖G‖ min(‖G‖/s, 1)] − g(q) ≥ F(q) − s/4 − g(q), exactly, in the plane."""
    x, y = plane_points(seed)
    gamma, best = exact_margin(x, y)
    z, shares = arcs(x)
    rng = np.random.default_rng(seed)
    for q in (np.maximum(best, 0) / np.maximum(best, 0).sum(), rng.dirichlet(np.ones(len(x)))):
        for s in (gamma / 2, gamma / 16, 0.3):
            lengths = norm_of_g(x, y, q, z)
            huber = np.where(lengths >= s, lengths, lengths**2 / (2 * s) + s / 2)
            margins = y * exact_alignment(x, x, smoothed_v(x, y, q, s))
            gap = shares @ huber - (margins.min() + shares @ np.maximum(s - lengths**2 / s, 0) / 2)
            assert gap >= -1e-12
            assert margins.min() == pytest.approx(shares @ (lengths * np.minimum(lengths / s, 1)) - gap, abs=1e-12)
            assert margins.min() >= shares @ lengths - s / 4 - gap - 1e-12
            assert margins.min() <= gamma + 1e-7


def test_v_is_its_definition_and_asks_for_a_smoothing():
    x, y = random_points(12, 4, 0)
    q = np.random.default_rng(0).dirichlet(np.ones(12)) * (np.arange(12) > 3)
    z = np.random.default_rng(1).standard_normal((50, 4))
    assert field_of(x, y, q, 0.02).v(torch.from_numpy(z)).numpy() == pytest.approx(
        smoothed_v(x, y, q, 0.02)(z), abs=1e-14
    )
    for smoothing in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="`smoothing` must be positive"):
            field_of(x, y, q, smoothing)


@pytest.mark.parametrize(("by_rest", "smoothing"), [(False, 0.02), (True, 0.02), (True, 0.2)])
@pytest.mark.parametrize("points", [random_points(8, 2, 0), random_points(12, 4, 5), two_xor(4)])
def test_teacher_margin_equals_brute_force(points, by_rest, smoothing):
    x, y = points
    q = np.random.default_rng(2).dirichlet(np.full(len(x), 20.0))
    aligned, error = brute_force(x, y, q, smoothing)
    lower, value, errors = certify(x, y, q, smoothing, by_rest=by_rest, precision=0.5)
    assert (np.abs(value - aligned) <= 4.5 * np.hypot(errors, error)).all()
    assert lower <= aligned.min() + 4 * error.max()


@pytest.mark.parametrize(("by_rest", "smoothing"), [(False, 0.02), (True, 0.1)])
def test_certificates_hold_where_every_point_is_the_worst(by_rest, smoothing):
    x, y = two_xor(4)
    q = np.full(16, 1 / 16)
    aligned, error = brute_force(x, y, q, smoothing)
    truth = aligned.mean()
    assert aligned == pytest.approx(truth, abs=5 * error.max())
    lowers = [certify(x, y, q, smoothing, seed, by_rest=by_rest, failure=0.2, precision=0.2)[0] for seed in range(20)]
    assert max(lowers) <= truth + 4 * error.max()
    assert min(lowers) >= 0.7 * truth


def test_a_limit_ends_it_with_a_wider_bound():
    x, y = two_xor(4)
    q = np.full(16, 1 / 16)
    truth = brute_force(x, y, q, 0.02)[0].min()
    stop = Limits(work=1e6).until(0.0)
    stop.spend(1.0)
    short = certify(x, y, q, 0.02, stop=stop)[0]
    long = certify(x, y, q, 0.02, stop=Limits(work=5e9).until(1.0))[0]
    assert short < long <= truth + 1e-3


def test_a_large_smoothing_is_certified_with_fewer_directions_by_the_rest():
    """Points that nearly cancel: ⟨v, φ⟩ is of the size of v, its mean is a hundredth of that."""
    x, y = digits(120)
    q = margin(x, y, rtol=0.3, work_limit=1e9).q
    smoothing = 1.5 * np.sqrt(known_means(x, y, q).square)
    plain, by_rest = (
        certify(x, y, q, smoothing, by_rest=way, precision=0.0, stop=Limits(work=2e10).until(1.0))[0]
        for way in (False, True)
    )
    exact, error = brute_force(x, y, q, smoothing, draws=100_000)
    assert plain < by_rest <= exact.min() + 4 * error.max()


def test_the_bound_holds_where_rare_directions_have_a_long_g():
    """Points that cancel but on few directions: the known mean of ‖G‖² says that something was not seen."""
    angles = np.array([0.0, 1e-4, np.pi, np.pi + 1e-4, 1.0])
    x, y = np.column_stack([np.cos(angles), np.sin(angles)]), np.array([1.0, -1, -1, 1, 1])
    q = np.array([0.2475, 0.2475, 0.2475, 0.2475, 0.01])
    for smoothing in (0.003, 0.02):
        exact = y * exact_alignment(x, x, smoothed_v(x, y, q, smoothing))
        for seed in range(5):
            stop = Limits(work=1e8).until(1.0)
            assert certify(x, y, q, smoothing, seed, by_rest=True, stop=stop)[0] <= exact.min()


@pytest.mark.parametrize("pairs", [5, 16, 100, 1000])
def test_alignment_takes_the_draws_asked_for(pairs):
    x, y = random_points(10, 3, 3)
    q = np.full(10, 0.1)
    mean = ControlledMean(y * (kernel_matrix(x) @ (q * y)))
    lengths = observe_alignment(
        field_of(x, y, q), Directions(3, 0), torch.from_numpy(x), torch.from_numpy(y), {0.01: mean}, pairs
    )
    assert mean.count == pairs
    assert lengths.shape == (2, pairs)


def test_alignment_ends_on_request_but_not_before_it_can_judge(monkeypatch):
    monkeypatch.setattr("softlabel.theory.margin.teacher.BLOCK_NUMBERS", 64 * 100)
    x, y = random_points(40, 5, 1)
    mean = ControlledMean(np.zeros(40))
    stop = Limits(work=1e6).until(0.0)
    field = field_of(x, y, np.full(40, 1 / 40))
    observe_alignment(field, Directions(5, 0), torch.from_numpy(x), torch.from_numpy(y), {0.01: mean}, 10_000, stop)
    assert mean.count == LEAST_PAIRS


@pytest.mark.parametrize("seed", range(28))
def test_what_is_certified_is_true_of_the_teacher_that_is_returned(seed):
    """Random sets in the plane, some of them nearly degenerate: the certificate against the exact finite sum."""
    x, y = plane_points(seed)
    result = margin(x, y, rtol=0.2, work_limit=1.5e9, seed=seed)
    gamma, _ = exact_margin(x, y)
    teacher = KernelLimitTeacher.from_margin(result, x, y)
    exact = y * exact_alignment(x, teacher.points.numpy(), teacher.v)
    assert teacher.margin_lower == result.teacher_lower
    assert result.teacher_lower <= exact.min()
    assert exact.min() <= gamma + 1e-7
    assert result.lower <= gamma + 1e-7 <= result.upper + 2e-7


@pytest.mark.parametrize("seed", [0, 4, 9, 10, 16, 22])
def test_the_teacher_keeps_nearly_all_of_the_margin(seed):
    """Where v = G/‖G‖ at the q of a sample kept 98% at best and was negative for three of these six."""
    x, y = plane_points(seed)
    result = margin(x, y, rtol=0.2, work_limit=2e10, seed=seed)
    gamma, _ = exact_margin(x, y)
    teacher = KernelLimitTeacher.from_margin(result, x, y)
    exact = y * exact_alignment(x, teacher.points.numpy(), teacher.v)
    assert 0.95 * gamma <= exact.min() <= gamma + 1e-7


def test_features_that_nearly_cancel():
    """(1,0), (0,1), (1,1)/√2 with weights ∝ (1 + 1e-6, 1, −√2): G is 1e-7 on an eighth of all directions.

    The labels must be those of the v that students are compared with: one definition, one precision.
    """
    x = np.array([[1, 0], [0, 1], [np.sqrt(0.5), np.sqrt(0.5)]])
    weights = np.array([1 + 1e-6, 1, -np.sqrt(2)])
    for smoothing in (1e-9, 1e-7, 1e-3):
        teacher = KernelLimitTeacher(torch.from_numpy(x), torch.from_numpy(weights / np.abs(weights).sum()), smoothing)
        z = np.random.default_rng(0).standard_normal((200_000, 2))
        terms = (z @ x.T > 0) * (teacher.v(z) @ x.T)
        exact = exact_alignment(x, x, teacher.v)
        assert terms.mean(0) == pytest.approx(exact, abs=5e-3)
        value, error = teacher.logits(x)
        assert (np.abs(value - exact) <= 5 * error + 1e-12).all()


def test_digits_keep_more_of_their_margin_than_half():
    x, y = digits(60)
    result = margin(x, y, rtol=0.2, work_limit=1e11)
    assert result.teacher_lower > 0.5 * result.lower
    assert 0 < result.smoothing <= 2 * result.upper
