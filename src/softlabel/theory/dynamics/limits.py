"""The limit of a student's outputs: as printed in Theorem 1, and in general.

printed (5), correct only if every H_k has full rank (smooth σ and n ≤ d):

    f_∞ = (a y + λ Σ_k (a_k/√m) φ_k)/(a + λ)

in general, with P_k the projector onto range(H_k) and P̄ = Σ_k (a_k²/m) P_k:

    f_lim = f(0) + (λI + P̄)⁻¹ [ P̄ (y − f(0)) + λ Σ_k (a_k/√m) P_k (φ_k − f_k(0)) ]

with the pseudo-inverse at λ = 0, and f(0) + Σ_k (a_k/√m) P_k (φ_k − f_k(0)) at λ = ∞.

range(H_k) is that of B_k = diag(s_k) X. Where n ≤ d and X has full rank it is spanned by the examples on which unit k
is not silent, and P_k blanks the others; where n > d and B_kᵀB_k is well conditioned, P_k = B_k (B_kᵀB_k)⁻¹ B_kᵀ, by
one Cholesky factor. Otherwise P_k comes from a singular value decomposition, which is slower and determines ranks
safely.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, cg
from torch import Tensor

from softlabel.errors import SoftlabelError
from softlabel.theory.dynamics.problem import KernelProblem

RANK = 1e-10  # singular values below this share of the largest count as 0
CONDITION = 1e-9  # pivots of a Gram matrix below this share of the largest require the singular value decomposition
TOLERANCE = 1e-10


def printed_limit(problem: KernelProblem) -> Tensor:
    """f_∞ as Theorem 1 prints it, (n,)."""
    knowledge = problem.mix @ problem.privileged
    if problem.alone:
        return knowledge
    return (problem.a * problem.y + problem.strength * knowledge) / (problem.a + problem.strength)


def limit(problem: KernelProblem) -> Tensor:
    """f_lim, (n,)."""
    projectors = _projectors(problem)

    def project(v: Tensor) -> Tensor:
        """P_k v_k for a table v (m, n)."""
        return torch.stack([projector.project(row) for projector, row in zip(projectors, v, strict=True)])

    knowledge = problem.mix @ project(problem.privileged - problem.features)
    if problem.alone:
        return problem.initial + knowledge

    def mean_projection(v: Tensor) -> Tensor:
        """P̄ v."""
        return problem.mix @ project(torch.outer(problem.mix, v))

    def system(v: np.ndarray) -> np.ndarray:
        table = torch.from_numpy(v)
        return (problem.strength * table + mean_projection(table)).numpy()

    right = mean_projection(problem.y - problem.initial) + problem.strength * knowledge
    operator = LinearOperator((problem.n, problem.n), matvec=system, dtype="float64")  # pyright: ignore[reportCallIssue]
    change, failed = cg(operator, right.numpy(), rtol=TOLERANCE, maxiter=20 * problem.n)
    if failed:
        raise SoftlabelError(f"the limit's linear system did not converge for λ = {problem.strength}")
    return problem.initial + torch.from_numpy(change)


def ranks(problem: KernelProblem) -> list[int]:
    """Rank of every H_k; the printed limit is correct if all are n."""
    return [projector.rank for projector in _projectors(problem)]


@dataclass(frozen=True, eq=False)
class _Projector:
    """P_k of one unit: its rank, and its product with a vector (n,)."""

    rank: int
    project: Callable[[Tensor], Tensor]


def _projectors(problem: KernelProblem) -> list[_Projector]:
    """P_k of every unit, by the cheapest safe method."""
    n, d = problem.x.shape
    if n <= d:
        independent = _factor(problem.x @ problem.x.t()) is not None
        return [_blanking(row) if independent and _even(row) else _spanned(problem, row) for row in problem.slopes]
    return [_factored(problem, row) or _spanned(problem, row) for row in problem.slopes]


def _blanking(slopes: Tensor) -> _Projector:
    """P_k if the examples on which unit k is active are independent: all others are set to 0."""
    seen = slopes != 0
    return _Projector(int(seen.sum()), lambda v: torch.where(seen, v, 0.0))


def _even(slopes: Tensor) -> bool:
    """Whether no slope is so small that rounding decides whether it is 0."""
    seen = slopes[slopes != 0].abs()
    return len(seen) == 0 or bool(seen.min() > CONDITION**0.5 * seen.max())


def _factored(problem: KernelProblem, slopes: Tensor) -> _Projector | None:
    """P_k from the Cholesky factor of B_kᵀB_k; None unless this has full rank d."""
    scaled = slopes[:, None] * problem.x
    factor = _factor(scaled.t() @ scaled)
    if factor is None:
        return None

    def project(v: Tensor) -> Tensor:
        inner = problem.x.t() @ (slopes * v)
        return slopes * (problem.x @ torch.cholesky_solve(inner[:, None], factor)[:, 0])

    return _Projector(len(factor), project)


def _spanned(problem: KernelProblem, slopes: Tensor) -> _Projector:
    """P_k from an orthonormal basis (n, rank) of range(H_k)."""
    u, values, _ = torch.linalg.svd(slopes[:, None] * problem.x, full_matrices=False)
    basis = u[:, values > RANK * values[0]] if len(values) and values[0] > 0 else u[:, :0]
    return _Projector(basis.shape[1], lambda v: basis @ (basis.t() @ v))


def _factor(gram: Tensor) -> Tensor | None:
    """The Cholesky factor of a matrix that is positive definite beyond rounding, otherwise None."""
    factor, failed = torch.linalg.cholesky_ex(gram)
    if int(failed):
        return None
    pivots = factor.diagonal().square()
    return factor if bool(pivots.min() > CONDITION * pivots.max()) else None
