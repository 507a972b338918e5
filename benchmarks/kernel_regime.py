"""Prediction against the dense non-symmetric route, and streamed kernel alignment against full centered kernels.

    python -m benchmarks.kernel_regime

Prediction: f(t) at twenty times for n·m = 4,000, from one Lanczos basis, against eigenvalues and eigenvectors of the
matrix H̄ of equation (13) by the general solver; both against the symmetric dense truth. Alignment: n = 5,000, seven
Gaussian kernels; the peer builds them from one matrix of
distances, centres all seven and solves the same non-negative least squares.
"""

import itertools
import time

import numpy as np
import scipy.linalg
import torch
from scipy.optimize import nnls

from benchmarks.measure import MemoryWatch, write
from softlabel.data import load
from softlabel.networks.privileged import PrivilegedStudent, draw_privileged_init, kernel_problem, unit_outputs
from softlabel.theory.alignment import align_kernels, gaussian_kernels
from softlabel.theory.dynamics import KernelProblem, exact_dynamics, kernel_dynamics

EXAMPLES, UNITS, ALIGNED, KERNELS = 100, 40, 5000, 7
TIMES = np.geomspace(0.1, 1000, 20)


def main() -> None:
    examples = load("cifar10", classes="airplane,automobile", scale="unit").full_train
    x, y = examples.scaled.astype(np.float64), examples.signs.astype(np.float64)
    write("kernel_regime", {"prediction": prediction(x[:EXAMPLES], y[:EXAMPLES]), "alignment": alignment(x, y)})


def prediction(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    hidden, output = draw_privileged_init(UNITS, x.shape[1], 1.0, 0)
    other, _ = draw_privileged_init(UNITS, x.shape[1], 1.0, 1)
    student = PrivilegedStudent(hidden, output, 0.5, unit_outputs(other, x, "softplus"), "softplus")
    problem = kernel_problem(student, x, y)
    kernel_dynamics(problem)(TIMES[:1].tolist())
    began = time.perf_counter()
    ours = kernel_dynamics(problem)(TIMES.tolist())
    fast = time.perf_counter() - began
    began = time.perf_counter()
    theirs = non_symmetric(problem)
    slow = time.perf_counter() - began
    truth = exact_dynamics(problem)(TIMES.tolist())
    errors = [float(np.abs(result - truth).max()) for result in (ours, theirs)]
    print(f"prediction, {EXAMPLES} examples × {UNITS} units, {len(TIMES)} times")
    print(f"  dense non-symmetric route over ours   {slow / fast:8.0f}×  (asked: ≥ 50)")
    print(f"  largest errors: ours {errors[0]:.1e}, theirs {errors[1]:.1e}")
    return {"ratio": slow / fast, "error": errors[0], "dense_error": errors[1]}


def non_symmetric(problem: KernelProblem) -> np.ndarray:
    """f(t) by the eigenvectors of H̄ itself, (times, n)."""
    m, n = problem.units, problem.n
    inner, mix, slopes = (problem.x @ problem.x.t()).numpy(), problem.mix.numpy(), problem.slopes.numpy()
    full = np.zeros((m * n, m * n))
    for k in range(m):
        h = np.outer(slopes[k], slopes[k]) * inner
        for other in range(m):
            factor = mix[k] * mix[other] + problem.strength * (k == other)
            full[k * n : (k + 1) * n, other * n : (other + 1) * n] = factor * h
    values, vectors = scipy.linalg.eig(full)
    y, knowledge = problem.y.numpy(), mix @ problem.privileged.numpy()
    final = (problem.a * y + problem.strength * knowledge) / (problem.a + problem.strength)
    units = np.outer(mix, y - final) / problem.strength + problem.privileged.numpy()
    parts = np.linalg.solve(vectors, (problem.features.numpy() - units).reshape(-1).astype(complex))
    return np.stack([
        final + mix @ (vectors @ (np.exp(-values * t) * parts)).real.reshape(m, n) for t in TIMES
    ])  # fmt: skip


def alignment(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    x, y = x[:ALIGNED], y[:ALIGNED]
    kernels = gaussian_kernels(x, KERNELS)
    align_kernels(x[:500], y[:500], kernels)
    with MemoryWatch() as memory:
        began = time.perf_counter()
        ours = align_kernels(x, y, kernels).weights
        fast = time.perf_counter() - began
    with MemoryWatch() as other:
        began = time.perf_counter()
        theirs = full_kernels(x, y, kernels)
        slow = time.perf_counter() - began
    ours, theirs = (np.asarray(w) / np.linalg.norm(w) for w in (ours, theirs))
    used = [watch.largest - watch.before for watch in (memory, other)]
    print(f"alignf, {len(x):,} examples, {KERNELS} Gaussian kernels")
    print(f"  full centered kernels over ours        {slow / fast:8.1f}×  (asked: ≥ 3)")
    print(f"  memory: ours {used[0]:.0f} MB (asked: < 1000), theirs {used[1]:.0f} MB")
    print(f"  largest difference of weights {np.abs(ours - theirs).max():.1e}")
    return {"ratio": slow / fast, "megabytes": used[0], "difference": float(np.abs(ours - theirs).max())}


def full_kernels(x: np.ndarray, y: np.ndarray, kernels) -> np.ndarray:
    """alignf's weights with every full kernel, by the definition."""
    stored, table = [], torch.from_numpy(x)
    squares = torch.cdist(table, table).square_()
    for kernel in kernels:
        k = kernel.of_squares(squares).numpy()
        rows = k.mean(0)
        stored.append(k - rows[None] - rows[:, None] + k.mean())
    gram = np.zeros((len(stored), len(stored)))
    for i, j in itertools.combinations_with_replacement(range(len(stored)), 2):
        gram[i, j] = gram[j, i] = float(np.vdot(stored[i], stored[j]))
    target = np.array([float(y @ (k @ y)) for k in stored])
    factor = np.linalg.cholesky(gram + 1e-12 * np.trace(gram) * np.eye(len(stored)))
    return nnls(factor.T, np.linalg.solve(factor, target))[0]


if __name__ == "__main__":
    main()
