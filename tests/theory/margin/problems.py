"""Small labeled data sets, and slow ways to know their margins."""

import itertools

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_digits


def random_points(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = np.where(rng.random(n) > 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    return x / np.linalg.norm(x, axis=1).max(), y


def two_xor(d: int) -> tuple[np.ndarray, np.ndarray]:
    """(±s, 0, …) labeled +, (0, ±s, …) labeled −, all other coordinates ±s; norms 1.

    Its symmetries take every point to every other and labels to labels (all flipped or none), so F, convex and
    blind to them, is least at the uniform q: γ* = F(1/n).
    """
    s = 1 / np.sqrt(d - 1)
    heads = [(s, 0.0), (-s, 0.0), (0.0, s), (0.0, -s)]
    rows = [(*head, *rest) for rest in itertools.product((-s, s), repeat=d - 2) for head in heads]
    x = np.array(rows)
    return x, np.where(x[:, 1] == 0, 1.0, -1.0)


def digits(n: int | None = 200) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits, label > 4, unit norm."""
    data = load_digits()
    chosen = np.random.default_rng(0).permutation(len(data.data))[:n]
    x = data.data[chosen]
    return x / np.linalg.norm(x, axis=1, keepdims=True), np.where(data.target[chosen] > 4, 1.0, -1.0)


def norm_of_g(x: np.ndarray, y: np.ndarray, q: np.ndarray, z: np.ndarray) -> np.ndarray:
    """‖G_q(z)‖ for each direction, by the definition."""
    return np.linalg.norm((z @ x.T > 0) @ (x * (q * y)[:, None]), axis=1)


def cone_program(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray]:
    """The margin on directions z (M, d), and its q, by Clarabel: min mean‖G_q(z_k)‖ over the simplex."""
    q = cp.Variable(len(x), nonneg=True)
    active = (z @ x.T > 0).astype(float)
    rows = [cp.norm((x * (active[k] * y)[:, None]).T @ q, 2) for k in range(len(z))]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(rows)) / len(z)), [cp.sum(q) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value), np.asarray(q.value)


def arcs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In two dimensions: directions (arcs, 2) in the middles of the arcs on which no point changes side, and shares.

    An expectation over Gaussian directions of anything that depends on 1(z·x > 0) alone is a finite sum over them.
    """
    normals = np.arctan2(x[:, 1], x[:, 0])[:, None] + np.array([np.pi / 2, -np.pi / 2])
    ends = np.unique(np.mod(normals.ravel(), 2 * np.pi))
    lengths = np.diff(np.append(ends, ends[0] + 2 * np.pi))
    middles = ends + lengths / 2
    return np.column_stack([np.cos(middles), np.sin(middles)]), lengths / (2 * np.pi)


def exact_alignment(x: np.ndarray, others: np.ndarray, v) -> np.ndarray:
    """E⟨v(z), φ_x(z)⟩ for rows x in two dimensions, where v depends on the sides of `others` alone."""
    z, shares = arcs(np.concatenate([x, others]))
    return shares @ ((z @ x.T > 0) * (v(z) @ x.T))


def exact_margin(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """γ* in two dimensions and its q, by a cone program over the arcs."""
    z, shares = arcs(x)
    q = cp.Variable(len(x), nonneg=True)
    rows = [cp.norm((x * ((z[k] @ x.T > 0) * y)[:, None]).T @ q, 2) for k in range(len(z))]
    problem = cp.Problem(cp.Minimize(shares @ cp.hstack(rows)), [cp.sum(q) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value), np.asarray(q.value)


def plane_points(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Few points in the plane, random, on a grid of angles (features then depend on each other), or nearly parallel."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    kind = seed % 4
    if kind == 0:
        angles = rng.uniform(0, 2 * np.pi, n)
    elif kind == 1:  # right angles and their halves: G vanishes on whole arcs at the best q
        angles = rng.choice(8, n, replace=False) * np.pi / 4
    elif kind == 2:  # nearly so
        angles = rng.choice(8, n, replace=False) * np.pi / 4 + rng.normal(0, 1e-5, n)
    else:  # neighbors at small angles
        angles = np.repeat(rng.uniform(0, 2 * np.pi, n), 2)[:n] + np.tile([0.0, 0.02], n)[:n]
    y = np.where(rng.random(n) > 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    radii = rng.uniform(0.3, 1, n)
    return radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]), y
