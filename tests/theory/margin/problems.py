"""Small labelled data sets, and slow ways to know their margins."""

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
    """(±s, 0, …) labelled +, (0, ±s, …) labelled −, all other coordinates ±s; norms 1.

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
