"""The student's outputs at any time, from one Lanczos basis.

ψ_t(A) b = ‖b‖ Q ψ_t(T) e_1 in the Krylov space of b = S^{+½} r(0), with Q orthonormal (fully reorthogonalized) and T
tridiagonal. The products D S^½ q that make the next vector also give the movement of f along each vector, so all
times cost as much as one. After T iterations of gradient descent with learning rate η, ψ(p) = (1 − (1 − ηp)^T)/p.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.linalg import eigh_tridiagonal
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from softlabel.errors import require
from softlabel.theory.dynamics.problem import KernelProblem

VECTORS = (80, 400)  # smallest and largest default
BASIS_NUMBERS = 20_000_000  # size of the largest default basis: 160 MB
BREAKDOWN = 1e-13


@dataclass(frozen=True, eq=False, repr=False)
class Dynamics:
    """Predicted outputs f(t) of a student at every time t. Call it with a time: ``dynamics(2.5)``.

    Attributes
    ----------
    problem : KernelProblem
        The student and its labels.
    poles : numpy.ndarray of shape (j,)
        Ritz values: the poles that this initialization excites; the extreme ones converge first.
    modes : numpy.ndarray of shape (j, n)
        Movement of f along each pole: f(t) = f(0) + Σ_j ψ_t(p_j) modes_j.
    remainder : float
        Relative size of the next Lanczos vector; 0 if the Krylov space is exhausted and f(t) is exact.
    unseen_modes : numpy.ndarray of shape (j, t) or None
        Movement of f along each pole on the unseen rows of the problem, if it has any.

    Examples
    --------
    >>> from softlabel.theory.dynamics import KernelProblem, kernel_dynamics
    >>> problem = KernelProblem.from_arrays(
    ...     x=[[1.0]], features=[[0.0]], slopes=[[1.0]], output=[1.0], privileged=[[0.0]], y=[1.0], strength=1.0)
    >>> dynamics = kernel_dynamics(problem)
    >>> dynamics
    <Dynamics: 1 units, 1 examples, λ = 1, 1 poles up to 2>
    >>> dynamics.descent(1, learning_rate=0.5)
    array([0.5])
    """

    problem: KernelProblem
    poles: np.ndarray
    modes: np.ndarray
    remainder: float
    unseen_modes: np.ndarray | None = None

    def __call__(self, times: float | Sequence[float] | None = None, *, unseen: bool = False) -> np.ndarray:
        """Outputs at these times: (n,) for one time, (times, n) for several; None is the limit t → ∞.

        With `unseen`, outputs on the unseen rows of the problem in place of those on its training rows.
        """
        if times is None:
            return self._at(lambda p: 1 / p, unseen)
        if np.ndim(times) == 0:
            time = float(times)  # type: ignore[arg-type]
            require(time >= 0, f"`time` must be ≥ 0, got {time}")
            return self._at(lambda p: -np.expm1(-p * time) / p, unseen)
        return np.stack([self(time, unseen=unseen) for time in times])  # type: ignore[union-attr]

    def descent(self, iterations: int, learning_rate: float, *, unseen: bool = False) -> np.ndarray:
        """Outputs (n,), or on the unseen rows (t,), after this many iterations of gradient descent on half the loss."""
        require(iterations >= 0, f"`iterations` must be ≥ 0, got {iterations}")
        require(learning_rate > 0, f"`learning_rate` must be positive, got {learning_rate}")
        return self._at(lambda p: _descended(p, iterations, learning_rate), unseen)

    def _at(self, weight: Callable[[np.ndarray], np.ndarray], unseen: bool) -> np.ndarray:
        initial = (self.problem.unseen_initial if unseen else self.problem.initial).numpy()
        modes = self.unseen_modes if unseen else self.modes
        moving = self.poles > BREAKDOWN * max(self.poles.max(), 1e-300)
        if modes is None or not moving.any():
            return initial.copy()
        return initial + weight(self.poles[moving]) @ modes[moving]

    def movement(self, iterations: int, learning_rate: float) -> np.ndarray:
        """(j,) length of the movement of f along each pole after this many iterations of gradient descent."""
        moving = self.poles > 0
        weights = np.zeros(len(self.poles))
        weights[moving] = np.abs(_descended(self.poles[moving], iterations, learning_rate))
        return weights * np.linalg.norm(self.modes, axis=1)

    @property
    def max_learning_rate(self) -> float:
        """2/λ_max: gradient descent diverges at larger learning rates."""
        return 2 / float(self.poles.max()) if self.poles.max() > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """The prediction as JSON values: sizes, poles in descending order, initial outputs and their limit."""
        return {
            "n": self.problem.n,
            "width": self.problem.units,
            "strength": None if self.problem.alone else self.problem.strength,
            "poles": np.sort(self.poles)[::-1].tolist(),
            "largest_step": self.max_learning_rate if math.isfinite(self.max_learning_rate) else None,
            "remainder": self.remainder,
            "initial": self(0.0).tolist(),
            "limit": self(None).tolist(),
        }

    def __repr__(self) -> str:
        return (
            f"<Dynamics: {self.problem.units} units, {self.problem.n} examples, λ = {self.problem.strength:g}, "
            f"{len(self.poles)} poles up to {self.poles.max():.4g}>"
        )


def _descended(poles: np.ndarray, iterations: int, learning_rate: float) -> np.ndarray:
    """ψ of gradient descent for positive poles."""
    return (1 - (1 - learning_rate * poles) ** iterations) / poles


def kernel_dynamics(problem: KernelProblem, vectors: int | None = None) -> Dynamics:
    """Predict the outputs of a student with privileged knowledge at all times, in the kernel regime.

    Parameters
    ----------
    problem : KernelProblem
        The student at initialization, its labels and its privileged knowledge.
    vectors : int, optional
        Largest number of Lanczos vectors; late times need the most. Default: 80 to 400, depending on memory.

    Returns
    -------
    Dynamics
        Call it with a time, a list of times, or None for the limit.

    See Also
    --------
    softlabel.theory.dynamics.exact_dynamics : the same from a dense eigenproblem, for small problems.

    Examples
    --------
    >>> import softlabel as sl
    >>> from softlabel.theory.dynamics import KernelProblem
    >>> problem = KernelProblem.from_arrays(
    ...     x=[[1.0, 0.0], [0.0, 1.0]], features=[[0.5, 0.5]], slopes=[[1.0, 1.0]], output=[1.0],
    ...     privileged=[[1.0, 0.0]], y=[1.0, -1.0], strength=1.0)
    >>> dynamics = sl.kernel_dynamics(problem)
    >>> dynamics(0.0)
    array([0.5, 0.5])
    >>> dynamics(None)
    array([ 1. , -0.5])
    """
    if vectors is None:
        fewest, most = VECTORS
        vectors = min(most, max(fewest, BASIS_NUMBERS // (problem.units * problem.n)))
    require(vectors >= 1, f"`vectors` must be ≥ 1, got {vectors}")
    b = problem.coupled(problem.residual, -0.5)
    size = float(torch.linalg.vector_norm(b))
    if size == 0:
        return Dynamics(problem, np.zeros(1), np.zeros((1, problem.n)), 0.0)
    space = lanczos(problem.compressed(), b / size, vectors)
    poles, rows = eigh_tridiagonal(space.diagonal, space.off)
    weights = (size * rows[0])[:, None]
    unseen_modes = None if space.unseen_moved is None else weights * (rows.T @ space.unseen_moved)
    modes = weights * (rows.T @ space.moved)
    return Dynamics(problem, np.maximum(poles, 0.0), modes, space.remainder, unseen_modes)


def exact_dynamics(problem: KernelProblem) -> Dynamics:
    """`kernel_dynamics` from a dense eigenproblem: all poles, exact at every time; for small problems."""
    poles, vectors = torch.linalg.eigh(problem.dense())
    b = problem.coupled(problem.residual, -0.5).reshape(-1)
    weights = vectors.t() @ b
    tables = vectors.t().reshape(-1, problem.units, problem.n)
    moved = torch.stack([problem.mix @ problem.gram(problem.coupled(table)) for table in tables])
    unseen_modes = None
    if problem.unseen is not None:
        unseen_moved = torch.stack([problem.unseen_movement(problem.coupled(table)) for table in tables])
        unseen_modes = (weights[:, None] * unseen_moved).numpy()
    return Dynamics(problem, poles.clamp_min(0).numpy(), (weights[:, None] * moved).numpy(), 0.0, unseen_modes)


def all_poles(problem: KernelProblem) -> np.ndarray:
    """Every pole, ascending, by a dense symmetric eigenproblem."""
    return torch.linalg.eigvalsh(problem.dense()).clamp_min(0).numpy()


def extreme_poles(problem: KernelProblem, count: int = 6) -> np.ndarray:
    """The largest poles, descending, by `scipy.sparse.linalg.eigsh`."""

    def product(v: Any) -> np.ndarray:
        table = torch.from_numpy(np.ascontiguousarray(v)).reshape(problem.units, -1)
        return problem.symmetric(table).reshape(-1).numpy()

    unknowns = problem.units * problem.n
    operator = LinearOperator((unknowns, unknowns), matvec=product, dtype="float64")  # pyright: ignore[reportCallIssue]
    v0 = np.random.default_rng(0).standard_normal(unknowns)
    values = eigsh(operator, k=min(count, unknowns - 1), which="LA", v0=v0, return_eigenvectors=False)
    return np.sort(np.maximum(values, 0))[::-1]


def pole_density(
    problem: KernelProblem, probes: int = 4, vectors: int = 60, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Poles and the share of all mn poles that each represents, by stochastic Lanczos quadrature."""
    rng = torch.Generator().manual_seed(seed)
    nodes, shares = [], []
    for _ in range(probes):
        probe = torch.randint(0, 2, (problem.units, problem.n), generator=rng).double() * 2 - 1
        space = lanczos(problem, probe / probe.norm(), vectors)
        values, rows = eigh_tridiagonal(space.diagonal, space.off)
        nodes.append(np.maximum(values, 0))
        shares.append(rows[0] ** 2 / probes)
    poles, share = np.concatenate(nodes), np.concatenate(shares)
    order = np.argsort(poles)
    return poles[order], share[order]


@dataclass(frozen=True, eq=False)
class Krylov:
    """A in a Krylov space: its tridiagonal matrix, and the movement of f (j, n) by D S^½ of each basis vector.

    `unseen_moved` is this movement on the unseen rows (j, t), if the problem has any.
    """

    diagonal: np.ndarray
    off: np.ndarray
    moved: np.ndarray
    remainder: float
    unseen_moved: np.ndarray | None


def lanczos(problem: KernelProblem, q: Tensor, vectors: int) -> Krylov:
    """The Krylov space of the unit vector q (m, n), fully reorthogonalized; smaller where it is exhausted."""
    count = min(vectors, problem.units * problem.n)
    basis = torch.empty(count, problem.units * problem.n, dtype=q.dtype)
    moved, unseen_moved, diagonal, off = [], [], [], []
    for j in range(count):
        basis[j] = q.reshape(-1)
        coupled = problem.coupled(q)
        pulled = problem.gram(coupled)
        moved.append(problem.mix @ pulled)
        if problem.unseen is not None:
            unseen_moved.append(problem.unseen_movement(coupled))
        w = problem.coupled(pulled).reshape(-1)
        diagonal.append(float(w @ basis[j]))
        for _ in range(2):  # two passes are enough
            w = w - basis[: j + 1].t() @ (basis[: j + 1] @ w)
        off.append(float(torch.linalg.vector_norm(w)))
        if off[-1] <= BREAKDOWN * max(abs(diagonal[0]), 1e-300):
            break
        q = (w / off[-1]).reshape(problem.units, problem.n)
    remainder = off[-1] / max(abs(diagonal[0]), 1e-300)
    unseen = torch.stack(unseen_moved).numpy() if unseen_moved else None
    return Krylov(np.array(diagonal), np.array(off[:-1]), torch.stack(moved).numpy(), remainder, unseen)
