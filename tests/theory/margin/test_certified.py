"""The certified interval on instances whose margin is known, its invariances, and bad input."""

import itertools
import math

import numpy as np
import pytest
import torch

from softlabel.errors import InputError
from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin import margin
from softlabel.theory.margin.certified import _mean_upper, _represented
from softlabel.theory.margin.kernel_margin import squared_norm
from softlabel.theory.margin.limits import UNLIMITED
from tests.theory.margin.problems import digits, norm_of_g, random_points, two_xor


def uniform_norm(d: int, draws: int = 20_000, seed: int = 0) -> tuple[float, float]:
    """γ* of 2-XOR = F at the uniform q, by drawing; and the standard error."""
    x, y = two_xor(d)
    z = np.random.default_rng(seed).standard_normal((draws, d))
    lengths = norm_of_g(x, y, np.full(len(x), 1 / len(x)), z)
    return float(lengths.mean()), float(lengths.std() / math.sqrt(draws))


def check_order(result) -> None:
    """What holds for every margin, however it was computed."""
    slack = 1 + 1e-6
    assert 0 <= result.floor <= result.lower <= result.upper <= result.kernel[1] * slack
    assert result.kernel[0] <= result.kernel[1]
    assert result.kernel[0] ** 2 <= result.upper
    assert result.teacher_lower <= result.lower
    assert result.q.sum() == pytest.approx(1)
    assert result.q.min() >= 0
    assert result.teacher_margins.shape == result.teacher_errors.shape == (result.n,)
    assert (result.teacher_margins >= result.teacher_lower).all()
    times = [at.seconds for at in result.history]
    assert times == sorted(times)
    assert [at.lower for at in result.history] == sorted(at.lower for at in result.history)
    assert [at.upper for at in result.history] == sorted((at.upper for at in result.history), reverse=True)


def test_digits_reference():
    x, y = digits(200)
    result = margin(x, y)
    check_order(result)
    assert result.relative_gap <= 0.05
    assert result.lower <= 0.0344  # the reference: γ* in [.0335, .0344]
    assert result.upper >= 0.0335
    assert result.kernel == pytest.approx((0.0396, 0.0396), abs=5e-5)
    assert (result.n, result.d, result.confidence, result.zero) == (200, 64, pytest.approx(0.95), None)
    assert result.upper <= np.linalg.norm(x, axis=1).min() / 2
    assert result.teacher_lower > 0.5 * result.lower


@pytest.mark.parametrize(("d", "reference"), [(3, 1 / 6), (6, 0.0636)])
def test_xor_reference(d, reference):
    x, y = two_xor(d)
    drawn, error = uniform_norm(d, 200_000)
    assert drawn == pytest.approx(reference, abs=4 * error + 5e-5)
    result = margin(x, y)
    check_order(result)
    assert result.relative_gap <= 0.05
    assert result.lower <= reference + 5e-5
    assert result.upper >= reference - 5e-5
    assert result.lower - 4 * error <= drawn <= result.upper + 4 * error
    assert result.teacher_lower > 0.9 * result.lower


@pytest.mark.slow
def test_xor_reference_of_4096_points():
    x, y = two_xor(12)
    drawn, error = uniform_norm(12)
    assert drawn == pytest.approx(0.0239, abs=4 * error + 5e-5)
    result = margin(x, y)
    check_order(result)
    assert result.relative_gap <= 0.05
    assert result.lower - 4 * error <= drawn <= result.upper + 4 * error


@pytest.mark.slow
def test_all_digits_to_five_percent():
    result = margin(*digits(None))
    check_order(result)
    assert result.relative_gap <= 0.05


def test_the_smallest_xor_by_hand():
    """With z = (a, b, c): ‖G‖ = ¼ at the uniform q unless |c| is the largest of the three, when G = 0: γ* = ¼·⅔."""
    x, y = two_xor(3)
    z = np.random.default_rng(0).standard_normal((5000, 3))
    lengths = norm_of_g(x, y, np.full(8, 1 / 8), z)
    inner = np.abs(z).argmax(axis=1) == 2
    assert lengths[inner] == pytest.approx(0, abs=1e-15)
    assert lengths[~inner] == pytest.approx(0.25)


def test_intervals_hold_the_margin_for_every_seed():
    """γ* = 1/6 is known; F is the same on most directions, so that rounding too is put to the test."""
    x, y = two_xor(3)
    result = [margin(x, y, seed=seed, work_limit=1e9) for seed in range(20)]
    assert all(one.lower <= 1 / 6 <= one.upper for one in result)
    assert all(one.teacher_lower <= 1 / 6 for one in result)


def test_intervals_hold_as_often_as_they_say():
    x, y = two_xor(5)
    truth, error = uniform_norm(5, 300_000)
    result = [margin(x, y, seed=seed, rtol=0.15, confidence=0.5, work_limit=4e9) for seed in range(14)]
    assert sum(one.lower - 3 * error <= truth <= one.upper + 3 * error for one in result) >= 7


@pytest.mark.parametrize("points", [random_points(25, 4, 1), random_points(12, 60, 2), digits(50)])
def test_order_and_limits(points):
    x, y = points
    result = margin(x, y, rtol=0.1)
    check_order(result)
    assert result.upper <= np.linalg.norm(x, axis=1).min() / 2


def test_two_points_by_hand():
    """x and −x, labeled apart: G is q_1 x or q_2 x, so F = ½ for every q."""
    x = np.array([[1.0, 0], [-1, 0]])
    result = margin(x, np.array([1.0, -1]))
    assert result.lower <= 0.5 <= result.upper + 1e-12
    assert result.relative_gap < 0.05
    # orthogonal, labeled apart: both seen, one, or none: E‖(x, −x')‖/2 = ¼·√2/2 + ½·½
    result = margin(np.eye(2), np.array([1.0, -1]))
    assert result.lower <= math.sqrt(2) / 8 + 1 / 4 <= result.upper
    assert result.relative_gap < 0.05


def test_rotation_and_flipped_labels_change_nothing():
    x, y = random_points(20, 4, 3)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    limit = {"work_limit": 4e9}
    plain, flipped = margin(x, y, **limit), margin(x, -y, **limit)
    for other in (margin(x @ turn, y, **limit), flipped, margin(np.hstack([x, np.zeros((20, 7))]), y, **limit)):
        check_order(other)
        assert other.lower <= plain.upper
        assert plain.lower <= other.upper
        assert other.kernel == pytest.approx(plain.kernel, rel=2e-4)
    assert flipped.lower == pytest.approx(plain.lower, rel=1e-5)


def test_margins_grow_with_the_points():
    x, y = random_points(20, 4, 3)
    plain, half = margin(x, y, work_limit=4e9), margin(x / 2, y, work_limit=4e9)
    assert half.kernel == pytest.approx(np.array(plain.kernel) / 2, rel=1e-5)
    assert half.lower <= plain.upper / 2
    assert plain.lower / 2 <= half.upper


def test_the_seed_decides():
    x, y = random_points(20, 4, 3)
    one, again, other = (margin(x, y, seed=seed, work_limit=4e9) for seed in (4, 4, 5))
    assert (one.lower, one.upper, one.teacher_lower) == (again.lower, again.upper, again.teacher_lower)
    assert (one.q == again.q).all()
    assert one.lower != other.lower


def test_work_and_not_the_clock_decides(monkeypatch):
    """The same numbers under a clock that stands still and one that leaps, with either a generous or a tight limit."""
    x, y = digits(60)
    for work_limit in (1e10, 3e8):
        result = []
        for pace in (0.0, 1e3):
            ticks = itertools.count()
            monkeypatch.setattr("time.perf_counter", lambda pace=pace, ticks=ticks: pace * next(ticks))
            result.append(margin(x, y, rtol=0.3, work_limit=work_limit, seed=3))
        monkeypatch.undo()
        one, other = result
        assert (one.lower, one.upper, one.teacher_lower, one.smoothing, one.operations) == (
            other.lower, other.upper, other.teacher_lower, other.smoothing, other.operations
        )  # fmt: skip
        assert (one.q == other.q).all()
        assert one.limited_by == other.limited_by == (None if one.relative_gap <= 0.3 else "work")
        assert one.seconds != other.seconds
        assert one.operations < 3 * work_limit


def test_limits_say_what_they_are():
    x, y = random_points(8, 2, 0)
    kinds = [
        margin(x, y, rtol=rtol, **limits).limited_by
        for rtol, limits in ((1e-6, {"time_limit": 1}), (1e-6, {"time_limit": 9, "work_limit": 1e9}), (0.9, {}))
    ]
    assert kinds == ["time", "work and time", None]


@pytest.mark.parametrize("points", [digits(None), two_xor(10)])
def test_a_short_time_limit_gets_an_honest_interval(points):
    x, y = points
    seen = []
    result = margin(x, y, time_limit=1, progress=seen.append)
    check_order(result)
    assert result.seconds < 20  # on however busy a machine
    assert seen == list(result.history)
    assert result.lower < 0.0165 if len(x) == 1797 else result.lower <= 0.0305  # γ* of either is known to be below
    assert result.upper > 0.0155 if len(x) == 1797 else result.upper >= 0.0285


def test_zero_is_reported_with_its_rows():
    x, y = random_points(20, 4, 0)
    x[9], y[9] = 0.5 * x[4], -y[4]
    result = margin(x, y)
    assert (result.lower, result.upper, result.floor, result.teacher_lower, result.confidence) == (0, 0, 0, 0, 1)
    assert result.relative_gap == 0
    assert result.zero is not None
    assert result.zero.rows == (4, 9)
    assert result.asymptotic.startswith("nothing")


def test_more_points_than_float64_kernels_are_for(monkeypatch):
    x, y = digits(120)
    double = margin(x, y, rtol=0.15, work_limit=2e10)
    monkeypatch.setattr("softlabel.theory.margin.certified.LARGE", 10)
    single = margin(x, y, rtol=0.15, work_limit=2e10)
    check_order(single)
    assert single.kernel == pytest.approx(double.kernel, rel=3e-4)
    assert single.lower <= double.upper
    assert double.lower <= single.upper


def test_points_outside_the_working_set_join(monkeypatch):
    """With hardly any point to begin with, a sample still ends where all points are taken account of."""
    from softlabel.theory.margin import certified

    x, y = digits(100)
    full = margin(x, y, rtol=0.15, work_limit=2e10)
    monkeypatch.setattr(certified._Search, "_working", lambda self, kernel: np.flatnonzero(kernel.q)[::3])
    small = margin(x, y, rtol=0.15, work_limit=2e10)
    check_order(small)
    assert small.lower <= full.upper
    assert full.lower <= small.upper
    assert small.relative_gap <= 0.15


def test_upper_end_of_a_mean():
    values = [1.0, 2.0, 3.0, 4.0]
    assert _mean_upper(values, 0.05) == pytest.approx(2.5 + 2.353 * np.std(values, ddof=1) / 2, abs=1e-3)
    assert _mean_upper([1.0, 1.0], 0.01) == 1


def test_samples_count_only_where_they_meet_the_directions_that_matter():
    """Two nearly equal points of different classes are told apart in a wedge of probability θ/π alone.

    For q = (½, ½) on them, F = (¼ + 1/2π)θ and E‖G‖² = θ/4π + O(θ²): samples of a few thousand directions that miss the
    wedge would agree on a gap that is far too small.
    """
    theta = 1e-3
    x = np.array([[math.cos(theta / 2), side * math.sin(theta / 2), 0, 0] for side in (1, -1)])
    rows = KernelRows.from_inputs(x, torch.float64)
    square = squared_norm(rows, np.array([1.0, -1.0]), np.array([0.5, 0.5]), UNLIMITED)
    value = (1 / 4 + 1 / (2 * math.pi)) * theta
    assert square == pytest.approx(theta / (4 * math.pi), rel=0.01)
    assert not _represented(square, value, pairs=6 * 1024)
    assert _represented(square, value, pairs=10**6)
    assert _represented(1.3, 1.0, pairs=6 * 256)
    assert not _represented(1.0, 0.0, pairs=10**9)


def test_ends_that_cross_are_not_returned(monkeypatch):
    x, y = digits(40)
    fair = margin(x, y, work_limit=1e10)
    monkeypatch.setattr("softlabel.theory.margin.certified._mean_upper", lambda gaps, failure: -1.0)
    crossed = margin(x, y, work_limit=1e10)
    assert any(at.lower > at.upper for at in crossed.history)
    assert crossed.lower == max(crossed.floor, crossed.teacher_lower) < fair.lower
    assert crossed.upper == pytest.approx(min(crossed.kernel[1], np.linalg.norm(x, axis=1).min() / 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": 2.0}, r"norms ≤ 1, the largest is 2; set `scale` to max or unit"),
        ({"y": [1, 0, 1, -1]}, "labels must be −1 and"),
        ({"y": [1, 1, 1, 1]}, "one class only"),
        ({"y": [1, -1, 1]}, r"labels have shape \(3,\), `inputs` have 4 rows"),
        ({"x": np.nan}, "row 0 is not finite"),
        ({"x": np.inf}, "row 0 is not finite"),
        ({"table": np.ones(4)}, "table of rows and columns"),
        ({"table": np.ones((0, 3)), "y": []}, "table of rows and columns"),
        ({"time_limit": 0.5}, "`time_limit` must lie between 1 and 1e\\+09, got 0.5"),
        ({"time_limit": math.nan}, "time_limit"),
        ({"time_limit": math.inf}, "`time_limit` must lie between 1 and 1e\\+09, got inf"),
        ({"work_limit": 10.0}, "`work_limit` must lie between 1e\\+06 and"),
        ({"work_limit": math.nan}, "work_limit"),
        ({"work_limit": math.inf}, "`work_limit` must lie between 1e\\+06 and"),
        ({"rtol": 0}, r"`rtol` must lie in \(0, 1\), got 0"),
        ({"rtol": 1.5}, "rtol"),
        ({"confidence": 1.0}, r"`confidence` must lie in \[0.5, 1\), got 1.0"),
        ({"confidence": 0.2}, "confidence"),
    ],
)
def test_bad_input_is_named(change, message):
    change = dict(change)
    table = change.pop("table", np.where(np.eye(4) == 1, change.pop("x", 1.0), 0))
    y = np.array(change.pop("y", [1, -1, 1, -1]), dtype=float)
    with pytest.raises(InputError, match=message):
        margin(table, y, **change)


def test_rounding_of_unit_norms_is_forgiven():
    x, y = digits(30)
    assert margin((x * (1 + 1e-6)).astype(np.float32), y, rtol=0.2).upper > 0
