"""The probabilistic steps, by drawing; and the deterministic ones on real trainings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from softlabel.networks import Student, TrainingOptions, hard_labels, soft_labels, train_students
from softlabel.theory import bounds
from softlabel.theory.bounds.n_free import mean_square_excess


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    """Twelve inputs of unit norm and less, in three dimensions."""
    draw = np.random.default_rng(7).standard_normal((12, 3))
    return draw / np.linalg.norm(draw, axis=1, keepdims=True) * np.linspace(0.4, 1, 12)[:, None]


def bold_teacher(directions: np.ndarray) -> np.ndarray:
    """v(z) of norm 1 whose sign changes with z, so that features scatter as much as they may."""
    sign = np.sign(directions[:, :1] * directions[:, 1:2])
    return sign * np.array([[0.0, 0.6, 0.8]])


def test_feature_deviation_holds_as_often_as_it_says(points):
    rng, width, delta, rounds = np.random.default_rng(1), 40, 0.2, 4000
    exact = rng.standard_normal((400_000, 3))
    z = ((exact @ points.T > 0) * (bold_teacher(exact) @ points.T)).mean(axis=0)
    bound = bounds.feature_deviation(width, len(points), delta)
    failures = 0
    for _ in range(rounds):
        start = rng.standard_normal((width // 2, 3))
        f = ((start @ points.T > 0) * (bold_teacher(start) @ points.T)).mean(axis=0)
        failures += np.abs(f - z).max() > bound
    assert failures / rounds <= delta
    assert bounds.feature_deviation(width, 12, delta, kappa=3) == pytest.approx(3 * bound)


@pytest.mark.parametrize("sharp", [False, True])
def test_band_counts_hold_as_often_as_they_say(points, sharp):
    rng, width, radius, delta, rounds = np.random.default_rng(2), 200, 1.0, 0.1, 3000
    bound = bounds.flip_deviation(width, radius, len(points), delta, sharp=sharp)
    norms = np.linalg.norm(points, axis=1)
    failures, shares = 0, 0.0
    for _ in range(rounds):
        start = rng.standard_normal((width // 2, 3))
        pairs = (np.abs(start @ points.T) <= norms * radius / math.sqrt(width)).sum(axis=0)
        failures += (2 * radius * pairs / width).max() > bound
        shares += pairs.mean() / (width // 2) / rounds
    assert failures / rounds <= delta
    assert shares == pytest.approx(bounds.band_probability(width, radius), rel=0.02)
    assert bounds.band_probability(width, radius) <= bounds.MEAN_ABSOLUTE * radius / math.sqrt(width)


def test_bernstein_is_sharper_once_the_band_is_thin():
    for width in (10**3, 10**5, 10**7):
        assert bounds.flip_deviation(width, 1, 100, 0.05, sharp=True) < bounds.flip_deviation(width, 1, 100, 0.05)
    assert bounds.flip_deviation(10**6, 1, 100, 0.05) < bounds.paper_flip_deviation(10**6, 1, 1, 100, 0.05, 1.0) * 2


def test_mean_squares_need_no_union(points):
    """The n-free step: mean_i X_i² ≤ uκ²/m with probability 1 − δ, and the band counts likewise."""
    rng, width, delta, rounds = np.random.default_rng(3), 40, 0.2, 4000
    exact = rng.standard_normal((400_000, 3))
    z = ((exact @ points.T > 0) * (bold_teacher(exact) @ points.T)).mean(axis=0)
    u = mean_square_excess(delta)
    assert u - 1 - math.log(u) == pytest.approx(2 * math.log(1 / delta))
    assert u > 1
    norms, radius = np.linalg.norm(points, axis=1), 1.0
    q = bounds.band_probability(width, radius)
    features = flips = 0
    for _ in range(rounds):
        start = rng.standard_normal((width // 2, 3))
        f = ((start @ points.T > 0) * (bold_teacher(start) @ points.T)).mean(axis=0)
        features += ((f - z) ** 2).mean() > u / width
        band = (np.abs(start @ points.T) <= norms * radius / math.sqrt(width)).mean(axis=0)
        flips += ((band - q) ** 2).mean() > u / (2 * width)
    assert max(features, flips) / rounds <= delta


def test_the_bound_without_n_does_not_grow_and_beats_the_others_for_many_examples():
    free = bounds.soft_without_n(0.05, 0.1)
    u = mean_square_excess(0.05)
    k = math.sqrt(2 / math.pi) + (1 + math.sqrt(0.5)) * math.sqrt(u)
    assert free.width == 2 * math.ceil(k**2 / (4 * 0.1 * bounds.coin_divergence(0.05)) / 2)
    assert free.width < bounds.soft_width(0.05, 0.1, 10**4)
    assert free.width > bounds.soft_width(0.05, 0.1, 10, family="tight")
    assert (free.learning_rate, free.radius, free.probability) == (1.0, 1.0, pytest.approx(0.9))
    assert free.iterations == bounds.soft(0.05, 0.1, 1000).iterations
    warm = bounds.soft_without_n(0.05, 0.1, kappa=2, alpha=3)
    k = 2 * (math.sqrt(2 / math.pi) * 2 / 3 + (1 + math.sqrt(0.5)) * math.sqrt(u))
    assert warm.width == 2 * math.ceil(k**2 / (4 * 0.1 * bounds.coin_divergence(0.1)) / 2)


def test_errors_from_losses():
    assert bounds.error_from_loss(0.1) < 8.4 / 0.01 < bounds.printed_error_from_loss(0.1) == pytest.approx(3200)
    assert bounds.error_from_loss(0.1, kappa=3) == pytest.approx(bounds.error_from_loss(0.3))
    assert bounds.error_from_soft_labels([0.9, 0.4]) == pytest.approx(50)
    assert bounds.error_from_loss(1e-300) == math.inf


@pytest.mark.parametrize(("width", "learning_rate"), [(8, 1.0), (60, 0.3)])
def test_mean_losses_of_a_training_stay_below_both_forms_of_lemma_7(points, width, learning_rate):
    z = 0.4 * np.sin(7 * points[:, 0])
    p, rounds, radius = expit(z), 40, 1.0
    student = Student(width=width, labels="soft", radius=radius, learning_rate=learning_rate, seed=3)
    networks = []
    train_students(
        points, [student], {"soft": soft_labels(p)}, iterations=rounds,
        options=TrainingOptions(precision="float64", callback=lambda _, weights: networks.append(weights[0])),
    )  # fmt: skip
    networks = networks[:rounds]
    initial, signs = networks[0].hidden.numpy(), networks[0].output.numpy().ravel()
    reach = np.random.default_rng(0).standard_normal(initial.shape)
    comparison = initial + radius * reach / np.linalg.norm(reach, axis=1, keepdims=True) / math.sqrt(width)
    losses, at_comparison = [], []
    for network in networks:
        losses.append(bounds.divergence(z, network.logits(points)).mean())
        active = points @ network.hidden.numpy().T > 0
        frozen = (active * (points @ comparison.T)) @ signs / math.sqrt(width)
        at_comparison.append(bounds.divergence(z, frozen).mean())
    assert losses[-1] < losses[0]
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()
    assert np.mean(losses) <= bounds.mean_loss(learning_rate, rounds, radius, np.mean(at_comparison))
    assert np.mean(losses) <= bounds.paper_mean_loss(learning_rate, rounds, radius, np.mean(at_comparison), entropy)


def test_the_theorem_holds_at_its_own_size():
    """γ(v) = .35 on two orthogonal points: the tight width, step, iterations and radius give mean error ≤ ε."""
    x, y = np.eye(2), np.array([1.0, -1.0])
    gamma, epsilon = 0.25 * math.sqrt(2), 0.5  # v(z) = (1, −1)/√2 gives z_i = ±1/(2√2)
    needed = bounds.soft(gamma, epsilon, 2, delta=0.3)
    student = Student(width=needed.width, labels="soft", radius=needed.radius, learning_rate=needed.learning_rate)
    labels = {"soft": soft_labels(expit(gamma * y)), "hard": hard_labels(y)}
    run = train_students(
        x, [student], labels, iterations=needed.iterations,
        options=TrainingOptions(precision="float64", record_every=1),
    )  # fmt: skip
    assert np.mean(run[0].records["error"]) <= epsilon
    assert np.mean(run[0].records["loss"]) <= epsilon * bounds.coin_divergence(gamma)


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(-8, 8)), min_size=1, max_size=12))
def test_lemma_9_bounds_the_error_by_the_loss(rows):
    """(38): share of points on the other side of ½ than their label ≤ mean KL(p ‖ μ(f))/(2 min (p − ½)²)."""
    p, f = (np.array(column) for column in zip(*rows, strict=True))
    if np.abs(p - 0.5).min() < 1e-3:
        return
    q = 1 / (1 + np.exp(-f))
    loss = np.mean(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))
    wrong = np.mean(np.sign(p - 0.5) * f <= 0)
    assert wrong <= bounds.error_from_soft_labels(p.tolist()) * loss + 1e-9
