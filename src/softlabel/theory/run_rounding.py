"""Bounds on the float64 rounding errors of the quantities that `theory.invariants` compares.

The inequalities hold for real numbers; engine and checks compute in float64, u = 2⁻⁵³, with different orders of
summation. Every allowance below is a forward error bound of a computed quantity, from the sizes of its terms:
first order in u, constants rounded up (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3 and 19). A
sum of k products is off by at most (k+1)u times the sum of their absolute values. `inner` is the constant of a product
of d numbers: k = d + 8; where the engine rotates the inputs into their span (2n ≤ d), a Householder QR of an n × d
table adds 16·n·d.

    z = w·x                 ζ = k u ‖w‖‖x‖
    f = Σ a σ(z)/√m         φ = (k + m + 4) u ‖x‖ Σ_j‖w_j‖/√m            the same for f^t(W̄) with W̄ in place of W
    residual r = μ(f) − p   φ/4 + 8u                                  |μ'| ≤ ¼
    loss of one example     |r|φ + φ²/8 + λ                           its derivative is r, its curvature ≤ ¼
                            λ = 64u·|f − κz| if that is ≤ 1, else 16u(1 + |f| + κ|z|), evaluates it (`Invariants._loss`)
    ∇_j R                   (1/(n√m)) Σ_i ‖x_i‖ (φ_i/4 + 8u + (n + 8)u|r_i| + [|z_ij| ≤ 2ζ_ij] |r_i|)
                            the last: an activation that rounding may have decided otherwise
    projected step, row j   τ_j = 2(η‖δ∇_j R‖ + (k + 8)u(‖w_j(0)‖ + ‖w_j‖ + η‖∇_j R‖ + B/√m))
                            a projection moves no two points apart; twice, for the engine and for the check
    ‖w_j − w_j(0)‖          (k + 8)u(‖w_j(0)‖ + ‖w_j‖)
    ‖W − W̄‖²                (md + 8)u‖W − W̄‖² + 4u Σ_j (‖w_j‖ + ‖w̄_j‖)‖w_j − w̄_j‖
    W̄ beyond the ball       ε_j = (k + 8)u(‖w̄_j‖ + B/√m)

With ‖·‖ of τ and ε over all neurons, D = ‖W(t) − W̄‖, E the error of the mean loss and Ē that of R^t(W̄), the descent
inequality is allowed

    2(2η + ρ'η²)E + 2ηĒ + η²(2‖∇R‖‖δ∇R‖ + ‖δ∇R‖²) + 2(D + ‖τ‖)(‖τ‖ + ‖ε‖) + errors of both squares
    + 8u(|left| + |right|)

since W(t+1) is within τ of the projected step, W̄ within ε of the ball, and loss and gradient enter as in the proof.
"""

import math

import numpy as np

UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


class RunRounding:
    """Error bounds for a run with inputs x (n, d), initial weights (m, d), radius B and learning rate η."""

    def __init__(self, x: np.ndarray, init: np.ndarray, radius: float, learning_rate: float) -> None:
        self.n, self.d = x.shape
        self.m = len(init)
        self.norms = np.linalg.norm(x, axis=1)
        self.init_norms = np.linalg.norm(init, axis=1)
        self.limit, self.learning_rate = radius / math.sqrt(self.m), learning_rate
        rotated = 16 * self.n * self.d if 2 * self.n <= self.d else 0
        self.inner = self.d + 8 + rotated

    def products(self, sizes: np.ndarray) -> np.ndarray:
        """ζ (n, m) of w_j·x_i, from the norms of the weights (m,)."""
        return self.inner * UNIT_ROUNDOFF * np.outer(self.norms, sizes)

    def outputs(self, sizes: np.ndarray) -> np.ndarray:
        """φ (n,) of f, from the norms of the weights (m,)."""
        total = float(sizes.sum()) / math.sqrt(self.m)
        return (self.inner + self.m + 4) * UNIT_ROUNDOFF * self.norms * total

    def loss(self, residual: np.ndarray, outputs: np.ndarray, distance: np.ndarray, size: np.ndarray) -> float:
        """E of a mean loss: residuals r, φ, |f − κz| and |f| + κ|z| of the examples (n,)."""
        u = UNIT_ROUNDOFF
        evaluation = np.where(distance <= 1, 64 * u * distance, 16 * u * (1 + size))
        return float(np.mean(np.abs(residual) * outputs + outputs**2 / 8 + evaluation))

    def gradient(self, residual: np.ndarray, outputs: np.ndarray, undecided: np.ndarray) -> np.ndarray:
        """‖δ∇_j R‖ (m,), from residuals (n,), φ (n,) and which activations are undecided (n, m)."""
        size = np.abs(residual)
        sure = float(self.norms @ (outputs / 4 + 8 * UNIT_ROUNDOFF + (self.n + 8) * UNIT_ROUNDOFF * size))
        return (sure + (self.norms * size) @ undecided) / (self.n * math.sqrt(self.m))

    def update(self, sizes: np.ndarray, gradient: np.ndarray, error: np.ndarray) -> np.ndarray:
        """τ (m,) of the projected step, from the norms of weights and gradient and the gradient's error (m,)."""
        moved = self.init_norms + sizes + self.learning_rate * gradient + self.limit
        return 2 * (self.learning_rate * error + (self.inner + 8) * UNIT_ROUNDOFF * moved)

    def distance(self, sizes: np.ndarray) -> np.ndarray:
        """The error of ‖w_j − w_j(0)‖ (m,), in the engine and in the check."""
        return (self.inner + 8) * UNIT_ROUNDOFF * (self.init_norms + sizes + self.limit)

    def square(self, square: float, sizes: np.ndarray, others: np.ndarray, apart: np.ndarray) -> float:
        """The error of ‖W − W̄‖², from the norms of rows of W, W̄ and W − W̄."""
        u = UNIT_ROUNDOFF
        return (self.m * self.d + 8) * u * square + 4 * u * float((sizes + others) @ apart)

    def outside(self, sizes: np.ndarray) -> np.ndarray:
        """ε (m,): how far rounding may put W̄ outside the ball."""
        return (self.inner + 8) * UNIT_ROUNDOFF * (sizes + self.limit)
