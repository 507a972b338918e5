"""The margin problem on a sample of directions.

With G_q(z) = Σ_i q_i y_i x_i 1(z·x_i > 0) and F(q) = E_z‖G_q(z)‖ over Gaussian z,

    γ* = min_{q in the simplex} F(q),     ∂_i F(q) = y_i E⟨v_q, φ_i⟩,  v_q = G_q/‖G_q‖,
    min_i ∂_i F(q) ≤ γ* ≤ F(q)  for every q.

On a sample the expectation is a mean. F is homogeneous, so the simplex goes away: min ½F(q)² − Σq over q ≥ 0 has its
optimum at the same direction, and L-BFGS-B solves it.

Directions come in pairs ±z. The pair costs as much as one: 1(−z·x > 0) = 1 − 1(z·x > 0), so that
G_q(−z) = Σ q_i y_i x_i − G_q(z).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.numerics import minimise_nonnegative

BLOCK = 2048
MASK_BYTES = 2 << 30
ROUNDING = 32  # ‖G‖ below this many units of rounding counts as zero: v = 0 there


def draw_pairs(pairs: int, columns: int, seed: int, dtype: torch.dtype) -> Tensor:
    """Gaussian directions z (pairs, columns); each stands for z and −z."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(pairs, columns, generator=generator, dtype=dtype)


def unit(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors (…, d) brought to norm 1, or 0 where they are rounding noise of numbers up to 1, and their norms."""
    norms = torch.linalg.vector_norm(vectors, dim=-1)
    noise = norms <= ROUNDING * torch.finfo(vectors.dtype).eps
    scale = torch.where(noise, 0.0, 1 / norms.clamp_min(torch.finfo(vectors.dtype).tiny))
    return vectors * scale[..., None], torch.where(noise, 0.0, norms)


class SampleProblem:
    """F and its gradient on fixed directions, for points x (n, d) with labels y; `single` leaves the −z out."""

    def __init__(self, x: Tensor, y: Tensor, directions: Tensor, single: bool = False) -> None:
        self.x, self.y, self.single = x, y, single
        self.pairs = len(directions)
        # 0/1 as numbers where that fits: each evaluation then is two matrix products and little else
        kind = x.dtype if len(directions) * len(x) * x.element_size() <= MASK_BYTES else torch.bool
        self.active = [(torch.mm(block, x.t()) > 0).to(kind) for block in directions.split(BLOCK)]

    def value_and_gradient(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """F(q) and ∂F(q)."""
        weights = torch.from_numpy(q).to(self.x.dtype) * self.y
        weighted = self.x * weights[:, None]
        total = weighted.sum(0)
        value = 0.0
        pulled = torch.zeros_like(self.x)  # Σ_k 1(z_k·x_i>0) (v(z_k) − v(−z_k))
        opposite = torch.zeros_like(total)  # Σ_k v(−z_k)
        for active in self.active:
            mask = active.to(self.x.dtype)
            here = mask @ weighted
            v, norms = unit(here)
            value += float(norms.sum(dtype=torch.float64))
            if not self.single:
                v_minus, norms = unit(total - here)
                value += float(norms.sum(dtype=torch.float64))
                opposite += v_minus.sum(0)
                v = v.sub_(v_minus)
            pulled.addmm_(mask.t(), v)
        count = self.pairs if self.single else 2 * self.pairs
        gradient = (self.y * ((pulled + opposite) * self.x).sum(1)).double().numpy() / count
        return value / count, gradient


@dataclass(frozen=True, eq=False)
class SampleSolution:
    """lower ≤ margin of the sample ≤ upper; `q` in the simplex attains the upper end, `dual` the lower."""

    q: np.ndarray
    dual: np.ndarray
    lower: float
    upper: float
    evaluations: int


def solve_sample(
    problem: SampleProblem,
    start: np.ndarray,
    *,
    tolerance: float = 1e-4,
    evaluations: int = 1000,
    stop: Callable[[], bool] | None = None,
) -> SampleSolution:
    """Minimise F over the simplex until upper − lower ≤ tolerance·upper, from `start` (n,), any q ≥ 0.

    `stop()` is asked now and then whether time is up; the best found so far is returned.
    """
    best_q = dual_q = start / start.sum()
    lower, upper, count = -np.inf, np.inf, 0

    def objective(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best_q, dual_q, lower, upper, count
        value, gradient = problem.value_and_gradient(q)
        count += 1
        mass = q.sum()
        if mass > 0:
            if gradient.min() > lower:
                dual_q, lower = q / mass, float(gradient.min())
            if value / mass < upper:
                best_q, upper = q / mass, value / mass
        return 0.5 * value**2 - mass, value * gradient - 1

    def done() -> bool:
        return upper - lower <= tolerance * upper or (stop is not None and stop())

    value, _ = problem.value_and_gradient(best_q)
    if value == 0:
        return SampleSolution(best_q, best_q, 0.0, 0.0, 1)
    minimise_nonnegative(objective, best_q / value**2, done=done, evaluations=evaluations)
    return SampleSolution(best_q, dual_q, lower, upper, count)
