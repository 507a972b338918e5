"""Minimization of smooth functions of non-negative variables whose curvature is about known.

Each step minimizes a quadratic model over q ≥ 0,

    ⟨∇f, d⟩ + ½ dᵀB d,

where B is the matrix that the caller knows, corrected by the BFGS updates of earlier steps. An evaluation of f may be
expensive; a product with the known matrix should be cheap. If B is good, a few evaluations do what L-BFGS, which
learns the curvature from gradients alone, needs a hundred for.
"""

from collections.abc import Callable

import numpy as np

from softlabel.numerics.descent import minimize_nonnegative

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
Product = Callable[[np.ndarray], np.ndarray]

UPDATES = 12  # BFGS updates before the curvature is learned anew
INNER_EVALUATIONS = 300  # products with B in one step
INNER_TOLERANCE = 0.1  # of the largest entry of the projected gradient
DECREASE = 1e-4  # share of the predicted decrease that a step must reach
HALVINGS = 6
STIFFER, FAILURES = 8.0, 3  # after a step that does not descend; times in succession until the end


class _Curvature:
    """B: the known matrix times a factor, plus BFGS updates."""

    def __init__(self, product: Product) -> None:
        self._product, self._factor = product, 1.0
        self._vectors: list[np.ndarray] = []
        self._signs: list[float] = []
        self._ratios: list[float] = []  # of measured to known curvature, since the last restart

    def __call__(self, d: np.ndarray) -> np.ndarray:
        total = self._factor * self._product(d)
        for vector, sign in zip(self._vectors, self._signs, strict=True):
            total += sign * float(vector @ d) * vector
        return total

    def update(self, step: np.ndarray, change: np.ndarray) -> None:
        """Learn from a step and the change of the gradient along it."""
        curvature = float(step @ change)
        if curvature <= 0:
            return
        known = float(step @ self._product(step))
        if known > 0:
            self._ratios.append(curvature / known)
        if len(self._vectors) >= 2 * UPDATES:
            self.restart(max(self._ratios, default=self._factor))
        pulled = self(step)
        length = float(step @ pulled)
        if length <= 0:
            return
        self._vectors += [pulled / np.sqrt(length), change / np.sqrt(curvature)]
        self._signs += [-1.0, 1.0]

    def restart(self, factor: float) -> None:
        """Forget all updates; the known matrix counts this many times."""
        self._factor = factor
        self._vectors, self._signs, self._ratios = [], [], []

    def stiffen(self) -> None:
        """Start again with shorter steps."""
        self.restart(STIFFER * max([self._factor, *self._ratios]))


def minimize_in_metric(
    objective: Objective, initial: np.ndarray, product: Product, *, done: Callable[[], bool], evaluations: int
) -> None:
    """Minimize `objective` (value and gradient) over q ≥ 0 from `initial`, until `done()` is true or progress ends.

    `product` multiplies a vector with a positive semidefinite matrix near the objective's Hessian. Nothing is returned:
    `objective` sees every point and stores the best.
    """
    curvature, q = _Curvature(product), initial
    value, gradient = objective(q)
    count, failures = 1, 0
    while count < evaluations and not done():
        direction = _model_minimum(curvature, q, gradient) - q
        predicted = float(gradient @ direction)
        if predicted >= 0:
            return
        share = 1.0
        for _ in range(HALVINGS):
            new = np.maximum(q + share * direction, 0.0)
            new_value, new_gradient = objective(new)
            count += 1
            if new_value <= value + DECREASE * share * predicted or done() or count >= evaluations:
                break
            share /= 2
        else:
            failures += 1
            if failures > FAILURES:
                return
            curvature.stiffen()
            continue
        failures = 0
        curvature.update(new - q, new_gradient - gradient)
        q, value, gradient = new, new_value, new_gradient


def _model_minimum(curvature: _Curvature, q: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The p ≥ 0 that minimizes the quadratic model around q, about."""
    best, lowest, violation = q, 0.0, np.inf
    goal = INNER_TOLERANCE * _largest_projected(q, gradient)

    def model(p: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, lowest, violation
        d = p - q
        pulled = curvature(d)
        value, slope = float(gradient @ d + 0.5 * d @ pulled), gradient + pulled
        violation = _largest_projected(p, slope)
        if value < lowest:
            best, lowest = p.copy(), value
        return value, slope

    minimize_nonnegative(model, q, done=lambda: violation <= goal, evaluations=INNER_EVALUATIONS)
    return best


def _largest_projected(q: np.ndarray, gradient: np.ndarray) -> float:
    """The largest entry of the gradient that does not point out of q ≥ 0."""
    return float(np.where(q > 0, np.abs(gradient), np.maximum(-gradient, 0)).max())
