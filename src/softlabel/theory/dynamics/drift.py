"""Movement of the kernel H̄(t) along a training run, and Lemmas 1 to 4 with their corrections.

    Lemma 1    ∫‖η − e^{−H̄τ}η(0)‖ ≤ √(1 + a/λ) q‖η(0)‖/(p(1 − q)),   q = sup σ_max(ΔH̄)/p   (printed: no root)
    Lemma 2    σ_max(ΔH̄) ≤ √2 √(λ² + a²) max_k σ_max(ΔH_k)                     (printed: H̄ on the left)
    Lemma 3    σ_max(ΔH_k) ≤ L² σ_x² X‖Δw_k‖ (X‖Δw_k‖ + 2)                       (printed: 2‖w_k(0)‖ in place of 2)
    Lemma 4    ‖Δw_k‖ ≤ L σ_x ∫‖r_k‖,   r_k = (a_k/√m)(y − f) + λ(φ_k − f_k)     (printed: without the second term)

L bounds |σ'| and its Lipschitz constant, σ_x is the largest singular value of the inputs, X their largest norm; η has
the blocks f_k − f_∞^(k), p is the smallest pole. H̄ = D S is not normal, so e^{−H̄t} may first grow: in the norm of S^½η
it decreases like e^{−pt}, and ΔH̄ enters by its spectral radius (at most σ_max); changing to this norm and back costs
the condition number of S^½, √(1 + a/λ).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, svds
from torch import Tensor

from softlabel.errors import require
from softlabel.theory.dynamics.limits import printed_limit
from softlabel.theory.dynamics.problem import KernelProblem

LIPSCHITZ = {"softplus": 1.0, "tanh": 1.0, "erf": 2 / np.sqrt(np.pi), "gelu": 1.13}
"""Largest of |σ'| and |σ''|. tanh: |σ''| ≤ 0.77; erf: |σ'| ≤ 2/√π, |σ''| ≤ 0.97; gelu: |σ'| ≤ 1.13, |σ''| ≤ 0.8."""


@dataclass(frozen=True)
class Drift:
    """Left and right sides of the lemmas at one time; `relative` is max_k σ_max(ΔH_k) over max_k σ_max(H_k)."""

    relative: float
    lemma2: tuple[float, float]
    lemma3: tuple[float, float]
    lemma4: tuple[float, float] | None

    @property
    def holds(self) -> bool:
        pairs = [self.lemma2, self.lemma3, *([self.lemma4] if self.lemma4 is not None else [])]
        return all(left <= right * (1 + 1e-9) + 1e-12 for left, right in pairs)


def drift(
    problem: KernelProblem, slopes: Tensor, moved: np.ndarray, lipschitz: float, pulled: np.ndarray | None = None
) -> Drift:
    """How far the kernel has moved from its initial value in `problem`.

    slopes      (m, n) current σ'(X w_k)
    moved       (m,) ‖w_k − w_k(0)‖
    lipschitz   L
    pulled      (m,) ∫‖r_k‖, Σ η‖r_k‖ for gradient descent; None omits Lemma 4
    """
    require(slopes.shape == problem.slopes.shape, f"`slopes` must be {tuple(problem.slopes.shape)}, got {slopes.shape}")
    change = np.array([_unit_change(problem, k, slopes[k]) for k in range(problem.units)])
    zero = torch.zeros_like(problem.slopes[0])
    initial = max(_unit_change(problem, k, zero) for k in range(problem.units))
    sigma = float(torch.linalg.matrix_norm(problem.x, 2))
    largest = float(problem.x.norm(dim=1).max())
    bounds = (lipschitz * sigma) ** 2 * largest * moved * (largest * moved + 2)
    worst = int(np.argmax(change - bounds))
    strength = 1.0 if problem.alone else problem.strength
    a = 0.0 if problem.alone else problem.a
    fourth = None
    if pulled is not None:
        least = int(np.argmax(moved - lipschitz * sigma * pulled))
        fourth = (float(moved[least]), float(lipschitz * sigma * pulled[least]))
    return Drift(
        relative=float(change.max()) / max(initial, 1e-300),
        lemma2=(_total_change(problem, slopes), float(np.sqrt(2) * np.hypot(strength, a) * change.max())),
        lemma3=(float(change[worst]), float(bounds[worst])),
        lemma4=fourth,
    )


@dataclass(frozen=True)
class MeanDeviation:
    """Lemma 1 over a run: both sides, and the right one as printed; q < 1 is needed, else both are infinite."""

    q: float
    left: float
    right: float
    printed: float


def mean_deviation(
    problem: KernelProblem, times: np.ndarray, features: np.ndarray, slopes: np.ndarray
) -> MeanDeviation:
    """Lemma 1 for a run recorded at `times` (the first is 0), by dense matrices; for small problems.

    features    (times, m, n) f_k
    slopes      (times, m, n) σ'(X w_k)
    """
    require(0 < problem.strength < float("inf"), f"Lemma 1 needs 0 < λ < ∞, got {problem.strength}")
    poles, vectors = torch.linalg.eigh(problem.dense())
    require(bool(poles[0] > 1e-12 * poles[-1]), "Lemma 1 needs strictly positive poles (every H_k of full rank)")
    final = printed_limit(problem)
    eta0 = problem.features - torch.outer(problem.mix, problem.y - final) / problem.strength - problem.privileged
    predicted = _fixed_kernel(problem, poles, vectors, eta0, times)
    away = [float(np.linalg.norm(f - by_kernel)) for f, by_kernel in zip(features, predicted, strict=True)]
    change = max(_total_change(problem, torch.as_tensor(now)) for now in slopes)
    p, size = float(poles[0]), float(eta0.norm())
    q = change / p
    printed = q * size / (p * (1 - q)) if q < 1 else float("inf")
    return MeanDeviation(
        q, float(np.trapezoid(away, times)), math.sqrt(1 + problem.a / problem.strength) * printed, printed
    )


def _fixed_kernel(
    problem: KernelProblem, poles: Tensor, vectors: Tensor, eta0: Tensor, times: np.ndarray
) -> list[np.ndarray]:
    """f_k at the times with a constant kernel: f_∞^(k) + e^{−H̄t}η(0), H̄ = S^{−½} A S^½."""
    inner = vectors.t() @ problem.coupled(eta0).reshape(-1)
    outputs = []
    for time in times:
        moved = (vectors @ (torch.exp(-poles * time) * inner)).reshape(eta0.shape)
        outputs.append((problem.features - eta0 + problem.coupled(moved, -0.5)).numpy())
    return outputs


def _unit_change(problem: KernelProblem, k: int, slopes: Tensor) -> float:
    """σ_max(H_k − H_k(0)) with these slopes, from the smaller matrix with the same nonzero eigenvalues."""
    first, second = problem.slopes[k][:, None] * problem.x, slopes[:, None] * problem.x
    joined = torch.cat([second, first], dim=1)  # ΔH = joined · diag(1, −1) · joinedᵀ
    d = problem.x.shape[1]
    signs = torch.cat([torch.ones(d), -torch.ones(d)]).double()
    if 2 * d < problem.n:
        small = (joined.t() @ joined) * signs[None]
        return float(torch.linalg.eigvals(small).abs().max())
    return float(torch.linalg.eigvalsh((joined * signs) @ joined.t()).abs().max())


def _total_change(problem: KernelProblem, slopes: Tensor) -> float:
    """σ_max of ΔH̄ = ΔD S."""
    now = replace(problem, slopes=slopes)
    shape = (problem.units, problem.n)

    def change(v: Tensor) -> Tensor:
        return now.gram(v) - problem.gram(v)

    def forward(v: np.ndarray) -> np.ndarray:
        return change(problem.coupled(torch.from_numpy(v.copy()).reshape(shape), 1.0)).reshape(-1).numpy()

    def backward(v: np.ndarray) -> np.ndarray:
        return problem.coupled(change(torch.from_numpy(v.copy()).reshape(shape)), 1.0).reshape(-1).numpy()

    size = problem.units * problem.n
    if not bool((slopes != problem.slopes).any()):
        return 0.0
    operator = LinearOperator((size, size), matvec=forward, rmatvec=backward, dtype="float64")  # pyright: ignore
    v0 = np.random.default_rng(0).standard_normal(size)
    values = svds(operator, k=1, v0=v0, return_singular_vectors=False)
    return float(np.asarray(values).reshape(-1)[0])
