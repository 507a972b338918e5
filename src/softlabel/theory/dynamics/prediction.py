"""The student's outputs at any time, from one Lanczos basis.

ψ_t(A) b = ‖b‖ Q ψ_t(T) e_1 in the Krylov space of b = S^{+½} r(0), with Q orthonormal (fully reorthogonalised) and T
tridiagonal. The products D S^½ q that make the next vector also give what each vector moves f by, so all times cost as
much as one. Gradient descent with step η is the same with ψ(p) = (1 − (1 − ηp)^T)/p after T iterations.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.linalg import eigh_tridiagonal
from torch import Tensor

from softlabel.errors import require
from softlabel.theory.dynamics.problem import KernelProblem

VECTORS = (80, 400)  # fewest and most by default
HELD = 20_000_000  # numbers that a default basis may have: 160 MB
BREAKDOWN = 1e-13


@dataclass(frozen=True, eq=False)
class Dynamics:
    """f(t) for every t.

    poles       (j,) Ritz values: the poles that this start excites, the extreme ones first to be exact
    modes       (j, n) what each takes f through: f(t) = f(0) + Σ_j ψ_t(p_j) modes_j
    remainder   size of the step to the next Lanczos vector, relative: 0 where the space is exhausted and f(t) exact
    """

    problem: KernelProblem
    poles: np.ndarray
    modes: np.ndarray
    remainder: float

    def __call__(self, times: float | Sequence[float] | None = None) -> np.ndarray:
        """f at these times: (n,) for one, (times, n) for several; None is the limit of the Lanczos space."""
        if times is None:
            return self._at(lambda p: 1 / p)
        if np.ndim(times) == 0:
            time = float(times)  # type: ignore[arg-type]
            require(time >= 0, f"time must be ≥ 0, got {time}")
            return self._at(lambda p: -np.expm1(-p * time) / p)
        return np.stack([self(time) for time in times])  # type: ignore[union-attr]

    def descent(self, iterations: int, step: float) -> np.ndarray:
        """f after so many iterations of gradient descent with this step (on half the loss)."""
        require(iterations >= 0, f"iterations must be ≥ 0, got {iterations}")
        require(step > 0, f"step must be positive, got {step}")
        return self._at(lambda p: (1 - (1 - step * p) ** iterations) / p)

    def _at(self, weight: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        moving = self.poles > BREAKDOWN * max(self.poles.max(), 1e-300)
        start = self.problem.start.numpy()
        if not moving.any():
            return start.copy()
        return start + weight(self.poles[moving]) @ self.modes[moving]

    @property
    def largest_step(self) -> float:
        """Gradient descent diverges from this step on: 2/λ_max."""
        return 2 / float(self.poles.max()) if self.poles.max() > 0 else math.inf


def kernel_dynamics(problem: KernelProblem, vectors: int | None = None) -> Dynamics:
    """Predict the student's outputs for all times, from so many Lanczos vectors (fewer where fewer suffice).

    By default as many as memory allows, 80 to 400; late times need the most.
    """
    if vectors is None:
        fewest, most = VECTORS
        vectors = min(most, max(fewest, HELD // (problem.units * problem.n)))
    require(vectors >= 1, f"vectors must be ≥ 1, got {vectors}")
    b = problem.coupled(problem.residual, -0.5)
    size = float(torch.linalg.vector_norm(b))
    if size == 0:
        return Dynamics(problem, np.zeros(1), np.zeros((1, problem.n)), 0.0)
    space = lanczos(problem.compressed(), b / size, vectors)
    poles, rows = eigh_tridiagonal(space.diagonal, space.off)
    modes = (size * rows[0])[:, None] * (rows.T @ space.moved)
    return Dynamics(problem, np.maximum(poles, 0.0), modes, space.remainder)


def exact_dynamics(problem: KernelProblem) -> Dynamics:
    """The same from a dense eigenproblem: all poles, every time exact. For small problems."""
    poles, vectors = torch.linalg.eigh(problem.dense())
    b = problem.coupled(problem.residual, -0.5).reshape(-1)
    weights = vectors.t() @ b
    tables = vectors.t().reshape(-1, problem.units, problem.n)
    moved = torch.stack([problem.mix @ problem.gram(problem.coupled(table)) for table in tables])
    return Dynamics(problem, poles.clamp_min(0).numpy(), (weights[:, None] * moved).numpy(), 0.0)


def all_poles(problem: KernelProblem) -> np.ndarray:
    """Every pole, ascending, by a dense symmetric eigenproblem."""
    return torch.linalg.eigvalsh(problem.dense()).clamp_min(0).numpy()


def extreme_poles(problem: KernelProblem, count: int = 6) -> np.ndarray:
    """The largest poles, descending, by `scipy.sparse.linalg.eigsh`."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def product(v: Any) -> np.ndarray:
        table = torch.from_numpy(np.ascontiguousarray(v)).reshape(problem.units, -1)
        return problem.symmetric(table).reshape(-1).numpy()

    unknowns = problem.units * problem.n
    operator = LinearOperator((unknowns, unknowns), matvec=product, dtype="float64")  # pyright: ignore[reportCallIssue]
    start = np.random.default_rng(0).standard_normal(unknowns)
    found = eigsh(operator, k=min(count, unknowns - 1), which="LA", v0=start, return_eigenvectors=False)
    return np.sort(np.maximum(found, 0))[::-1]


def pole_density(
    problem: KernelProblem, probes: int = 4, vectors: int = 60, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Poles and the share of all mn of them that each stands for, by stochastic Lanczos quadrature."""
    rng = torch.Generator().manual_seed(seed)
    places, shares = [], []
    for _ in range(probes):
        probe = torch.randint(0, 2, (problem.units, problem.n), generator=rng).double() * 2 - 1
        space = lanczos(problem, probe / probe.norm(), vectors)
        values, rows = eigh_tridiagonal(space.diagonal, space.off)
        places.append(np.maximum(values, 0))
        shares.append(rows[0] ** 2 / probes)
    place, share = np.concatenate(places), np.concatenate(shares)
    order = np.argsort(place)
    return place[order], share[order]


@dataclass(frozen=True, eq=False)
class Krylov:
    """A in a Krylov space: its tridiagonal matrix, and what D S^½ of each basis vector moves f by (j, n)."""

    diagonal: np.ndarray
    off: np.ndarray
    moved: np.ndarray
    remainder: float


def lanczos(problem: KernelProblem, q: Tensor, vectors: int) -> Krylov:
    """The Krylov space of the unit vector q (m, n), fully reorthogonalised; smaller where it is exhausted."""
    count = min(vectors, problem.units * problem.n)
    basis = torch.empty(count, problem.units * problem.n, dtype=q.dtype)
    moved, diagonal, off = [], [], []
    for j in range(count):
        basis[j] = q.reshape(-1)
        pulled = problem.gram(problem.coupled(q))
        moved.append(problem.mix @ pulled)
        w = problem.coupled(pulled).reshape(-1)
        diagonal.append(float(w @ basis[j]))
        for _ in range(2):  # twice is enough
            w = w - basis[: j + 1].t() @ (basis[: j + 1] @ w)
        off.append(float(torch.linalg.vector_norm(w)))
        if off[-1] <= BREAKDOWN * max(abs(diagonal[0]), 1e-300):
            break
        q = (w / off[-1]).reshape(problem.units, problem.n)
    remainder = off[-1] / max(abs(diagonal[0]), 1e-300)
    return Krylov(np.array(diagonal), np.array(off[:-1]), torch.stack(moved).numpy(), remainder)
