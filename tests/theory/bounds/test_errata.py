"""One test for each entry of docs/errata.md: what is printed fails, what stands beside it holds."""

import math

import numpy as np
import pytest
from scipy.special import erf, expit

from softlabel.networks import Student, TrainingOptions, hard_labels, soft_labels, train_students
from softlabel.theory import bounds
from softlabel.theory.bounds import corrected, paper
from softlabel.theory.bounds.setting import Setting

RECORDED = TrainingOptions(precision="float64", record_every=1)

A = bounds.MEAN_ABSOLUTE


@pytest.fixture
def network() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hidden weights of a symmetric start (m, d), its signs (m,), and inputs of norm ≤ 1 (n, d)."""
    rng = np.random.default_rng(4)
    half, signs = rng.standard_normal((20, 3)), rng.choice((-1.0, 1.0), 20)
    x = rng.standard_normal((6, 3))
    return np.tile(half, (2, 1)), np.concatenate([signs, -signs]), x / np.linalg.norm(x, axis=1, keepdims=True)


def output(hidden: np.ndarray, signs: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ hidden.T, 0) @ signs / math.sqrt(len(signs))


def printed_loss(p: np.ndarray, f: np.ndarray) -> np.ndarray:
    q = expit(f)
    return p * np.log(q / p) + (1 - p) * np.log((1 - q) / (1 - p))


def test_equation_1_mixes_two_indicator_conventions():
    """At w_j(t)·x = 0 the pattern of ≥ keeps the neuron and that of > drops it: f^t(W̄) differs by (a_j/√m) w̄_j·x."""
    x, now, comparison = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.7, 1.0])
    kept, dropped = (float(now @ x >= 0) * comparison @ x, float(now @ x > 0) * comparison @ x)
    assert (kept, dropped) == (0.7, 0.0)


def test_loss_after_equation_4_has_the_wrong_sign():
    p, f = np.meshgrid(np.linspace(0.01, 0.99, 99), np.linspace(-5, 5, 101))
    assert (printed_loss(p, f) <= 1e-15).all()
    assert -printed_loss(p, f) == pytest.approx(bounds.divergence(np.log(p / (1 - p)), f), abs=1e-13)


def test_equation_5_gradient_carries_the_input(network):
    hidden, signs, x = network
    step = 1e-6
    for j, column in ((0, 0), (3, 1), (25, 2)):
        moved = hidden.copy()
        moved[j, column] += step
        numeric = (output(moved, signs, x) - output(hidden, signs, x)) / step
        factor = signs[j] / math.sqrt(len(signs)) * (x @ hidden[j] > 0)
        assert numeric == pytest.approx(factor * x[:, column], abs=1e-6)
        assert numeric != pytest.approx(factor, abs=1e-3)  # as printed, without x_i


def test_frozen_network_includes_the_output_signs(network):
    hidden, signs, x = network
    pattern = x @ hidden.T > 0
    printed = (pattern * (x @ hidden.T)).sum(axis=1) / math.sqrt(len(signs))
    right = (pattern * (x @ hidden.T)) @ signs / math.sqrt(len(signs))
    assert right == pytest.approx(output(hidden, signs, x))
    assert right == pytest.approx(0, abs=1e-14)  # the symmetric start
    assert (printed > 0.1).all()


def test_lemma_6_bounds_u_and_not_its_distance_from_the_start(network):
    hidden, signs, _ = network
    width = len(signs)
    u = signs[:, None] * np.array([[0.6, 0.0, 0.8]]) / math.sqrt(width)
    assert np.linalg.norm(u, axis=1) == pytest.approx(1 / math.sqrt(width))
    assert (np.linalg.norm(u - hidden, axis=1) > 1 / math.sqrt(width)).mean() > 0.9


def test_equation_8_counts_what_is_right():
    y, f = np.array([1.0, -1.0, 1.0]), np.array([2.0, -3.0, 0.5])
    assert (y * f > 0).mean() == 1  # as printed a perfect network has error 1
    assert (y * f <= 0).mean() == 0


def test_gamma_is_at_most_half_the_smallest_norm():
    rng = np.random.default_rng(0)
    x = np.array([0.3, 0.4, 0.0])  # norm ½
    z = rng.standard_normal((100_000, 3))
    best = ((z @ x > 0) * (x @ x / np.linalg.norm(x))).mean()  # v = x/‖x‖ is the best for one point
    assert best == pytest.approx(np.linalg.norm(x) / 2, rel=0.01)
    for _ in range(5):
        v = np.tanh(z @ rng.standard_normal((3, 3)))
        v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1)
        assert ((z @ x > 0) * (v @ x)).mean() <= np.linalg.norm(x) / 2
    with pytest.raises(ValueError, match="`gamma` must satisfy"):
        bounds.soft(0.75, 0.1, 100)


def test_a_2_needs_ln_x_below_x_minus_1():
    """|μ − p| ≤ KL + H(p): −ln μ ≥ 1 − μ proves it, −ln μ ≥ −1 − μ (from ln x ≤ 1 + x) bounds nothing."""
    p, f = np.meshgrid(np.linspace(0.01, 0.99, 99), np.linspace(-5, 5, 101))
    q = expit(f)
    cross_entropy = -p * np.log(q) - (1 - p) * np.log(1 - q)
    assert (p * (1 - q) + (1 - p) * q >= np.abs(q - p) - 1e-15).all()
    assert (cross_entropy >= p * (1 - q) + (1 - p) * q).all()
    assert (p * (-1 - q) + (1 - p) * (-2 + q) < 0).all()


def test_a_2_gradient_has_no_temperature():
    f, p, step = 0.3, 0.7, 1e-6
    z = math.log(p / (1 - p))
    numeric = (bounds.divergence(z, f + step) - bounds.divergence(z, f - step)) / (2 * step)
    assert numeric == pytest.approx(expit(f) - p, abs=1e-8)
    assert numeric != pytest.approx((expit(f) - p) / 2, abs=1e-2)  # a 1/τ with τ = 2


def test_equations_22_and_23_keep_the_radius_outside_the_root():
    width, n, delta, c = 400, 10, 0.1, 0.5
    root = math.sqrt(math.log(2 * n / delta))
    for radius, size in ((3.0, 3.0), (3.0, 0.2)):
        flipped = A * radius * math.sqrt(width) / c + 2 * math.sqrt(width) * root  # the proof's bound on |S_i^t|
        proved = flipped * size / width
        assert bounds.paper_flip_deviation(width, radius, size, n, delta, c) == pytest.approx(proved)
        printed = (A * radius * size / c + math.sqrt(math.log(2 * n / delta) * size)) / math.sqrt(width)
        assert printed != pytest.approx(proved, rel=0.01)


def test_equation_24_is_about_the_start():
    """A flip bounds |x·w_j(0)| by |x·(w_j(t) − w_j(0))|; for another W_j, such as U_j, that is false."""
    x, start, now, u = (np.array(v) for v in ([1.0, 0.0], [0.1, 1.0], [-0.1, 1.0], [0.2, 0.0]))
    assert (start @ x > 0) != (now @ x > 0)
    assert abs(x @ start) <= abs(x @ (now - start))
    assert not abs(x @ u) <= abs(x @ (u - start))


def test_equation_25_needs_the_absolute_value():
    width, radius, c = 10_000, 1.0, 1.0
    limit = A * radius / (c * math.sqrt(width))
    printed = 0.5 * (1 + erf(radius / math.sqrt(2 * width)))
    assert printed > 0.5 > limit
    assert bounds.band_probability(width, radius) <= limit


def test_lemma_8_counts_a_band_of_the_start():
    """Flips of a training lie inside {|w_j(0)·x| ≤ ‖x‖B/√m}, whose count per pair Hoeffding bounds with factor 1."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((8, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True) * np.linspace(1, 3, 8)[:, None]
    y, width, radius = np.where(x[:, 0] > 0, 1, -1), 30, 2.0
    networks = []
    train_students(
        x, [Student(width=width, radius=radius)], hard_labels(y), iterations=60,
        options=TrainingOptions(
            precision="float64", callback=lambda _, weights: networks.append(weights[0].hidden.numpy().copy())
        ),
    )  # fmt: skip
    initial = networks[0]
    band = np.abs(x @ initial.T) <= np.linalg.norm(x, axis=1)[:, None] * radius / math.sqrt(width) * (1 + 1e-12)
    flips = [(x @ now.T > 0) != (x @ initial.T > 0) for now in networks]
    assert max(flip.sum() for flip in flips) > 0
    assert all((~flip | band).all() for flip in flips)
    delta, pairs = 0.1, width // 2
    q = bounds.band_probability(width, radius)
    draws = rng.binomial(pairs, q, 200_000)
    limit = pairs * (q + math.sqrt(math.log(1 / delta) / width))
    assert (draws > limit).mean() <= delta
    assert (2 * draws / width > A * radius / math.sqrt(width) + math.sqrt(math.log(1 / delta) / width)).mean() <= delta


def test_theorem_2_is_false_for_small_steps():
    """n = 1, x = 1, z = ½: (6) holds, η ≤ β/3, T = 9/β², and the mean loss stays at KL(p ‖ ½) > β."""
    beta, setting = 0.03, Setting(n=1, delta=0.3)
    needs = paper.soft_for_loss(beta, setting)
    width, rounds, learning_rate = 2 * math.ceil(needs.width / 2), math.ceil(needs.iterations), 1e-12
    assert learning_rate <= beta / 3
    rng = np.random.default_rng(0)
    hidden, signs = np.tile(rng.standard_normal(width // 2), 2), rng.choice((-1.0, 1.0), width // 2)
    signs, start, scale = np.concatenate([signs, -signs]), hidden.copy(), 1 / math.sqrt(width)
    total, p = 0.0, expit(0.5)
    for _ in range(rounds):
        active = hidden > 0
        f = scale * float(signs @ np.where(active, hidden, 0.0))
        total += bounds.divergence(0.5, f)
        hidden = hidden - learning_rate * (expit(f) - p) * scale * signs * active
        hidden = start + np.clip(hidden - start, -scale, scale)
    assert total / rounds == pytest.approx(bounds.coin_divergence(0.5), rel=1e-6)
    assert total / rounds > beta
    right = corrected.soft_for_loss(beta, setting)
    assert right.iterations == pytest.approx(3 / (right.learning_rate * beta))  # grows as the learning rate shrinks


def test_theorem_2_is_already_true_at_the_start_for_large_targets():
    z = np.linspace(-0.5, 0.5, 1001)
    assert bounds.coin_divergence(z).max() == pytest.approx(0.0303, abs=5e-5)


def test_corollary_4_is_false_for_small_steps():
    """Two points, the second short and drawn towards the first: with η → 0 it stays misclassified for all T steps.

    While no activation flips, f(t+1) = f(t) − (η/n)H(μ(f) − p) with the Gram matrix H of the starting features, and
    W moves by less than η a step; with ηT = 10⁻¹⁰ nothing flips and f stays a positive multiple of H(p − ½).
    """
    x = np.array([[1.0, 0.0], [0.2, 0.2 * math.tan(math.pi / 5)]])
    norms, y, epsilon, delta = np.linalg.norm(x, axis=1), np.array([1.0, -1.0]), 0.45, 0.3
    angle = np.linspace(-math.pi, math.pi, 400_001)[1:]
    features = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ x.T > 0  # (directions, 2)
    pull = features[:, :1] * x[0] - features[:, 1:] * x[1] / norms[1]
    v = pull / np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1e-12)
    z = (features * (v @ x.T)).mean(axis=0)
    gamma = float((y * z).min())
    assert gamma == pytest.approx(0.0554, abs=1e-3)
    needs = paper.soft(gamma, epsilon, Setting(n=2, delta=delta, c=float(norms.min())))
    learning_rate = 1e-10 / needs.iterations
    assert learning_rate <= gamma**2 * epsilon / 3
    gram = x @ x.T * np.mean(features[:, :, None] & features[:, None, :], axis=0)  # of a wide start
    force = gram @ (expit(z) - 0.5) / 2  # f(t) = tη·force, up to a factor 1 ± 10⁻¹⁰
    assert (y * force)[1] < -1e-4
    share_wrong = (y * force <= 0).mean()
    assert share_wrong == 0.5 > epsilon  # at every step but the first, where f = 0 and both are wrong
    sampled = np.abs(x @ x.T) * math.sqrt(
        math.log(2 * 4 / delta) / needs.width
    )  # Hoeffding: m neurons against the limit
    assert (np.abs(force) > sampled @ np.abs(expit(z) - 0.5) / 2).all()


def test_equation_37_needs_a_larger_constant():
    beta, setting = 0.01, Setting(n=50, delta=0.1, c=0.5)
    k = A / 0.5 + 3 * math.sqrt(math.log(1000))

    def comparison(width: float) -> float:
        """The proof's bound on KL: 2(1 + e²)(2K/√m)²; it must be β/6."""
        return 2 * (1 + math.e**2) * (2 * k / math.sqrt(width)) ** 2

    assert comparison(paper.soft_for_loss(beta, setting).width) == pytest.approx((1 + math.e**2) ** 2 / 2 * beta / 6)
    assert comparison(corrected.soft_for_loss(beta, setting).width) == pytest.approx(beta / 6)
    assert pytest.approx(11.4, abs=0.05) == paper.LOSS_CONSTANT
    assert pytest.approx(402.7, abs=0.05) == corrected.LOSS_CONSTANT
    assert (2 * k / math.sqrt(3 * k**2 / beta)) ** 2 / 8 == pytest.approx(beta / 6)  # with KL ≤ (z − f)²/8, C_1 = 3


def test_lemma_3_constant_is_loose():
    """Its proof is Pinsker's inequality, not a reverse one; 1/ψ(γ) is best and at most 8.4/γ²."""
    gamma = np.geomspace(1e-6, 0.5, 2001)
    best = 1 / bounds.coin_divergence(gamma)
    assert (best <= 8.4 / gamma**2).all()
    assert (best <= 1 / (2 * (np.tanh(gamma / 2) / 2) ** 2)).all()  # Pinsker, equation (38)
    assert (1 / (2 * (np.tanh(gamma / 2) / 2) ** 2) <= 32 / gamma**2).all()


def test_b_2_target_is_gamma_squared_epsilon_over_32():
    gamma, epsilon = 0.1, 0.1
    assert 32 * epsilon / gamma > 1  # as printed it lies outside Theorem 2's (0, 1)
    assert bounds.printed_error_from_loss(gamma) * gamma**2 * epsilon / 32 == pytest.approx(epsilon)
    assert corrected.soft(gamma, epsilon, Setting(n=10)).width == pytest.approx(
        corrected.soft_for_loss(gamma**2 * epsilon / 32, Setting(n=10)).width
    )


def test_corollary_4_step_and_iterations_lack_a_factor():
    gamma, epsilon, setting = 0.1, 0.1, Setting(n=10)
    beta = gamma**2 * epsilon / 32
    assert paper.soft(gamma, epsilon, setting).learning_rate == pytest.approx(
        32 * paper.soft_for_loss(beta, setting).learning_rate
    )
    assert paper.soft_for_loss(beta, setting).iterations == pytest.approx(
        1024 * paper.soft(gamma, epsilon, setting).iterations
    )
    right = corrected.soft(gamma, epsilon, setting)
    assert bounds.paper_mean_loss(right.learning_rate, right.iterations, 1.0, beta / 6) == pytest.approx(beta)
    printed = paper.soft(gamma, epsilon, setting)
    assert bounds.paper_mean_loss(printed.learning_rate, printed.iterations, 1.0, beta / 6) > 10 * beta


def test_appendix_c_has_a_stray_step():
    """B = 0.001, η = 0.1, T = 100: W stays, both losses are ln 2, and ln 2 > B²/(ηT) + 2η ln 2."""
    x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, -1])
    radius, learning_rate, rounds = 1e-3, 0.1, 100
    student = Student(width=10, radius=radius, learning_rate=learning_rate)
    run = train_students(x, [student], hard_labels(y), iterations=rounds, options=RECORDED)
    mean_loss = np.mean(run[0].records["loss"])
    comparison = math.log1p(math.exp(radius))  # |f^t(W̄)| ≤ B, so R^{t,h}(W̄) is no larger
    assert mean_loss > radius**2 / (learning_rate * rounds) + 2 * learning_rate * comparison
    assert mean_loss <= radius**2 / (learning_rate * rounds) + 2 * comparison


def test_appendix_c_margin_scales_with_the_radius(network):
    hidden, signs, x = network
    width, radius = len(signs), 5.0
    u = signs[:, None] * np.array([[0.6, 0.0, 0.8]]) / math.sqrt(width)
    pattern = x @ hidden.T > 0

    def frozen(weights: np.ndarray) -> np.ndarray:
        return (pattern * (x @ weights.T)) @ signs / math.sqrt(width)

    assert frozen(hidden + radius * u) == pytest.approx(radius * frozen(u))
    assert frozen(hidden + radius * u) != pytest.approx(frozen(u), abs=1e-3)


def test_proposition_5_and_equations_42_to_44_exchange_beta_and_epsilon():
    gamma, target, setting = 0.1, 0.2, Setting(n=10)
    printed = paper.hard_for_loss(gamma, target, setting)
    assert printed == paper.hard(gamma, target, setting)  # the same formulas for two different targets
    beta = math.log(2) * target  # the loss that an error of `target` needs
    right = corrected.hard(gamma, target, setting)
    assert right == corrected.hard_for_loss(gamma, beta, setting)
    assert right.radius == pytest.approx(2 / gamma * math.log(4 / beta))


def test_equations_13_and_43_lack_a_gamma():
    """With 3γℓ the margin is L exactly; the printed 3ℓ asks for more than the proof needs."""
    gamma, c, n, delta = 0.1, 0.5, 100, 0.05
    log, root = math.log(2 / (math.log(2) * 0.1)), math.sqrt(math.log(2 * n / delta))
    radius = 2 * log / gamma

    def margin(width: float) -> float:
        return radius * gamma - 2 / math.sqrt(width) * (A * radius**2 / c + 3 * radius * root)

    assert margin(16 / gamma**4 * (2 * A * log / c + 3 * gamma * root) ** 2) == pytest.approx(log)
    assert margin(paper.hard(gamma, 0.1, Setting(n=n, delta=delta, c=c)).width) > 1.2 * log


def test_abstract_hard_requirement_grows_with_the_square_of_the_logarithm():
    setting = Setting(n=10)
    for family in (paper, corrected):
        one, two = (family.hard(0.01, epsilon, setting).width for epsilon in (1e-100, 1e-200))
        assert two == pytest.approx(4 * one, rel=0.05)
    halves = [corrected.hard(1e-3, 0.1, Setting(n=10, c=c)).width for c in (1.0, 0.5)]
    assert halves[1] == pytest.approx(4 * halves[0], rel=0.01)  # and 1/c²


def test_soft_gain_is_gamma_squared_over_epsilon():
    """soft/hard is γ²/ε up to logarithms, not γ; the threshold scales as √ε, not ε."""
    for family in (corrected, bounds.families.refined):
        setting = Setting(n=1000)

        def gain(gamma, epsilon, family=family, setting=setting) -> float:
            return family.hard(gamma, epsilon, setting).width / family.soft(gamma, epsilon, setting).width

        assert gain(1e-5, 0.1) == pytest.approx(100 * gain(1e-4, 0.1), rel=0.01)
        logs = family.hard(1e-4, 0.001, setting).width / family.hard(1e-4, 0.1, setting).width
        assert gain(1e-4, 0.001) == pytest.approx(gain(1e-4, 0.1) / 100 * logs, rel=0.01)
    for family in ("paper", "refined"):
        coarse, fine = (bounds.crossover(family, epsilon, 1000).gamma for epsilon in (1e-2, 1e-4))
        assert 5 < coarse / fine < 12  # √100 up to logarithms; the paper says 100


def test_a_soft_label_training_is_not_moved_by_vanishing_steps():
    """The engine agrees with the counter-example to Theorem 2."""
    p = soft_labels(np.array([expit(0.5)]))
    student = Student(width=20, labels="soft", learning_rate=1e-12)
    run = train_students(np.ones((1, 1)), [student], {"soft": p}, iterations=200, options=RECORDED)
    assert np.mean(run[0].records["loss"]) == pytest.approx(bounds.coin_divergence(0.5), rel=1e-6)
