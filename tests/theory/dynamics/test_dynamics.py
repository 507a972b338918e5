"""f(t), limits, poles and expansions against dense truths; what is printed, shown wrong where it is."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.errors import InputError
from softlabel.theory.dynamics import (
    KernelProblem,
    all_poles,
    check_assumptions,
    corrected_expansion,
    exact_dynamics,
    extreme_poles,
    kernel_dynamics,
    limit,
    limits,
    pole_density,
    printed_expansion,
    printed_limit,
    ranks,
)
from tests.theory.dynamics.problems import by_small_steps, full_matrix, problem

TIMES = [0.0, 0.1, 1.0, 5.0, 40.0]
STRENGTHS = [0.0, 0.01, 0.7, 20.0, math.inf]
KINDS = [
    {"sigma": "softplus"},
    {"sigma": "tanh", "seed": 3},
    {"n": 12, "d": 5, "m": 3},  # more examples than inputs
    {"sigma": "relu", "n": 8, "d": 10},
]


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_poles_are_those_of_the_non_symmetric_matrix(kind, strength):
    p = problem(strength=strength, **kind)
    truth = np.sort(np.linalg.eigvals(full_matrix(p)).real)
    result = all_poles(p)
    assert np.abs(np.linalg.eigvals(full_matrix(p)).imag).max() < 1e-6
    assert result == pytest.approx(truth, abs=1e-10 * max(1, truth.max()) if strength > 0 else 1e-7)
    assert result.min() >= 0
    assert extreme_poles(p, 4) == pytest.approx(result[::-1][:4], rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("strength", [0.01, 0.7, 20.0, math.inf])
@pytest.mark.parametrize("kind", KINDS)
def test_f_of_t_is_that_of_the_matrix_exponential(kind, strength):
    """η(t) = e^{−H̄t}(f_k(0) − f_k(∞)), with any fixed point f_k(∞) of the linear flow."""
    p = problem(strength=strength, **kind)
    h = full_matrix(p)
    # a fixed point: r = 0 for finite λ means (a_k/√m)(y − f) + λ(φ_k − f_k) = 0
    mix = p.mix.numpy()
    if p.alone:
        rest = p.privileged.numpy()
    else:
        final = printed_limit(p).numpy()
        rest = np.outer(mix, p.y.numpy() - final) / p.strength + p.privileged.numpy()
    start = (p.features.numpy() - rest).reshape(-1)
    dynamics = exact_dynamics(p)
    for time in TIMES:
        truth = mix @ (rest + (scipy.linalg.expm(-h * time) @ start).reshape(p.units, p.n))
        assert dynamics(time) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_f_of_t_is_where_small_steps_lead(kind, strength):
    p = problem(strength=strength, **kind)
    if strength == 20.0:
        p = problem(strength=2.0, **kind)
    times = [0.2, 1.0, 3.0]
    assert exact_dynamics(p)(times) == pytest.approx(by_small_steps(p, times, 800), abs=1e-7)


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_lanczos_is_exact_when_its_space_is_exhausted(kind, strength):
    p = problem(strength=strength, **kind)
    truth, result = exact_dynamics(p), kernel_dynamics(p, vectors=400)
    for time in TIMES:
        assert result(time) == pytest.approx(truth(time), abs=1e-8)
    assert result.max_learning_rate == pytest.approx(2 / all_poles(p).max(), rel=1e-8)


def test_few_lanczos_vectors_come_near():
    p = problem(n=60, d=40, m=10, strength=1.0, seed=5)
    truth = exact_dynamics(p)
    errors = [
        np.abs(kernel_dynamics(p, vectors)([1.0, 10.0, 100.0]) - truth([1.0, 10.0, 100.0])).max()
        for vectors in (5, 20, 60)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-6


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_is_where_f_of_t_ends(kind, strength):
    p = problem(strength=strength, **kind)
    truth = exact_dynamics(p)(None)
    assert limit(p).numpy() == pytest.approx(truth, abs=2e-6)
    late = exact_dynamics(p)(1e9)
    assert late == pytest.approx(truth, abs=1e-5)


def test_the_printed_limit_holds_with_full_ranks_and_fails_without():
    fine = problem(strength=0.7)
    assert min(ranks(fine)) == fine.n
    assert printed_limit(fine).numpy() == pytest.approx(limit(fine).numpy(), abs=1e-7)
    for kind in ({"n": 40, "d": 10, "m": 30}, {"sigma": "relu", "n": 8, "d": 10, "m": 30}):
        p = problem(strength=0.7, **kind)
        assert min(ranks(p)) < p.n
        assert (printed_limit(p) - limit(p)).abs().max() > 0.1


def test_without_distillation_training_ends_at_zero_loss_where_the_units_span_the_examples():
    """Section 2.5.1 (λ = 0): it does where the ranges of the chosen units' H_k together span all examples, else not."""
    for kind in ({"n": 6, "d": 8, "m": 2}, {"n": 12, "d": 5, "m": 6}, {"sigma": "relu", "n": 8, "d": 10, "m": 12}):
        p = problem(strength=0.0, **kind)
        assert limit(p).numpy() == pytest.approx(p.y.numpy(), abs=1e-5)
    few = problem(strength=0.0, n=12, d=5, m=1)  # one unit of rank 5 for 12 examples
    assert max(ranks(few)) < few.n
    assert float((limit(few) - few.y).abs().max()) > 0.1


def test_the_corrected_expansion_is_exact_and_the_printed_one_is_not():
    p = problem(n=6, d=8, m=3, strength=0.7)
    truth = exact_dynamics(p)(TIMES)
    assert corrected_expansion(p)(TIMES) == pytest.approx(truth, abs=1e-10 * max(1, np.abs(truth).max()))
    assert np.abs(printed_expansion(p)(TIMES) - truth).max() > 0.1
    with pytest.raises(InputError, match="needs 0 < λ < ∞"):
        corrected_expansion(problem(strength=0.0))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), strength=st.sampled_from([0.0, 0.05, 1.0, math.inf]))
def test_at_time_zero_nothing_has_moved_and_loss_never_rises(seed, strength):
    p = problem(n=5, d=4, m=3, strength=strength, seed=seed)
    dynamics = kernel_dynamics(p, 50)
    assert dynamics(0.0) == pytest.approx(p.initial.numpy(), abs=1e-12)
    if strength == 0:
        losses = [np.square(f - p.y.numpy()).sum() for f in dynamics([0, 0.5, 1, 2, 8, 30])]
        assert all(b <= a + 1e-9 for a, b in itertools.pairwise(losses))


def test_gradient_descent_is_predicted_step_by_step():
    p = problem(strength=0.5)
    dynamics = exact_dynamics(p)
    step, f = 0.3 * dynamics.max_learning_rate, p.features.clone()
    for iteration in range(1, 30):
        r = torch.outer(p.mix, p.y - p.mix @ f) + p.strength * (p.privileged - f)
        f = f + step * p.gram(r)
        assert dynamics.descent(iteration, step) == pytest.approx((p.mix @ f).numpy(), abs=1e-10)
    small = dynamics.descent(4000, 1e-4)
    assert small == pytest.approx(dynamics(0.4), abs=1e-3)


def test_knowledge_already_had_moves_nothing_at_infinite_strength():
    p = problem(strength=math.inf, away=0.0)
    assert kernel_dynamics(p)([0.0, 3.0]) == pytest.approx(np.stack([p.initial.numpy()] * 2))
    assert limit(p).numpy() == pytest.approx(p.initial.numpy())


def test_the_density_of_poles_has_their_moments():
    p = problem(n=30, d=20, m=6, strength=0.4)
    poles = all_poles(p)
    place, share = pole_density(p, probes=30, vectors=40)
    assert share.sum() == pytest.approx(1)
    assert (place * share).sum() == pytest.approx(poles.mean(), rel=0.15)


def test_assumptions_are_reported():
    def words(p, **options):
        return {result.name.split(" (")[0]: result for result in check_assumptions(p, **options)}

    fine = words(problem(away=0.0), smooth=True, learning_rate=0.01)
    assert all(result.holds for result in fine.values())
    bad = words(problem(n=12, d=5, m=3, away=3.0), smooth=False, learning_rate=100.0)
    assert [bad[name].holds for name in bad] == [False, True, False, False, False]
    assert "more examples than inputs" in bad["every H_k has full rank"].meaning
    assert "diverges" in bad["learning rate below 2/λ_max"].meaning


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strength": -1.0}, "λ must be ≥ 0"),
        ({"y": np.ones(3)}, r"`y` must have shape \(7,\)"),
        ({"slopes": np.ones((4, 3))}, r"`slopes` must have shape \(4, 7\)"),
        ({"privileged": np.full((4, 7), np.nan)}, "`privileged` must be finite"),
        ({"output": np.zeros(4)}, "must not all be 0"),
    ],
)
def test_bad_problems_are_named(change, message):
    p = problem()
    values = {name: getattr(p, name) for name in ("x", "features", "slopes", "output", "privileged", "y", "strength")}
    with pytest.raises(InputError, match=message):
        KernelProblem.from_arrays(**(values | change))
    with pytest.raises(InputError, match="`time` must be"):
        exact_dynamics(p)(-1.0)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 25),
    d=st.integers(1, 12),
    sigma=st.sampled_from(["softplus", "tanh", "relu"]),
    copies=st.booleans(),
)
def test_cheap_projectors_are_those_of_the_singular_value_decomposition(seed, n, d, sigma, copies):
    p = problem(n=n, d=d, m=3, sigma=sigma, seed=seed)
    if copies:
        x = p.x.clone()
        x[0] = x[-1]
        p = replace(p, x=x)
    v = torch.from_numpy(np.random.default_rng(seed).standard_normal(n))
    for projector, slopes in zip(limits._projectors(p), p.slopes, strict=True):
        slow = limits._spanned(p, slopes)
        assert projector.rank == slow.rank
        assert projector.project(v).numpy() == pytest.approx(slow.project(v).numpy(), abs=1e-6)


def test_late_times_are_exact_by_default():
    p = problem(n=30, d=200, m=10, seed=4)
    times = [0.5, 50.0, 5000.0]
    assert kernel_dynamics(p)(times) == pytest.approx(exact_dynamics(p)(times), abs=1e-8)


def test_compressed_inputs_are_the_same_problem():
    p = problem(n=5, d=50, m=3)
    small = p.compressed()
    assert small.x.shape == (5, 5)
    v = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 5)))
    assert small.gram(v).numpy() == pytest.approx(p.gram(v).numpy(), abs=1e-12)
    wide = problem(n=9, d=4)
    assert wide.compressed() is wide


def test_the_prediction_is_a_json_document_and_one_line():
    p = problem(n=6, d=4, m=3)
    dynamics = kernel_dynamics(p)
    document = json.loads(json.dumps(dynamics.to_dict(), allow_nan=False))
    assert (document["n"], document["width"], document["strength"]) == (6, 3, p.strength)
    assert document["poles"] == sorted(dynamics.poles, reverse=True)
    assert document["largest_step"] == dynamics.max_learning_rate
    assert document["limit"] == pytest.approx(limit(p).numpy(), abs=1e-6)
    assert repr(dynamics).startswith("<Dynamics: 3 units, 6 examples, λ = ")
