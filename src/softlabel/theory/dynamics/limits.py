"""Where a student ends: Theorem 1's limit as printed, and the one that holds in general.

printed (5), right only if every H_k has full rank (smooth σ and n ≤ d):

    f_∞ = (a y + λ Σ_k (a_k/√m) φ_k)/(a + λ)

in general, with P_k the projector onto range(H_k) and P̄ = Σ_k (a_k²/m) P_k:

    f_lim = f(0) + (λI + P̄)⁻¹ [ P̄ (y − f(0)) + λ Σ_k (a_k/√m) P_k (φ_k − f_k(0)) ]

with the pseudo-inverse at λ = 0, and f(0) + Σ_k (a_k/√m) P_k (φ_k − f_k(0)) at λ = ∞.
"""

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, cg
from torch import Tensor

from softlabel.errors import SoftlabelError
from softlabel.theory.dynamics.problem import KernelProblem

RANK = 1e-10  # singular values below this share of the largest count as 0
TOLERANCE = 1e-10


def printed_limit(problem: KernelProblem) -> Tensor:
    """f_∞ as Theorem 1 prints it, (n,)."""
    taught = problem.mix @ problem.privileged
    if problem.alone:
        return taught
    return (problem.a * problem.y + problem.strength * taught) / (problem.a + problem.strength)


def limit(problem: KernelProblem) -> Tensor:
    """f_lim, (n,)."""
    bases = [_range(problem, k) for k in range(problem.units)]

    def project(v: Tensor) -> Tensor:
        """P_k v_k for a table v (m, n)."""
        return torch.stack([basis @ (basis.t() @ row) for basis, row in zip(bases, v, strict=True)])

    taught = problem.mix @ project(problem.privileged - problem.features)
    if problem.alone:
        return problem.start + taught

    def mean_projection(v: Tensor) -> Tensor:
        """P̄ v."""
        return problem.mix @ project(torch.outer(problem.mix, v))

    def system(v: np.ndarray) -> np.ndarray:
        table = torch.from_numpy(v)
        return (problem.strength * table + mean_projection(table)).numpy()

    right = mean_projection(problem.y - problem.start) + problem.strength * taught
    operator = LinearOperator((problem.n, problem.n), matvec=system, dtype="float64")  # pyright: ignore[reportCallIssue]
    change, failed = cg(operator, right.numpy(), rtol=TOLERANCE, maxiter=20 * problem.n)
    if failed:
        raise SoftlabelError(f"the limit's linear system did not converge for λ = {problem.strength}")
    return problem.start + torch.from_numpy(change)


def ranks(problem: KernelProblem) -> list[int]:
    """Rank of every H_k: n where the printed limit may be trusted."""
    return [_range(problem, k).shape[1] for k in range(problem.units)]


def _range(problem: KernelProblem, k: int) -> Tensor:
    """An orthonormal basis (n, rank) of range(H_k), that of diag(s_k) X."""
    u, values, _ = torch.linalg.svd(problem.slopes[k][:, None] * problem.x, full_matrices=False)
    return u[:, values > RANK * values[0]] if len(values) and values[0] > 0 else u[:, :0]
