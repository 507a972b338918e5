"""Rahbar's Theorem 3, the sum of exponentials: as printed, and corrected. Dense, for H_k of full rank.

printed       f(t) = Σ_j e^{−p_j t} α_j u^j,   α_j = Σ_k (a_k²/m) ⟨v^j, H_k (p_j − λH_k)⁻¹ (f_∞^(k) − f_k(0))⟩
corrected     f(t) = f_∞ + Σ_j e^{−p_j t} v^j c_j/ν_j,
              c_j = Σ_k (a_k/√m) ⟨v^j, (p_j − λH_k)⁻¹ (f_k(0) − f_∞^(k))⟩,
              ν_j = Σ_k (a_k²/m) v^jᵀ H_k (p_j − λH_k)⁻² v^j

with f_∞^(k) = (a_k/(λ√m))(y − f_∞) + φ_k, and v^j (= u^j, the matrix being symmetric) in the kernel of
I − Σ_k (a_k²/m)(p_j − λH_k)⁻¹H_k. The printed form omits f_∞, and its coefficients have the wrong weight and scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import require
from softlabel.theory.dynamics.limits import printed_limit
from softlabel.theory.dynamics.problem import KernelProblem


@dataclass(frozen=True, eq=False)
class Expansion:
    """Poles (j,), vectors (j, n) of norm 1, coefficients (j,), and the constant (n,)."""

    poles: np.ndarray
    vectors: np.ndarray
    coefficients: np.ndarray
    constant: np.ndarray

    def __call__(self, times: Sequence[float]) -> np.ndarray:
        """f at these times, (times, n)."""
        exponentials = np.exp(-np.outer(times, self.poles))
        return self.constant + (exponentials * self.coefficients) @ self.vectors


def corrected_expansion(problem: KernelProblem) -> Expansion:
    """Theorem 3 with f_∞ and the right coefficients."""
    poles, vectors, grams, away = _parts(problem)
    coefficients = []
    for p, v in zip(poles, vectors, strict=True):
        c = nu = 0.0
        for k, h in enumerate(grams):
            solved = torch.linalg.solve(_shifted(problem, p, h), torch.stack([away[k], v], dim=1))
            c += float(problem.mix[k] * (v @ solved[:, 0]))
            twice = torch.linalg.solve(_shifted(problem, p, h), solved[:, 1])
            nu += float(problem.mix[k] ** 2 * (v @ (h @ twice)))
        coefficients.append(c / nu)
    return Expansion(poles.numpy(), vectors.numpy(), np.array(coefficients), printed_limit(problem).numpy())


def printed_expansion(problem: KernelProblem) -> Expansion:
    """Theorem 3 as printed."""
    poles, vectors, grams, away = _parts(problem)
    coefficients = [
        sum(
            float(problem.mix[k] ** 2 * (v @ (h @ torch.linalg.solve(_shifted(problem, p, h), -away[k]))))
            for k, h in enumerate(grams)
        )
        for p, v in zip(poles, vectors, strict=True)
    ]
    return Expansion(poles.numpy(), vectors.numpy(), np.array(coefficients), np.zeros(problem.n))


def _parts(problem: KernelProblem) -> tuple[Tensor, Tensor, list[Tensor], Tensor]:
    """Poles, their v^j of norm 1, the H_k, and f_k(0) − f_∞^(k)."""
    require(
        0 < problem.strength < float("inf"),
        f"the expansion needs 0 < λ < ∞ (it divides by λ), got {problem.strength}; use exact_dynamics",
    )
    poles, eigenvectors = torch.linalg.eigh(problem.dense())
    tables = eigenvectors.t().reshape(-1, problem.units, problem.n)
    vectors = torch.stack([problem.mix @ problem.gram(problem.coupled(table)) for table in tables])
    visible = vectors.norm(dim=1) > 1e-12 * vectors.norm(dim=1).max()  # the others do not affect f
    poles, vectors = poles[visible], vectors[visible]
    vectors = vectors / vectors.norm(dim=1, keepdim=True)
    inner = problem.x @ problem.x.t()
    grams = [inner * torch.outer(s, s) for s in problem.slopes]
    final = printed_limit(problem)
    units = torch.outer(problem.mix, problem.y - final) / problem.strength + problem.privileged
    return poles, vectors, grams, problem.features - units


def _shifted(problem: KernelProblem, pole: Tensor, h: Tensor) -> Tensor:
    return pole * torch.eye(problem.n, dtype=h.dtype) - problem.strength * h
