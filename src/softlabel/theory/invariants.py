"""Checks of every step of a run of projected gradient descent against the theorems.

These hold for any width and seed, with W̄ = W(0) + U, U_j = (a_j/√m)·s·v(w_j(0)) (s = κ soft, s = B hard), ρ' = ½
(soft) or ρ (hard), f^t the network with the activations of step t:

    start          f(W(0)) = 0
    radius         max_j ‖w_j − w_j(0)‖√m/B ≤ 1
    update         W(t+1) is the projection of W(t) − η∇R(W(t)), with ∇R computed independently here
    gradient       ‖∇R‖² ≤ ρ'R
    descent        (2η − ρ'η²) R(W(t)) ≤ ‖W(t) − W̄‖² − ‖W(t+1) − W̄‖² + 2η R^t(W̄)       refined form of (16)
    descent, (16)  (2η − η²) R(W(t)) ≤ … + η²H           as printed, η ≤ 1, H the labels' mean entropy
    flips          a neuron whose activation on x changed has |w_j(0)·x| ≤ ‖x‖B/√m
    drift          |f^t(W̄) − f⁰(W̄)| ≤ (s + max(s, B))‖x‖N_i/m, N_i the pairs within that band
    error          R ≤ R^KL/ψ(κγ) with γ = min_i y_i z_i of the labels used (soft), R ≤ R^h/ln 2 (hard)

With high probability over the initialization: Lemma 6's |f⁰(U) − s z| ≤ s√(2 ln(2n/δ)/m), N_i below Hoeffding's bound,
R^t(W̄) ≤ θβ. After the run, from the measured R^t(W̄):  mean R ≤ (‖W(0) − W̄‖²/(ηT) + 2·mean R^t(W̄))/(2 − ρ'η).

The last needs 2 − ρ'η > 0, that is η < 4 (soft) or η < 2/ρ = 4.91 (hard): a larger learning rate is refused. Everything
is computed in float64. Each check allows for the rounding error of its quantities, bounded by forward error analysis
(`theory.run_rounding`), and the certificate includes the sum of what the descent inequalities were allowed.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from softlabel.errors import require
from softlabel.theory.bounds.lemmas import band_probability, feature_deviation, mean_loss
from softlabel.theory.bounds.scalars import coin_divergence
from softlabel.theory.projected_run import LARGEST, Run
from softlabel.theory.run_rounding import UNIT_ROUNDOFF, RunRounding


@dataclass(frozen=True)
class Check:
    """One inequality, left ≤ right, over all steps of a run.

    `worst` is the left − right that came closest to failing, at step `step`. The check `holds` if `worst` is at most
    `allowance`, the bound on its rounding error.
    """

    name: str
    worst: float
    holds: bool
    step: int
    formula: str
    allowance: float = 0.0


@dataclass(frozen=True)
class Count:
    """A statement that holds with high probability: its number of cases, and how many of them failed."""

    name: str
    cases: int
    failed: int
    worst: float
    formula: str

    @property
    def holds(self) -> bool:
        return self.failed == 0


@dataclass(frozen=True)
class Certificate:
    """The mean loss R(W(t)): bounded after the run and measured, and the same for the classification error.

    `comparison` is the mean R^t(W̄); `rounding` is the part of `bound` that accounts for rounding errors.
    """

    bound: float
    measured: float
    error_bound: float | None
    error_measured: float
    comparison: float
    rounding: float = 0.0

    @property
    def holds(self) -> bool:
        return self.measured <= self.bound


class Invariants:
    """Checks a run: call `check_step` at t = 0, 1, …, T, then `checks`, `counts` and `certificate`."""

    def __init__(self, run: Run) -> None:
        self.run = run
        m = len(run.init)
        self.width = m
        self.rounding = RunRounding(run.x, run.init, run.radius, run.learning_rate)
        self.norms = self.rounding.norms
        self.reach = run.init + run.signs[:, None] / math.sqrt(m) * run.size * run.v  # W̄
        self.reach_sizes = np.linalg.norm(self.reach, axis=1)
        init_products = run.x @ run.init.T  # (n, m)
        self.reach_products = run.x @ self.reach.T
        self.active_init = init_products > 0
        limit = self.norms[:, None] * run.radius / math.sqrt(m)
        in_band = np.abs(init_products) <= limit
        self.pairs_in_band = in_band[:, : m // 2].sum(axis=1)  # N_i: a pair shares its initial weights
        # w_j(t) is within B/√m of w_j(0) up to rounding; `slack` is the error of the products that determine flips
        farthest = self.rounding.init_norms + run.radius / math.sqrt(m)
        slack = 2 * self.rounding.products(farthest) + self.norms[:, None] * self.rounding.distance(farthest)
        self.band = np.abs(init_products) <= limit + slack
        self.slack = slack.max(axis=1)
        self.output_init = self._linear(self.active_init, self.reach_products)
        self.entropy = float(np.mean(entr(run.targets) + entr(1 - run.targets)))
        self._worst: dict[str, tuple[float, int, float]] = {}
        self._previous: _Step | None = None
        self._losses: list[float] = []
        self._errors: list[float] = []
        self._comparisons: list[float] = []
        self._allowed = 0.0  # sum over the descent inequalities
        self._steps = -1

    def check_step(self, t: int, weights: np.ndarray, logits: np.ndarray) -> None:
        """Check step t, given the weights (m, d) before it and the network's outputs f (n,) with these weights."""
        run, m, rounding = self.run, self.width, self.rounding
        require(t == self._steps + 1, f"steps must be checked in order: got {t} after {self._steps}")
        self._steps = t
        sizes = np.linalg.norm(weights, axis=1)
        if t == 0:
            self._record("start", float(np.abs(logits).max()), 0.0, t)
        scale = math.sqrt(m) / run.radius
        distances = np.linalg.norm(weights - run.init, axis=1) * scale
        farthest = int(distances.argmax())
        allowed = float(rounding.distance(sizes)[farthest]) * scale
        self._record("radius", float(distances[farthest]), 1.0, t, allowed)

        products = run.x @ weights.T
        active = products > 0
        undecided = np.abs(products) <= 2 * rounding.products(sizes)
        residual = expit(logits) - run.targets
        loss, loss_error = self._loss(logits, rounding.outputs(sizes))
        signal = (active * residual[:, None]).T @ run.x  # (m, d)
        gradient = signal * (run.signs / math.sqrt(m) / len(run.x))[:, None]
        row_error = rounding.gradient(residual, rounding.outputs(sizes), undecided)
        length, error = float(np.linalg.norm(gradient)), float(np.linalg.norm(row_error))
        slope_error = 2 * length * error + error**2  # of ‖∇R‖²
        self._record("gradient", length**2, run.curvature * loss, t, slope_error + run.curvature * loss_error)

        flipped = active != self.active_init
        self._record("flips", float((flipped & ~self.band).sum()), 0.0, t)
        comparison, comparison_error = self._drift(active, t)
        wrong = float(np.mean(run.y * logits <= 0))
        constant = self._error_constant()
        if constant is not None:
            self._record("error", wrong, loss * constant, t, 2 * constant * loss_error)

        apart = np.linalg.norm(weights - self.reach, axis=1)
        square = float(np.sum(apart**2))
        square_error = rounding.square(square, sizes, self.reach_sizes, apart)
        if self._previous is not None:
            self._follow(self._previous, weights, square, square_error, t)
        row_lengths = np.linalg.norm(gradient, axis=1)
        self._previous = _Step(
            loss=loss,
            comparison=comparison,
            square=square,
            expected=self._projected(weights - run.learning_rate * gradient),
            reach=rounding.update(sizes, row_lengths, row_error),
            allowed=2 * (2 * run.learning_rate + run.curvature * run.learning_rate**2) * loss_error
            + 2 * run.learning_rate * comparison_error
            + run.learning_rate**2 * slope_error
            + square_error,
        )
        self._losses.append(loss)
        self._errors.append(wrong)
        self._comparisons.append(comparison)

    def _drift(self, active: np.ndarray, t: int) -> tuple[float, float]:
        """Check f^t(W̄) against f⁰(W̄); returns R^t(W̄) and its error."""
        run, m = self.run, self.width
        output = self._linear(active, self.reach_products)
        output_error = self.rounding.outputs(self.reach_sizes)
        share = self.band[:, : m // 2].sum(axis=1) / m
        right = (run.size + max(run.size, run.radius)) * self.norms * share
        rounded = 2 * UNIT_ROUNDOFF * float(self.reach_sizes.max()) * self.norms
        allowed = 2 * output_error + math.sqrt(m) * (self.slack + rounded) * share
        drift = np.abs(output - self.output_init)
        worst = int((drift - right - allowed).argmax())
        self._record("drift", float(drift[worst]), float(right[worst]), t, float(allowed[worst]))
        return self._loss(output, output_error)

    def _follow(self, before: "_Step", weights: np.ndarray, square: float, square_error: float, t: int) -> None:
        """Check that the last step was the projected gradient step, and both forms of (16) for it."""
        run = self.run
        off = np.linalg.norm(weights - before.expected, axis=1)
        worst = int((off - before.reach).argmax())
        self._record("update", float(off[worst]), 0.0, t - 1, float(before.reach[worst]))
        reach = float(np.linalg.norm(before.reach))
        outside = float(np.linalg.norm(self.rounding.outside(self.reach_sizes)))
        moved = 2 * (math.sqrt(before.square) + reach) * (reach + outside)
        allowed = before.allowed + moved + square_error
        right = before.square - square + 2 * run.learning_rate * before.comparison
        left = (2 * run.learning_rate - run.curvature * run.learning_rate**2) * before.loss
        self._record("descent", left, right, t - 1, allowed)
        self._allowed += allowed + 8 * UNIT_ROUNDOFF * (left + before.square + square)
        if run.learning_rate <= 1:
            left = (2 * run.learning_rate - run.learning_rate**2) * before.loss
            self._record("descent, (16)", left, right + run.learning_rate**2 * self.entropy, t - 1, allowed)

    def _projected(self, weights: np.ndarray) -> np.ndarray:
        change = weights - self.run.init
        limit = self.run.radius / math.sqrt(self.width)
        distance = np.linalg.norm(change, axis=1, keepdims=True)
        return self.run.init + change * (limit / np.maximum(distance, limit))

    def _linear(self, active: np.ndarray, products: np.ndarray) -> np.ndarray:
        """f from the activations and the products of weights and inputs, both (n, m)."""
        return (active * products) @ self.run.signs / math.sqrt(self.width)

    def _loss(self, logits: np.ndarray, output_error: np.ndarray) -> tuple[float, float]:
        """The mean loss at outputs f, and its error if the outputs have the error `output_error`.

        Soft: with δ = f − κz, KL = ln(1 + p(e^δ − 1)) − pδ, which is accurate where f is near κz; for |δ| > 1 the
        difference of the two ln(1 + e^·). Hard: ln(1 + e^{−yf}).
        """
        run, p = self.run, self.run.targets
        residual = expit(logits) - p
        if run.arm == "hard":
            value = np.logaddexp(0, -run.y * logits)
            size = np.abs(logits)
            return float(np.mean(value)), self.rounding.loss(residual, output_error, np.full(len(p), np.inf), size)
        target = run.kappa * run.z
        apart = logits - target
        near = np.clip(apart, -1, 1)
        small = np.log1p(p * np.expm1(near)) - p * near
        large = np.logaddexp(0, logits) - np.logaddexp(0, target) - p * apart
        value = np.maximum(np.where(np.abs(apart) <= 1, small, large), 0)
        size = np.abs(logits) + np.abs(target)
        return float(np.mean(value)), self.rounding.loss(residual, output_error, np.abs(apart), size)

    def _error_constant(self) -> float | None:
        """The factor from a mean loss to a bound on the error; None if the teacher errs or ψ(κγ) underflows."""
        if self.run.arm == "hard":
            return 1 / math.log(2)
        gamma = float((self.run.y * self.run.z).min())
        divergence = coin_divergence(self.run.kappa * gamma) if gamma > 0 else 0.0
        return 1 / divergence if divergence > 1 / LARGEST else None

    def _record(self, name: str, left: float, right: float, t: int, allowed: float = 0.0) -> None:
        """Record left ≤ right + allowed at step t; the rounding of the last few operations is added to `allowed`.

        With `allowed` = 0 the comparison is exact: counts, and f(W(0)) = 0.
        """
        excess = left - right
        if allowed > 0:
            allowed += 8 * UNIT_ROUNDOFF * (abs(left) + abs(right))
        if name not in self._worst or not excess - allowed <= self._worst[name][0] - self._worst[name][2]:
            self._worst[name] = (excess, t, allowed)

    def checks(self) -> list[Check]:
        """The deterministic checks, each with its worst step."""
        return [
            Check(name, worst, worst <= allowed, step, FORMULAS[name], allowed)
            for name, (worst, step, allowed) in self._worst.items()
        ]

    def counts(self) -> list[Count]:
        """The statements that hold with high probability over the initialization."""
        run, m, n = self.run, self.width, len(self.run.x)
        features = self._linear(self.active_init, run.x @ (self.reach - run.init).T)
        deviation = np.abs(features - run.size * run.z) - feature_deviation(m, n, run.delta, run.size)
        expected = m / 2 * (band_probability(m, run.radius) + math.sqrt(math.log(n / run.delta) / m))
        crowd = self.pairs_in_band - expected
        counts = [
            _count("features", deviation, "Lemma 6: |f⁰(U) − s z| ≤ s√(2 ln(2n/δ)/m)"),
            _count("band", crowd, "N_i ≤ (m/2)(erf(B/√(2m)) + √(ln(n/δ)/m))"),
        ]
        if run.beta is not None:
            over = np.array(self._comparisons) - run.share * run.beta
            counts.append(_count("comparison", over, "R^t(W̄) ≤ θβ at every step"))
        return counts

    def certificate(self) -> Certificate:
        """The bound on the mean of R over t < T that the run proves, and the measured mean."""
        steps = self._steps
        require(steps >= 1, "a certificate needs at least one step")
        comparison = float(np.mean(self._comparisons[:steps]))
        distance = math.sqrt(float(np.sum((self.run.init - self.reach) ** 2)))
        eta, slack = self.run.learning_rate, 2 - self.run.curvature * self.run.learning_rate
        plain = mean_loss(eta, steps, distance, comparison, self.run.curvature)
        # the allowances of all steps, and the rounding of the last operations, where 2 − ρ'η may cancel
        rounding = self._allowed / steps / eta / slack + (steps + 32) * UNIT_ROUNDOFF * plain / min(1.0, slack)
        bound = plain + rounding
        constant = self._error_constant()
        return Certificate(
            bound=bound,
            rounding=rounding,
            measured=float(np.mean(self._losses[:steps])),
            error_bound=None if constant is None else bound * constant,
            error_measured=float(np.mean(self._errors[:steps])),
            comparison=comparison,
        )


@dataclass(frozen=True, eq=False)
class _Step:
    """Quantities before a step that the check of the step needs.

    R, R^t(W̄), ‖W − W̄‖²; the expected weights after the step and their rounding error (τ, per neuron); the allowance
    of the descent inequality for quantities known before the step.
    """

    loss: float
    comparison: float
    square: float
    expected: np.ndarray
    reach: np.ndarray
    allowed: float


def _count(name: str, excess: np.ndarray, formula: str) -> Count:
    return Count(name, len(excess), int((excess > 0).sum()), float(excess.max()), formula)


FORMULAS = {
    "start": "f(W(0)) = 0",
    "radius": "max_j ‖w_j − w_j(0)‖√m/B ≤ 1",
    "update": "W(t+1) = Π(W(t) − η∇R(W(t)))",
    "gradient": "‖∇R‖² ≤ ρ'R, ρ' = ½ (soft), 0.4073 (hard)",
    "descent": "(2η − ρ'η²)R(W(t)) ≤ ‖W(t)−W̄‖² − ‖W(t+1)−W̄‖² + 2ηR^t(W̄)",
    "descent, (16)": "(2η − η²)R(W(t)) ≤ ‖W(t)−W̄‖² − ‖W(t+1)−W̄‖² + 2ηR^t(W̄) + η²H",
    "flips": "flipped on x ⇒ |w_j(0)·x| ≤ ‖x‖B/√m",
    "drift": "|f^t(W̄) − f⁰(W̄)| ≤ (s + max(s, B))‖x‖N_i/m",
    "error": "R ≤ R^KL/ψ(κγ) (soft), R ≤ R^h/ln 2 (hard)",
}
