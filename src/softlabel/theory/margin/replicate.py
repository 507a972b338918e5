"""One sample of directions, solved for all points: its q, and its margin γ_M from below.

E[γ_M] ≤ γ* (Mak, Morton and Wood). Only points near the margin carry q, so the sample is solved on a working set,
to which violating points are added until none remain.

A sample is solved in float32, and its lower bound on γ_M is computed in float64 from the resulting q: any v of norm
≤ 1 bounds γ_M from below. Where float32 cannot distinguish G from 0, the direction of G is noise; a smoothing of that
size removes it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin.fresh import Field
from softlabel.theory.margin.kernel_margin import labeled_product
from softlabel.theory.margin.limits import Limits, SearchStage
from softlabel.theory.margin.metric import KernelMetric
from softlabel.theory.margin.sample import (
    ROUNDING,
    SampleProblem,
    draw_pairs,
    evaluation_operations,
    smoothed,
    solve_sample,
    solve_smoothed,
)

MetricOf = Callable[[np.ndarray], KernelMetric | None]

EVALUATIONS = 600
SOLVING = torch.float32
SAFE = 32  # times the least smoothing: float32 suffices to search
LEAST_SMOOTHING = ROUNDING * torch.finfo(SOLVING).eps
FEWEST_PAIRS = 64
BLOCK, DIRECTIONS = 8192, 2048  # points, and pairs of directions, of one product
MANY, SPARE = 5000, 1.4  # with more points in the working set, it has this many times those that carry q


@dataclass(frozen=True, eq=False)
class Replicate:
    """A solved sample: its q in the simplex, and an upper bound on F at the initial q minus the sample's margin."""

    q: np.ndarray
    gap: float


def solve_replicate(
    points: Tensor,
    y: np.ndarray,
    working: np.ndarray,
    initial: np.ndarray,
    directions: Tensor,
    tolerance: float,
    stop: SearchStage,
    metric_of: MetricOf = lambda chosen: None,
) -> Replicate:
    """Solve the sample of `directions` from `initial` (n,) until its bounds are tolerance·upper apart, or to the limit.

    points (n, d) and directions are float64. `metric_of` knows A of chosen points, or not.
    """
    signs = torch.from_numpy(y)
    chosen, inside = np.union1d(working, np.flatnonzero(initial)), initial
    carrying = torch.from_numpy(np.flatnonzero(initial))
    exact = SampleProblem(points[carrying], signs[carrying], directions, spend=stop.spend)
    initial_value = exact.evaluate(initial[carrying.numpy()]).value
    while True:
        problem = _part(points, signs, chosen, directions, stop, metric_of(chosen))
        solution = solve_sample(problem, inside[chosen], tolerance=tolerance, evaluations=EVALUATIONS, stop=stop)
        q, dual = np.zeros(len(points)), np.zeros(len(points))
        q[chosen], dual[chosen] = solution.q, solution.dual
        smoothing = max(solution.smoothing, LEAST_SMOOTHING)
        about = functional_everywhere(points, signs, directions, dual, smoothing, stop, SOLVING)
        violating = np.setdiff1d(np.flatnonzero(about < solution.lower), chosen)
        if len(violating) == 0 or about.min() >= solution.lower - tolerance * solution.upper or stop():
            lower = functional_everywhere(points, signs, directions, dual, smoothing, stop).min()
            return Replicate(q, initial_value - float(lower))
        chosen, inside = _next_working(chosen, violating, q, about), q


def _next_working(chosen: np.ndarray, violating: np.ndarray, q: np.ndarray, functional: np.ndarray) -> np.ndarray:
    """The chosen and the violating points; of many, those that carry q, those that violate, and those near."""
    both = np.union1d(chosen, violating)
    if len(both) < MANY:
        return both
    carrying = np.flatnonzero(q)
    near = np.argsort(functional)[: int(SPARE * len(carrying))]
    return np.union1d(np.union1d(carrying, violating), near)


def solve_teacher(
    rows: KernelRows,
    points: Tensor,
    y: np.ndarray,
    working: np.ndarray,
    initial: np.ndarray,
    directions: Tensor,
    smoothing: float,
    tolerance: float,
    stop: SearchStage,
    metric_of: MetricOf = lambda chosen: None,
) -> np.ndarray:
    """q (n,) that minimizes the smoothed F on the sample, to a gap of tolerance·F_s over all points or to the limit.

    In float64 unless s is large enough: rounding must stay well below s and γ, of which s is a part. Where `metric_of`
    knows A of the chosen points, F is corrected by the control variate, and violating points are sought in the kernel
    limit, without sampling.
    """
    signs = torch.from_numpy(y)
    dtype = SOLVING if smoothing >= SAFE * LEAST_SMOOTHING else points.dtype
    chosen, q = np.union1d(working, np.flatnonzero(initial)), initial
    while True:
        metric = metric_of(chosen)
        problem = _part(points, signs, chosen, directions, stop, metric, dtype, controlled=metric is not None)
        inner = solve_smoothed(problem, q[chosen], smoothing, tolerance=tolerance, evaluations=EVALUATIONS, stop=stop)
        q = np.zeros(len(points))
        q[chosen] = inner
        functional = (
            functional_everywhere(points, signs, directions, q, smoothing, stop)
            if metric is None
            else labeled_product(rows, y, q, stop)
        )
        violating = np.flatnonzero(functional < functional[chosen].min() - tolerance * float(q @ functional))
        if len(violating) == 0 or stop():
            return q
        chosen = np.union1d(chosen, violating)


def _part(
    points: Tensor,
    signs: Tensor,
    chosen: np.ndarray,
    directions: Tensor,
    stop: SearchStage,
    metric: KernelMetric | None = None,
    dtype: torch.dtype = SOLVING,
    controlled: bool = False,
) -> SampleProblem:
    """The sample problem of the chosen points, in the precision in which it is solved."""
    part = torch.from_numpy(chosen)
    return SampleProblem(
        points[part].to(dtype),
        signs[part].to(dtype),
        directions.to(dtype),
        spend=stop.spend,
        metric=metric,
        controlled=controlled,
    )


def functional_everywhere(
    points: Tensor,
    signs: Tensor,
    directions: Tensor,
    q: np.ndarray,
    smoothing: float,
    stop: SearchStage,
    dtype: torch.dtype = torch.float64,
) -> np.ndarray:
    """y_i E⟨v, φ_i⟩ on the sample for every point, in blocks of points and directions."""
    carried = np.flatnonzero(q)
    support, weights = torch.from_numpy(carried), torch.from_numpy(q[carried] / q.sum()) * signs[carried]
    field = Field(points[support].to(dtype), weights.to(dtype))
    stop.spend(len(directions) * (field.operations + 4.0 * points.numel() + 5 * len(points)))
    differences, opposite = [], torch.zeros(points.shape[1], dtype=dtype)
    for z in directions.split(DIRECTIONS):
        here, there = (smoothed(side, smoothing)[0] for side in field.both_ways(z.to(dtype)))
        differences.append(here - there)
        opposite += there.sum(0)
    total = np.zeros(len(points))
    for part in torch.arange(len(points)).split(BLOCK):
        x = points[part].to(dtype)
        pulled = opposite.expand(len(x), -1).clone()
        for z, difference in zip(directions.split(DIRECTIONS), differences, strict=True):
            pulled.addmm_((x @ z.to(dtype).t() > 0).to(dtype), difference)
        total[part.numpy()] = (signs[part] * (pulled * x).sum(1)).double().numpy()
    return total / (2 * len(directions))


def affordable_pairs(
    points: Tensor, y: np.ndarray, working: np.ndarray, q: np.ndarray, limits: Limits, share: float
) -> int:
    """How many pairs of directions one evaluation on the working set can have within this share of the limits."""
    chosen = np.union1d(working, np.flatnonzero(q))

    def measure() -> float:
        """Seconds of an evaluation with few pairs, as measured now."""
        directions = draw_pairs(FEWEST_PAIRS, points.shape[1], 0, points.dtype)
        problem = _part(points, torch.from_numpy(y), chosen, directions, limits.until(1.0))
        took = []
        for _ in range(3):
            began = time.perf_counter()
            problem.evaluate(q[chosen])
            took.append(time.perf_counter() - began)
        return min(took)

    operations = evaluation_operations(FEWEST_PAIRS, len(chosen), points.shape[1])
    return max(FEWEST_PAIRS, int(FEWEST_PAIRS * limits.affordable(share, operations, measure)))
