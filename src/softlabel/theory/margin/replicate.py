"""One sample of directions, solved for all points: its q, and its margin γ_M from below.

E[γ_M] ≤ γ* (Mak, Morton and Wood). Only points near the margin carry q, so the sample is solved on a working set,
which violating points join until none is left.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.theory.margin.sample import SampleProblem, solve_sample

EVALUATIONS = 600


@dataclass(frozen=True, eq=False)
class Replicate:
    """A solved sample: its q in the simplex, and how far its margin is at most below F at the q it started from."""

    q: np.ndarray
    gap: float


def solve_replicate(
    points: Tensor,
    y: np.ndarray,
    working: np.ndarray,
    start: np.ndarray,
    directions: Tensor,
    tolerance: float,
    stop: Callable[[], bool],
) -> Replicate:
    """Solve the sample of `directions` from `start` (n,) until bounds are tolerance·upper apart, or time is up."""
    signs = torch.from_numpy(y).to(points.dtype)
    chosen, inside = np.union1d(working, np.flatnonzero(start)), start
    at_start: float | None = None
    while True:
        part = torch.from_numpy(chosen)
        problem = SampleProblem(points[part], signs[part], directions)
        if at_start is None:
            at_start, _ = problem.value_and_gradient(start[chosen])
        solution = solve_sample(problem, inside[chosen], tolerance=tolerance, evaluations=EVALUATIONS, stop=stop)
        q, dual = np.zeros(len(points)), np.zeros(len(points))
        q[chosen], dual[chosen] = solution.q, solution.dual
        functional = functional_everywhere(points, signs, directions, dual, solution.smoothing)
        lower = min(solution.lower, float(functional.min()))
        violating = np.setdiff1d(np.flatnonzero(functional < solution.lower), chosen)
        if len(violating) == 0 or lower >= solution.lower - tolerance * solution.upper or stop():
            return Replicate(q, at_start - lower)
        chosen, inside = np.union1d(chosen, violating), q


def functional_everywhere(
    points: Tensor, signs: Tensor, directions: Tensor, q: np.ndarray, smoothing: float
) -> np.ndarray:
    """y_i E⟨v, φ_i⟩ on the sample for every point, in blocks of points."""
    total = np.zeros(len(points))
    carried = np.flatnonzero(q)
    support = torch.from_numpy(carried)
    for part in _blocks(len(points)):
        joined = torch.cat([points[support], points[part]])
        labels = torch.cat([signs[support], signs[part]])
        weights = np.concatenate([q[carried], np.zeros(part.stop - part.start)])
        problem = SampleProblem(joined, labels, directions)
        total[part] = problem.evaluate(weights, smoothing).functional[len(carried) :]
    return total


def affordable_pairs(points: Tensor, y: np.ndarray, working: np.ndarray, q: np.ndarray, seconds: float) -> int:
    """How many pairs of directions one evaluation on the working set takes that many seconds with, as measured now."""
    few = 64
    part = torch.from_numpy(np.union1d(working, np.flatnonzero(q)))
    directions = torch.randn(few, points.shape[1], generator=torch.Generator().manual_seed(0), dtype=points.dtype)
    problem = SampleProblem(points[part], torch.from_numpy(y).to(points.dtype)[part], directions)
    took = []
    for _ in range(3):
        began = time.perf_counter()
        problem.evaluate(q[part.numpy()])
        took.append(time.perf_counter() - began)
    return max(few, int(few * seconds / min(took)))


def _blocks(count: int, size: int = 8192) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
