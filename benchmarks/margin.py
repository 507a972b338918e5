"""The margin on one sample of directions: L-BFGS-B against a cone program (cvxpy with Clarabel), at equal accuracy.

digits, label > 4, unit norm, 200 points; M directions in pairs ±z, the same for both. Both are asked for the optimum
to 1e-6, relative. Clarabel takes the largest M of the list that it solves within its time; both with and without what
cvxpy takes to hand the problem over.

    python -m benchmarks.margin [SECONDS]
"""

import sys
import time

import cvxpy as cp
import numpy as np
import torch
from sklearn.datasets import load_digits

from benchmarks.measure import alternate, write
from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin import kernel_margin
from softlabel.theory.margin.sample import SampleProblem, SampleSolution, solve_sample

POINTS, DIRECTIONS, ACCURACY, PATIENCE = 200, (1000, 500, 250, 100), 1e-6, 180.0


def digits() -> tuple[np.ndarray, np.ndarray]:
    data = load_digits()
    chosen = np.random.default_rng(0).permutation(len(data.data))[:POINTS]
    x = data.data[chosen]
    return x / np.linalg.norm(x, axis=1, keepdims=True), np.where(data.target[chosen] > 4, 1.0, -1.0)


class Descent:
    """From the data to the sample's optimum; the warm start from γ_1 is part of it."""

    def __init__(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
        self.x, self.y, self.z = x, y, z
        self.solution: SampleSolution | None = None

    def solve(self) -> None:
        start = kernel_margin(KernelRows.from_inputs(self.x, torch.float64), self.y).q
        problem = SampleProblem(*map(torch.from_numpy, (self.x, self.y, self.z)))
        self.solution = solve_sample(problem, start, tolerance=ACCURACY, evaluations=5000)


class Cone:
    """min mean ‖G_q(z)‖ over the simplex, a second-order cone for every direction."""

    def __init__(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, patience: float) -> None:
        self.x, self.y, self.patience = x, y, patience
        self.z = np.concatenate([z, -z])
        self.value, self.solver_seconds = float("nan"), float("inf")

    def solve(self) -> None:
        q = cp.Variable(len(self.x), nonneg=True)
        active = (self.z @ self.x.T > 0).astype(np.float64)
        g = active @ (cp.diag(q) @ (self.x * self.y[:, None]))
        problem = cp.Problem(cp.Minimize(cp.sum(cp.norm(g, 2, axis=1)) / len(self.z)), [cp.sum(q) == 1])
        problem.solve(
            solver=cp.CLARABEL,
            tol_gap_rel=ACCURACY,
            tol_gap_abs=ACCURACY / 100,
            tol_feas=ACCURACY / 100,
            time_limit=self.patience,
        )
        if problem.status != cp.OPTIMAL:
            raise TimeoutError(problem.status)
        self.value = float(problem.value)
        self.solver_seconds = min(self.solver_seconds, problem.solver_stats.solve_time)


def largest_for_the_cone(x: np.ndarray, y: np.ndarray, patience: float) -> tuple[int, np.ndarray, Cone]:
    """The most directions that Clarabel solves within its time."""
    for count in DIRECTIONS:
        z = np.random.default_rng(1).standard_normal((count // 2, x.shape[1]))
        cone = Cone(x, y, z, patience)
        began = time.perf_counter()
        try:
            cone.solve()
        except (TimeoutError, cp.SolverError) as reason:
            print(f"Clarabel, {count} directions: {reason} after {time.perf_counter() - began:.0f} s", flush=True)
            continue
        return count, z, cone
    raise RuntimeError("Clarabel solved none of the samples in its time")


def main() -> None:
    patience = float(sys.argv[1]) if len(sys.argv) > 1 else PATIENCE
    x, y = digits()
    count, z, cone = largest_for_the_cone(x, y, patience)
    descent = Descent(x, y, z)
    best = alternate({"softlabel": descent.solve, "clarabel": cone.solve}, rounds=3)
    assert descent.solution is not None
    result: dict[str, object] = {
        "points": len(x),
        "directions": count,
        "directions_asked": DIRECTIONS[0],
        "threads": torch.get_num_threads(),
        "over_cone_program": best["clarabel"] / best["softlabel"],
        "over_clarabel_alone": cone.solver_seconds / best["softlabel"],
        "optimum": descent.solution.upper,
        "optimum_of_cone_program": cone.value,
        "relative_difference": abs(descent.solution.upper - cone.value) / cone.value,
        "certified_gap": 1 - descent.solution.lower / descent.solution.upper,
        "seconds": best,
    }
    report(result)
    write("margin", result)


def report(result: dict) -> None:
    print(f"margin of {result['points']} points on {result['directions']} directions, {result['threads']} threads")
    print(f"  over cvxpy with Clarabel   {result['over_cone_program']:8.0f}×   (asked: 100)")
    print(f"  over Clarabel alone        {result['over_clarabel_alone']:8.0f}×")
    print(f"  optima differ, relative    {result['relative_difference']:8.0e}    (asked: 1e-06)")
    print(f"  certified gap, relative    {result['certified_gap']:8.0e}    (asked: 1e-06)")


if __name__ == "__main__":
    main()
