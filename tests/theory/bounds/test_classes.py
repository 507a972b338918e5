"""The K-class theorem: its lemmas, its concentration step, its constants."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from softlabel.errors import InputError
from softlabel.networks.initialization import draw_weights
from softlabel.theory import bounds
from softlabel.theory.bounds.classes import class_feature_spread, class_flip_spread, class_needs
from softlabel.theory.bounds.setting import Setting

LOGITS = st.lists(st.tuples(st.floats(-8, 8), st.floats(-8, 8)), min_size=2, max_size=7)


def softmax_divergence(z: np.ndarray, f: np.ndarray) -> np.ndarray:
    """KL(softmax z ‖ softmax f) along the last axis."""
    log_p, log_q = z - logsumexp(z, axis=-1, keepdims=True), f - logsumexp(f, axis=-1, keepdims=True)
    return (np.exp(log_p) * (log_p - log_q)).sum(axis=-1)


def random_logits(classes: int, rows: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    scale = np.exp(rng.uniform(-3, 2.5, (rows, 1)))
    return scale * rng.standard_normal((rows, classes)), scale * rng.standard_normal((rows, classes))


@pytest.mark.parametrize("classes", [2, 3, 5, 10])
def test_divergence_is_below_half_the_squared_largest_distance(classes):
    z, f = random_logits(classes)
    d, kl = z - f, softmax_divergence(z, f)
    assert (kl <= np.ptp(d, axis=1) ** 2 / 8 + 1e-13).all()
    assert (kl <= np.abs(d).max(axis=1) ** 2 / 2 + 1e-13).all()


@given(LOGITS)
def test_divergence_is_below_half_the_squared_largest_distance_anywhere(pairs):
    z, f = np.array(pairs).T
    assert softmax_divergence(z, f) <= np.abs(z - f).max() ** 2 / 2 + 1e-12


@given(LOGITS)
def test_softmax_gradient_is_bounded_by_the_loss(pairs):
    """‖softmax f − p‖₁² ≤ 2 KL (Pinsker), so ‖∇R‖² ≤ 2R for any signs."""
    z, f = np.array(pairs).T
    assert np.abs(softmax(f) - softmax(z)).sum() ** 2 <= 2 * softmax_divergence(z, f) + 1e-12


@pytest.mark.parametrize("classes", [2, 3, 5, 10])
def test_a_misclassified_point_loses_what_two_classes_decide(classes):
    z, f = random_logits(classes)
    y = z.argmax(axis=1)
    rows = np.arange(len(z))
    rivals = f.copy()
    rivals[rows, y] = -np.inf
    wrong = f[rows, y] <= rivals.max(axis=1)
    p, kl = softmax(z, axis=1), softmax_divergence(z, f)
    own = z[rows, y][:, None]
    least = (p[rows, y][:, None] + p) * bounds.coin_divergence(own - z)
    least[rows, y] = np.inf
    assert (kl[wrong] >= least.min(axis=1)[wrong] - 1e-13).all()
    assert wrong.sum() > 500
    gap = np.where(own - z == 0, np.inf, own - z).min(axis=1)
    floor = np.array([bounds.class_divergence(classes, margin) for margin in gap])
    assert (least.min(axis=1) >= floor - 1e-13).all()


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("margin", [0.05, 0.7, 2.0])
def test_the_least_loss_of_a_mistake_is_attained(classes, margin):
    """Minimize KL over teachers with this margin and students that tie: Ψ_K, to the last digit."""

    def loss(parameters):
        teacher = np.concatenate([[0.0], -margin - parameters[: classes - 1] ** 2])
        student = np.concatenate([[0.0], [0.0], parameters[classes - 1 :]])
        return softmax_divergence(teacher, student)

    start = np.full(2 * classes - 3, 0.3)
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-10})
    assert best.fun == pytest.approx(bounds.class_divergence(classes, margin), rel=1e-5)
    assert bounds.class_divergence(2, margin) == pytest.approx(bounds.coin_divergence(margin), rel=1e-14)
    assert bounds.class_divergence(classes, 1e-6) == pytest.approx(2 / classes * 1e-12 / 8, rel=1e-5)


def teacher_fields(directions: np.ndarray, classes: int) -> np.ndarray:
    """v_c(z) of norm 1, (classes, neurons, 3); all point the same way, so that cross terms are largest."""
    turns = np.sign(directions[:, 0] * directions[:, 1])
    signs = np.where(np.arange(classes) % 2, 1.0, -1.0)
    return signs[:, None, None] * turns[None, :, None] * np.array([0.0, 0.6, 0.8])


@pytest.mark.parametrize("classes", [2, 4, 10])
def test_class_features_deviate_as_rarely_as_they_say(classes):
    """f_c⁰(U) with U_j = (1/√m) Σ A_cj v_c(w_j(0)), the project's own symmetric start, against z_c."""
    width, delta, rounds = 60, 0.3, 1500
    x = np.array([[0.0, 0.6, 0.8], [0.6, 0.0, 0.8], [0.1, 0.7, 0.7]])
    exact = np.random.default_rng(0).standard_normal((200_000, 3))
    fields = np.einsum("cjd,id->cji", teacher_fields(exact, classes), x)
    z = (fields * (exact @ x.T > 0)).mean(axis=1)  # (classes, n)
    bound = class_feature_spread(classes, Setting(n=len(x), delta=delta)) / math.sqrt(width)
    failures, moves = 0, []
    for seed in range(rounds):
        drawn = draw_weights("symmetric", width=width, inputs=3, outputs=classes, seed=seed)
        hidden, signs = drawn.hidden, drawn.output
        target = np.einsum("cj,cjd->jd", signs, teacher_fields(hidden, classes)) / math.sqrt(width)
        assert np.linalg.norm(target, axis=1).max() <= classes / math.sqrt(width) * (1 + 1e-12)
        f = signs @ ((hidden @ x.T > 0) * (target @ x.T)) / math.sqrt(width)
        failures += np.abs(f - z).max() > bound
        moves.append(f - z)
    assert failures / rounds <= delta
    assert np.abs(np.mean(moves, axis=0)).max() < 0.2 * bound  # the cross terms vanish in the mean


def test_class_term_is_subgaussian_with_proxy_classes_minus_a_half():
    """ln E e^{λ(X−EX)} ≤ λ²(K − ½)/2 at the extreme: X = ±1 or 0, plus K − 1 random signs where it is active."""
    tilt, mean = np.meshgrid(np.linspace(-6, 6, 241), np.linspace(-1, 1, 81))
    for classes in (2, 3, 10):
        active = (1 + mean) / 4 * np.exp(tilt) + (1 - mean) / 4 * np.exp(-tilt)
        moment = 0.5 + active * np.cosh(tilt) ** (classes - 1)
        assert (np.log(moment) - tilt * mean / 2 <= tilt**2 * (classes - 0.5) / 2 + 1e-12).all()


@pytest.mark.parametrize("classes", [2, 5])
def test_flips_move_class_logits_by_no_more_than_the_band_allows(classes):
    """|f_c^t(W̄) − f_c⁰(W̄)| ≤ 2κK·N_i/m for any W(t) in the ball, whichever neurons flip."""
    width = 40
    rng = np.random.default_rng(classes)
    x = np.array([[0.0, 0.6, 0.8], [0.6, 0.0, 0.8]])
    for seed in range(200):
        drawn = draw_weights("symmetric", width=width, inputs=3, outputs=classes, seed=seed)
        hidden, signs = drawn.hidden, drawn.output
        target = np.einsum("cj,cjd->jd", signs, teacher_fields(hidden, classes)) / math.sqrt(width)
        comparison = hidden + target
        moved = rng.standard_normal(hidden.shape)
        moved *= classes / math.sqrt(width) / np.linalg.norm(moved, axis=1, keepdims=True)
        now, then = (hidden + moved) @ x.T > 0, hidden @ x.T > 0
        shift = signs @ ((now.astype(float) - then) * (comparison @ x.T)) / math.sqrt(width)
        pairs = (np.abs(hidden[: width // 2] @ x.T) <= classes / math.sqrt(width)).sum(axis=0)
        assert (np.abs(shift) <= 2 * classes * pairs / width + 1e-12).all()


@pytest.mark.parametrize(("classes", "kappa", "alpha", "share"), [(2, 1, 1, 0.5), (10, 0.3, 1, 0.5), (3, 2, 4, 0.7)])
def test_class_requirement_spends_exactly_its_target(classes, kappa, alpha, share):
    setting = Setting(n=500, delta=0.05, kappa=kappa, alpha=alpha, share=share)
    needs = class_needs(classes, 0.2, 0.1, setting)
    distance = kappa * (class_feature_spread(classes, setting) + class_flip_spread(classes, setting))
    comparison = distance**2 / needs.width / 2
    spent = (kappa * classes / alpha) ** 2 / (needs.learning_rate * needs.iterations)
    gradient = 2 * alpha**2
    mean_loss = (spent + 2 * comparison) / (2 - gradient * needs.learning_rate)
    assert mean_loss == pytest.approx(0.1 * bounds.class_divergence(classes, kappa * 0.2))
    assert needs.radius == pytest.approx(kappa * classes / alpha)


def test_two_classes_ask_for_no_less_than_the_binary_bound():
    """v_1 = −v_2 = v has class margin 2γ and the labels μ(2κz): the same task for one logit is κ' = 2κ."""
    for gamma in (0.5, 0.1, 0.01):
        for kappa in (0.2, 1.0, 3.0):
            two = bounds.soft_for_classes(2, 2 * gamma, 0.1, 1000, kappa=kappa)
            one = bounds.soft(gamma, 0.1, 1000, kappa=2 * kappa, family="refined")
            assert one.width <= two.width <= 10 * one.width
            assert two.iterations >= one.iterations


def test_more_classes_ask_for_more():
    widths = [bounds.soft_for_classes(classes, 0.2, 0.1, 1000).width for classes in (2, 3, 10, 100)]
    assert widths == sorted(widths)
    assert bounds.soft_for_classes(10, 1e-200, 0.1, 1000).width == math.inf
    assert bounds.soft_for_classes(10, 1.0, 0.1, 1000).probability == pytest.approx(0.9)


@pytest.mark.parametrize(("classes", "gamma"), [(1, 0.1), (2.5, 0.1), (3, 1.1), (3, math.nan)])
def test_wrong_inputs(classes, gamma):
    with pytest.raises(InputError, match=r"`classes` must be|`gamma` must satisfy 0 < γ ≤ 1,"):
        bounds.soft_for_classes(classes, gamma, 0.1, 100)
