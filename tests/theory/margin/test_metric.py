"""The kernel metric, and samples that are solved in it and corrected by it."""

import numpy as np
import pytest
import torch

from softlabel.theory.kernel import KernelRows, kernel_matrix
from softlabel.theory.margin import margin, replicate
from softlabel.theory.margin import metric as module
from softlabel.theory.margin.limits import UNLIMITED, Limits
from softlabel.theory.margin.metric import KernelMetric, LastMetric
from softlabel.theory.margin.replicate import solve_replicate, solve_teacher
from softlabel.theory.margin.sample import SampleProblem, draw_pairs, solve_sample
from tests.theory.margin.problems import digits, random_points


def metric_of(x, y, chosen=None, stop=UNLIMITED):
    chosen = np.arange(len(x)) if chosen is None else chosen
    return KernelMetric(KernelRows.from_inputs(x, torch.float64), y, chosen, stop)


def test_products_are_those_of_the_labeled_kernel(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)
    x, y = digits(40)
    a, chosen = kernel_matrix(x) * np.outer(y, y), np.arange(3, 40, 2)
    vector = np.random.default_rng(0).random(len(chosen))
    assert metric_of(x, y, chosen)(vector) == pytest.approx(a[np.ix_(chosen, chosen)] @ vector, abs=1e-6)


def test_small_and_very_large_problems_have_none():
    x, y = digits(40)
    last = LastMetric(KernelRows.from_inputs(x, torch.float64), y, UNLIMITED)
    assert last(np.arange(40)) is None
    assert last(np.arange(module.MOST_POINTS + 1)) is None


def test_the_last_metric_is_kept(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_POINTS", 3)
    x, y = digits(20)
    last = LastMetric(KernelRows.from_inputs(x, torch.float64), y, UNLIMITED)
    first = last(np.arange(5))
    assert first is not None
    assert last(np.arange(5)) is first
    assert len(last(np.arange(6)).chosen) == 6


@pytest.mark.parametrize("smoothing", [0.0, 0.01, 0.1])
def test_the_corrected_gradient_is_that_of_finite_differences(smoothing):
    x, y = random_points(12, 3, 2)
    rng = np.random.default_rng(3)
    exact = kernel_matrix(x) * np.outer(y, y)  # in float64
    parts = (torch.as_tensor(one) for one in (x, y, rng.standard_normal((40, 3))))
    sample = SampleProblem(*parts, metric=lambda vector: exact @ vector, controlled=True)
    q, step = rng.random(12) + 0.1, 1e-6
    here = sample.evaluate(q, smoothing)
    slopes = [
        (sample.evaluate(q + step * e, smoothing).smooth - sample.evaluate(q - step * e, smoothing).smooth) / (2 * step)
        for e in np.eye(12)
    ]
    assert here.functional + here.shift == pytest.approx(slopes, abs=1e-7)
    assert q @ (here.functional + here.shift) == pytest.approx(here.smooth, rel=1e-9)


def test_the_correction_makes_samples_vary_less():
    x, y = digits(80)
    q = margin(x, y, rtol=0.3, work_limit=1e9).q
    part = metric_of(x, y)
    points, signs, values = torch.from_numpy(x), torch.from_numpy(y), {}
    for controlled in (False, True):
        samples = [
            SampleProblem(points, signs, draw_pairs(500, 64, seed, torch.float64), metric=part, controlled=controlled)
            for seed in range(20)
        ]
        values[controlled] = np.array([sample.evaluate(q).functional for sample in samples])
    assert values[True].std(0).mean() < 0.6 * values[False].std(0).mean()
    error = values[False].std(0) / np.sqrt(20)
    assert (np.abs(values[True].mean(0) - values[False].mean(0)) <= 6 * error).all()


def test_a_sample_has_one_solution_with_and_without_the_metric():
    x, y = digits(500)
    points, z = torch.from_numpy(x), draw_pairs(600, 64, 1, torch.float64)
    q = np.full(500, 1 / 500)
    problems = [SampleProblem(points, torch.from_numpy(y), z, metric=one)
                for one in (None, metric_of(x, y))]  # fmt: skip
    plain, quick = (solve_sample(problem, q, tolerance=5e-3) for problem in problems)
    assert quick.upper == pytest.approx(plain.upper, rel=5e-3)
    assert quick.upper - quick.lower <= 5e-3 * quick.upper
    assert quick.evaluations < plain.evaluations / 2


def test_a_replicate_promises_no_more_with_the_metric():
    x, y = digits(450)
    points, z = torch.from_numpy(x), draw_pairs(400, 64, 2, torch.float64)
    initial = np.full(450, 1 / 450)
    working = np.arange(430)  # of which the others may violate the solution
    gaps = [
        solve_replicate(points, y, working, initial, z, 1e-2, UNLIMITED, one).gap
        for one in (lambda chosen: None, lambda chosen: metric_of(x, y, chosen))
    ]
    assert gaps[1] == pytest.approx(gaps[0], rel=0.03)


def test_large_working_sets_keep_what_carries_and_what_violates(monkeypatch):
    monkeypatch.setattr(replicate, "MANY", 100)
    x, y = digits(450)
    points, z = torch.from_numpy(x), draw_pairs(400, 64, 2, torch.float64)
    initial = np.zeros(450)
    initial[:150] = 1 / 150
    small = solve_replicate(points, y, np.arange(150), initial, z, 1e-2, UNLIMITED).gap
    monkeypatch.setattr(replicate, "MANY", 1000)
    assert small == pytest.approx(solve_replicate(points, y, np.arange(150), initial, z, 1e-2, UNLIMITED).gap, rel=0.03)


def test_the_teachers_q_with_the_metric_has_about_the_margin_of_one_without():
    x, y = digits(450)
    rows, points = KernelRows.from_inputs(x, torch.float64), torch.from_numpy(x)
    z, initial = draw_pairs(512, 64, 5, torch.float64), np.full(450, 1 / 450)
    fresh = SampleProblem(points, torch.from_numpy(y), draw_pairs(20_000, 64, 9, torch.float64))
    smoothing = 0.03
    margins = []
    for known in (lambda chosen: None, lambda chosen: KernelMetric(rows, y, chosen, UNLIMITED)):
        q = solve_teacher(rows, points, y, np.arange(450), initial, z, smoothing, 2e-3, UNLIMITED, known)
        assert q.sum() == pytest.approx(1)
        margins.append(float(fresh.evaluate(q, smoothing).functional.min()))
    assert margins[1] > margins[0]  # the control variate is worth many directions


def test_operations_are_counted():
    x, y = digits(40)
    limits = Limits(work=1e12)
    part = metric_of(x, y, stop=limits.until(1.0))
    before = limits.spent
    part(np.ones(40))
    assert limits.spent >= before + 4 * 40**2
