"""What a run of projected gradient descent can check about itself, step by step.

Deterministic for any width and seed, with W̄ = W(0) + U, U_j = (a_j/√m)·s·v(w_j(0)) (s = κ soft, s = B hard), ρ' = ½
(soft) or ρ (hard), f^t the network with the activations of step t:

    start          f(W(0)) = 0
    radius         max_j ‖w_j − w_j(0)‖√m/B ≤ 1
    update         W(t+1) is the projection of W(t) − η∇R(W(t)), with ∇R computed here anew
    gradient       ‖∇R‖² ≤ ρ'R
    descent        (2η − ρ'η²) R(W(t)) ≤ ‖W(t) − W̄‖² − ‖W(t+1) − W̄‖² + 2η R^t(W̄)       refined form of (16)
    descent, (16)  (2η − η²) R(W(t)) ≤ … + η²H           as printed, η ≤ 1, H the labels' mean entropy
    flips          a neuron whose activation on x changed has |w_j(0)·x| ≤ ‖x‖B/√m
    drift          |f^t(W̄) − f⁰(W̄)| ≤ (s + max(s, B))‖x‖N_i/m, N_i the pairs within that band
    error          R ≤ R^KL/ψ(κγ) with γ = min_i y_i z_i of the labels used (soft), R ≤ R^h/ln 2 (hard)

With high probability over the start: Lemma 6's |f⁰(U) − s z| ≤ s√(2 ln(2n/δ)/m), N_i below Hoeffding's bound,
R^t(W̄) ≤ θβ. After the fact, from the measured R^t(W̄):  mean R ≤ (‖W(0) − W̄‖²/(ηT) + 2·mean R^t(W̄))/(2 − ρ'η).
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import entr, expit

from softlabel.errors import require
from softlabel.theory.bounds.lemmas import band_probability, feature_deviation, mean_loss
from softlabel.theory.bounds.scalars import RHO, coin_divergence

ROUNDING = 1e-11
UPDATE_ROUNDING = 1e-10


@dataclass(frozen=True)
class Check:
    """One inequality, left ≤ right, over a whole run.

    `worst` is the largest left − right seen, at step `step`; it `holds` when that is no more than rounding.
    """

    name: str
    worst: float
    holds: bool
    step: int
    formula: str


@dataclass(frozen=True)
class Count:
    """A statement that holds with high probability: how many of its cases failed, and what theory allows."""

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
    """mean R(W(t)) as bounded after the fact and as measured, and the same for the classification error."""

    bound: float
    measured: float
    error_bound: float | None
    error_measured: float
    comparison: float  # mean R^t(W̄)


@dataclass(frozen=True, eq=False)
class Run:
    """What is fixed before the first step.

    x (n, d), y = ±1 (n,), z the teacher's κ-free logits (n,); start (m, d) and signs (m,) of the student, v (m, d) the
    teacher's v at the start; arm "soft" learns p = μ(κz), "hard" y.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    start: np.ndarray
    signs: np.ndarray
    v: np.ndarray
    arm: Literal["soft", "hard"]
    radius: float
    step: float
    kappa: float = 1.0
    delta: float = 0.05
    share: float = 0.5
    beta: float | None = None

    def __post_init__(self) -> None:
        require(self.arm in ("soft", "hard"), f"arm must be 'soft' or 'hard', got '{self.arm}'")
        require(
            self.size <= self.radius * (1 + ROUNDING),
            f"radius must be at least kappa ({self.kappa}), so that the teacher's weights lie within it, "
            f"got {self.radius}",
        )

    @property
    def size(self) -> float:
        """s: how far W̄ is from W(0), times √m."""
        return self.kappa if self.arm == "soft" else self.radius

    @property
    def curvature(self) -> float:
        return 0.5 if self.arm == "soft" else RHO

    @property
    def targets(self) -> np.ndarray:
        return expit(self.kappa * self.z) if self.arm == "soft" else (1 + self.y) / 2


class Invariants:
    """Watches a run: `observe(t, weights, logits)` at t = 0, 1, …, T, then `checks`, `counts`, `certificate`."""

    def __init__(self, run: Run) -> None:
        self.run = run
        m = len(run.start)
        self.width = m
        self.norms = np.linalg.norm(run.x, axis=1)
        self.reach = run.start + run.signs[:, None] / math.sqrt(m) * run.size * run.v  # W̄
        start_products = run.x @ run.start.T  # (n, m)
        self.reach_products = run.x @ self.reach.T
        self.active_start = start_products > 0
        limit = self.norms[:, None] * run.radius / math.sqrt(m)
        self.band = np.abs(start_products) <= limit * (1 + ROUNDING)
        self.pairs_in_band = self.band[:, : m // 2].sum(axis=1)  # N_i: paired neurons share their start
        self.output_start = self._linear(self.active_start, self.reach_products)
        self.entropy = float(np.mean(entr(run.targets) + entr(1 - run.targets)))
        self._worst: dict[str, tuple[float, int, float]] = {}
        self._previous: tuple[float, float, float] | None = None  # ‖W − W̄‖², R, R^t(W̄) of the last step
        self._expected: np.ndarray | None = None  # where the last step should have led
        self._losses: list[float] = []
        self._errors: list[float] = []
        self._comparisons: list[float] = []
        self._steps = -1

    def observe(self, t: int, weights: np.ndarray, logits: np.ndarray) -> None:
        """Weights (m, d) before step t, and the network's own outputs f (n,) with them."""
        run, m = self.run, self.width
        require(t == self._steps + 1, f"steps must be observed one by one: {t} after {self._steps}")
        self._steps = t
        if t == 0:
            self._record("start", float(np.abs(logits).max()), 0.0, t, exact=True)
        distance = np.linalg.norm(weights - run.start, axis=1).max() * math.sqrt(m) / run.radius
        self._record("radius", float(distance), 1.0, t)

        if self._expected is not None:
            self._record("update", float(np.abs(weights - self._expected).max()), UPDATE_ROUNDING, t - 1)

        active = run.x @ weights.T > 0
        residual = expit(logits) - run.targets
        loss = self._loss(logits)
        signal = (active * residual[:, None]).T @ run.x  # (m, d)
        gradient = signal * (run.signs / math.sqrt(m) / len(run.x))[:, None]
        self._record("gradient", float(np.sum(gradient**2)), run.curvature * loss, t)
        self._expected = self._projected(weights - run.step * gradient)

        flipped = active != self.active_start
        self._record("flips", float((flipped & ~self.band).sum()), 0.0, t, exact=True)
        output = self._linear(active, self.reach_products)
        allowed = (run.size + max(run.size, run.radius)) * self.norms * self.pairs_in_band / m
        drift = np.abs(output - self.output_start) - allowed
        self._record("drift", float(drift.max()), 0.0, t)
        comparison = self._loss(output)

        error = float(np.mean(run.y * logits <= 0))
        constant = self._error_constant()
        if constant is not None:
            self._record("error", error, loss * constant, t)

        square = float(np.sum((weights - self.reach) ** 2))
        self._descent(square, t)
        self._previous = (square, loss, comparison)
        self._losses.append(loss)
        self._errors.append(error)
        self._comparisons.append(comparison)

    def _descent(self, square: float, t: int) -> None:
        """The two forms of (16), for the step that led to this distance ‖W(t) − W̄‖²."""
        if self._previous is None:
            return
        run, (before, loss, comparison) = self.run, self._previous
        right = before - square + 2 * run.step * comparison
        self._record("descent", (2 * run.step - run.curvature * run.step**2) * loss, right, t - 1, scale=before)
        if run.step <= 1:
            printed = right + run.step**2 * self.entropy
            self._record("descent, (16)", (2 * run.step - run.step**2) * loss, printed, t - 1, scale=before)

    def _projected(self, weights: np.ndarray) -> np.ndarray:
        change = weights - self.run.start
        limit = self.run.radius / math.sqrt(self.width)
        distance = np.linalg.norm(change, axis=1, keepdims=True)
        return self.run.start + change * (limit / np.maximum(distance, limit))

    def _linear(self, active: np.ndarray, products: np.ndarray) -> np.ndarray:
        """f with weights whose products with x are given, and with the given activations."""
        return (active * products) @ self.run.signs / math.sqrt(self.width)

    def _loss(self, logits: np.ndarray) -> float:
        p = self.run.targets
        cross = np.logaddexp(0, logits) - p * logits
        return float(np.mean(np.maximum(cross - entr(p) - entr(1 - p), 0)))

    def _error_constant(self) -> float | None:
        """What turns a mean loss into a bound on the error; None where the teacher itself errs."""
        if self.run.arm == "hard":
            return 1 / math.log(2)
        gamma = float((self.run.y * self.run.z).min())
        return 1 / coin_divergence(self.run.kappa * gamma) if gamma > 0 else None

    def _record(self, name: str, left: float, right: float, t: int, *, exact: bool = False, scale: float = 0.0) -> None:
        excess = left - right
        allowed = 0.0 if exact else ROUNDING * (abs(left) + abs(right) + scale)
        if name not in self._worst or excess - allowed > self._worst[name][0] - self._worst[name][2]:
            self._worst[name] = (excess, t, allowed)

    def checks(self) -> list[Check]:
        """The deterministic checks, each with the worst it saw."""
        return [
            Check(name, worst, worst <= allowed, step, FORMULAS[name])
            for name, (worst, step, allowed) in self._worst.items()
        ]

    def counts(self) -> list[Count]:
        """The statements that hold with high probability over the start."""
        run, m, n = self.run, self.width, len(self.run.x)
        features = self._linear(self.active_start, run.x @ (self.reach - run.start).T)
        deviation = np.abs(features - run.size * run.z) - feature_deviation(m, n, run.delta, run.size)
        expected = m / 2 * (band_probability(m, run.radius) + math.sqrt(math.log(n / run.delta) / m))
        crowd = self.pairs_in_band - expected
        found = [
            _count("features", deviation, "Lemma 6: |f⁰(U) − s z| ≤ s√(2 ln(2n/δ)/m)"),
            _count("band", crowd, "N_i ≤ (m/2)(erf(B/√(2m)) + √(ln(n/δ)/m))"),
        ]
        if run.beta is not None:
            over = np.array(self._comparisons) - run.share * run.beta
            found.append(_count("comparison", over, "R^t(W̄) ≤ θβ at every step"))
        return found

    def certificate(self) -> Certificate:
        """The bound on mean R over t < T that the run itself proves, beside what was measured."""
        steps = self._steps
        require(steps >= 1, "a certificate needs at least one step")
        comparison = float(np.mean(self._comparisons[:steps]))
        distance = math.sqrt(float(np.sum((self.run.start - self.reach) ** 2)))
        bound = mean_loss(self.run.step, steps, distance, comparison, self.run.curvature)
        constant = self._error_constant()
        return Certificate(
            bound=bound,
            measured=float(np.mean(self._losses[:steps])),
            error_bound=None if constant is None else bound * constant,
            error_measured=float(np.mean(self._errors[:steps])),
            comparison=comparison,
        )


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
