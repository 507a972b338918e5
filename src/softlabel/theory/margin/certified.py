"""γ*, the separation margin of a labeled data set, as a certified interval.

    γ* = max_v min_i y_i E⟨v(z), φ_i(z)⟩ over ‖v(z)‖ ≤ 1       (Mandal, Assumption 1: the largest γ it allows)

From above, F(q_0) on fresh directions for a fixed q_0, and γ_1, and half the smallest norm. From below, the
deterministic floor, and samples of directions: the margin γ_M of a sample has E[γ_M] ≤ γ* (Mak, Morton and Wood), so

    γ* ≥ F(q_0) − E[F_M(q_0) − γ_M],

where the gap in brackets varies little from sample to sample. Its mean has a Student interval, the one approximation
here. It would fail where ‖G‖ is long in rare directions alone, which no sample meets: so the samples count only if
together they have F_M(q_0) to `REPRESENTED`, by the exactly known E‖G‖². The margin γ(v) ≤ γ* of the teacher v, which
belongs to a q and an s, is bounded from below on fresh directions; it is the margin that the theorems use.

Levels double the sample until the interval meets `rtol`, or a limit is reached. Of the failure probability δ,
level k may use (2δ/3)/2^k in its three statements and the teacher δ/3, so all statements together hold with
probability at least 1 − δ. Samples are solved in float32; every number that certifies is computed in float64, and
bounds on its rounding error are subtracted.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.stats import t as student_t
from torch import Tensor

from softlabel.errors import require
from softlabel.ranges import check_seed
from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin.fresh import Directions, Field, carrying, mean_norm
from softlabel.theory.margin.kernel_margin import (
    KernelMargin,
    bracket_low,
    kernel_margin,
    labeled_product,
    squared_norm,
)
from softlabel.theory.margin.limits import Limits, SearchStage
from softlabel.theory.margin.metric import LastMetric
from softlabel.theory.margin.points import checked_points
from softlabel.theory.margin.replicate import Replicate, affordable_pairs, solve_replicate, solve_teacher
from softlabel.theory.margin.result import Margin, MarginProgress
from softlabel.theory.margin.rounding import UNIT_ROUNDOFF, Rounding
from softlabel.theory.margin.sample import draw_pairs
from softlabel.theory.margin.teacher import teacher_margin
from softlabel.theory.margin.teacher_search import (
    TEACHER_ENDS,
    TEACHER_TIMES,
    ChosenTeacher,
    TeacherSearch,
    smoothings_for,
)
from softlabel.theory.margin.zero import ZeroMargin, find_zero_margin

REPLICATES = 6
CROSSED = 1 + 1e-9  # ends that cross by less do so by rounding
REPRESENTED = 0.05  # relative standard error of F_M(q_0) over all samples, above which their gaps are not trusted
FEWEST = 3
POLISH = 8
PAIRS = (256, 65536)

# Size 2·pairs·d of a first sample, for each point that may carry q: least and most. With fewer numbers, more points
# carry q and a smaller sample takes longer; the kernel metric is near the curvature of large samples only.
NUMBERS_PER_POINT, WITH_METRIC = (45, 500), (200, 1000)
LARGE = 5000  # with more points, γ_1 is solved in float32

WORK_LIMIT = 1e13  # default, in floating-point operations: minutes on a few cores
# Shares of the limits at which the stages end; the rest is for work that cannot be interrupted.
KERNEL_ENDS, SAMPLES_END, CHOICE_ENDS = 0.4, 0.7, 0.75
# Share of the limits that one evaluation of a sample may take: one of hundreds, or of a dozen with the kernel metric.
FIRST_SAMPLE, FIRST_WITH_METRIC = 1.5e-4, 2e-3


def margin(
    inputs: Any,
    y: Any,
    *,
    rtol: float = 0.05,
    time_limit: float | None = None,
    work_limit: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[MarginProgress], None] | None = None,
) -> Margin:
    """Compute a certified interval for the separation margin γ* of a labeled data set.

    Parameters
    ----------
    inputs : array-like of shape (n, d)
        Examples with norms ‖x‖ ≤ 1.
    y : array-like of shape (n,)
        Labels −1 and +1.
    rtol : float
        Stop when the interval is at most `rtol` times its upper end long.
    time_limit : float, optional
        Time limit in seconds; the best interval so far is returned. The result then depends on the machine.
    work_limit : float, optional
        Limit on floating-point operations; the best interval so far is returned. Without a time limit, the result is
        reproducible for the same data, arguments and number of threads. Default: 1e13 if there is no time limit.
    confidence : float
        Confidence of the interval, from 0.5 to 1.
    seed : int
        Random seed.
    progress : callable, optional
        Called with a `MarginProgress` as the interval narrows.

    Returns
    -------
    Margin
        The interval `lower`, `upper`, and the kernel-limit teacher.

    Examples
    --------
    >>> from softlabel.theory.margin import margin
    >>> result = margin([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]], [1, -1, -1], work_limit=1e9)
    >>> 0 < result.lower <= result.upper <= 0.5
    True
    """
    x, y = checked_points(inputs, y)
    require(0 < rtol < 1, f"`rtol` must lie in (0, 1), got {rtol}")
    require(0.5 <= confidence < 1, f"`confidence` must lie in [0.5, 1), got {confidence}")
    check_seed(seed)
    if time_limit is None and work_limit is None:
        work_limit = WORK_LIMIT
    limits = Limits.from_arguments(work_limit, time_limit)
    return _Search(x, y, limits, 1 - confidence, seed, progress).run(rtol)


class _Search:
    """One computation of a margin."""

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        limits: Limits,
        failure: float,
        seed: int,
        progress: Callable[[MarginProgress], None] | None,
    ) -> None:
        self.x, self.y, self.limits, self.failure, self.seed, self.progress = x, y, limits, failure, seed, progress
        norms = np.linalg.norm(x, axis=1)
        self.lower, self.upper = 0.0, float(norms.min()) / 2 * (1 + 2 * x.shape[1] * UNIT_ROUNDOFF)
        self.history: list[MarginProgress] = []
        self.samples_drawn = 0
        self.replicates = REPLICATES if len(x) <= LARGE else FEWEST
        self.rounding = Rounding(len(x), x.shape[1], float(norms.max()))

    def run(self, rtol: float) -> Margin:
        zero = find_zero_margin(self.x, self.y)
        if zero is not None:
            return self._zero(zero)
        rows = KernelRows.from_inputs(self.x, torch.float64)
        kernel = self._kernel(rows)
        points = rows.directions * rows.norms[:, None]
        working = self._working(kernel)
        self._metric_of = LastMetric(rows, self.y, self.limits.until(1.0))
        q, pairs = self._levels(rows, points, working, kernel.q, rtol)
        self._report("teacher")
        search = self._teacher(rows, points, working, kernel, q, pairs)
        self._report("margin of the teacher")
        teacher_lower, margins, errors = teacher_margin(
            search.certificate(self.rounding),
            Directions(points.shape[1], _seed(self.seed, 10**6 + 2)),
            failure=self.failure / 3,
            precision=rtol,
            stop=self.limits.for_a_while(TEACHER_ENDS, TEACHER_TIMES),
        )
        self._tighten(lower=teacher_lower)
        self.certain = max(self.certain[0], teacher_lower), self.certain[1]
        assert search.best is not None
        return self._result(kernel, search.best, teacher_lower, margins, errors, rtol)

    def _levels(
        self, rows: KernelRows, points: Tensor, working: np.ndarray, q: np.ndarray, rtol: float
    ) -> tuple[np.ndarray, int]:
        """Tighten the interval on larger and larger samples, from `q`; returns the last q and number of pairs."""
        fresh = Directions(points.shape[1], _seed(self.seed, 1))
        ended = self.limits.until(SAMPLES_END)
        metric = self._metric_of(np.union1d(working, np.flatnonzero(q)))
        pairs = self._first_pairs(points, working, q, metric is not None)
        if metric is not None:
            self._report("first solution")
            directions = draw_pairs(pairs, points.shape[1], _seed(self.seed, 10**6 + 3), points.dtype)
            q = solve_teacher(
                rows, points, self.y, working, q, directions, self.upper / 16, rtol / 10, ended, self._metric_of
            )
        tolerance = rtol / 12 if len(self.x) <= LARGE else rtol / 5
        for level in itertools.count(1):
            failure = 2 * self.failure / 3 / 2**level / 3  # of each of this level's three statements
            field = Field(*carrying(points, self.y, q))
            square = squared_norm(rows, self.y, q, ended)
            bound = mean_norm(
                field,
                fresh,
                square=square,
                rounding=self.rounding,
                failure=failure,
                precision=rtol / 5,
                stop=ended,
            )
            self._tighten(upper=bound.upper)
            samples = self._samples(points, working, q, pairs, tolerance, ended)
            if samples:
                q = np.mean([sample.q for sample in samples], axis=0)
            if len(samples) >= FEWEST and _represented(square, bound.value, pairs * len(samples)):
                gap = _mean_upper([sample.gap for sample in samples], failure)
                self._tighten(lower=bound.lower - gap - self.rounding.sample(len(self.x), 2 * pairs))
            self._report(f"{len(samples)} samples of {2 * pairs:,} directions")
            if self.upper - self.lower <= rtol * self.upper or len(samples) < self.replicates or ended():
                break
            pairs *= 2
        return q, pairs

    def _kernel(self, rows: KernelRows) -> KernelMargin:
        self._report("γ_1")
        ended, single = self.limits.until(KERNEL_ENDS), len(rows) > LARGE
        solution = kernel_margin(
            KernelRows(rows.directions.float(), rows.norms.float()) if single else rows,
            self.y,
            stop=ended,
            report=self._report,
        )
        if single:  # the bracket itself is computed in float64
            functional = labeled_product(rows, self.y, solution.q, ended)
            upper = math.sqrt(max(0.0, float(solution.q @ functional)))
            solution = KernelMargin(solution.q, functional, bracket_low(functional, upper), upper)
        allowance = self.rounding.kernel(int(np.count_nonzero(solution.q)))
        self.floor = max(0.0, solution.floor - allowance)
        self._tighten(lower=self.floor, upper=math.sqrt(solution.upper**2 + allowance))
        self.certain = self.lower, self.upper
        self._report("γ_1 known")
        return solution

    def _working(self, kernel: KernelMargin) -> np.ndarray:
        """Points that may carry q: those that carry it for γ_1, and those near its margin."""
        near = np.argsort(kernel.functional)[: max(300, int(1.3 * np.count_nonzero(kernel.q)))]
        return np.union1d(np.flatnonzero(kernel.q), near)

    def _first_pairs(self, points: Tensor, working: np.ndarray, q: np.ndarray, metric: bool) -> int:
        """Pairs of the first samples, by the number of points and the limits."""
        numbers, share = (WITH_METRIC, FIRST_WITH_METRIC) if metric else (NUMBERS_PER_POINT, FIRST_SAMPLE)
        least, most = (number * len(working) // (2 * points.shape[1]) for number in numbers)
        most = min(max(PAIRS[0], most), PAIRS[1])
        affordable = affordable_pairs(points, self.y, working, q, self.limits, share)
        return max(min(most, affordable), min(least, PAIRS[1]))

    def _samples(
        self,
        points: Tensor,
        working: np.ndarray,
        initial: np.ndarray,
        pairs: int,
        tolerance: float,
        stop: SearchStage,
    ) -> list[Replicate]:
        """Independent samples of `pairs` pairs, each solved from `initial`; as many as the limits allow."""
        samples: list[Replicate] = []
        for _ in range(self.replicates):
            if stop():
                break
            directions = draw_pairs(pairs, points.shape[1], _seed(self.seed, 2 + self.samples_drawn), points.dtype)
            self.samples_drawn += 1
            sample = solve_replicate(points, self.y, working, initial, directions, tolerance, stop, self._metric_of)
            if stop():  # interrupted: its gap would reflect the limit, not the sample
                break
            samples.append(sample)
        return samples

    def _teacher(
        self, rows: KernelRows, points: Tensor, working: np.ndarray, kernel: KernelMargin, q: np.ndarray, pairs: int
    ) -> TeacherSearch:
        """The best teacher, chosen on separate directions: q of γ_1, the mean q of the samples, q of larger samples."""
        ended = self.limits.until(CHOICE_ENDS)
        seeds = _seed(self.seed, 10**6), _seed(self.seed, 10**6 + 1)
        search = TeacherSearch(rows, points, self.y, working, self.limits, seeds, self.failure / 3)
        for candidate in (kernel.q, q):
            search.consider(candidate, smoothings_for(self.upper), ended)
        if not ended():
            search.improve(q, POLISH * pairs, self.upper, self._metric_of)
        return search

    def _tighten(self, lower: float = 0.0, upper: float = math.inf) -> None:
        self.lower, self.upper = max(self.lower, lower), min(self.upper, upper)

    def _report(self, stage: str) -> None:
        here = MarginProgress(self.limits.elapsed, stage, self.lower, self.upper)
        self.history.append(here)
        if self.progress is not None:
            self.progress(here)

    def _zero(self, zero: ZeroMargin) -> Margin:
        n, d = self.x.shape
        nothing = np.zeros(n)
        return Margin(
            n, d, 0.0, 0.0, 1.0, 0.0, (0.0, 0.0), 0.0, nothing, 0.0, nothing, nothing,
            self.limits.elapsed, self.limits.spent, None, zero,
            asymptotic="nothing: γ* = 0 was decided by the directions of the points, up to angles of 1e-7",
        )  # fmt: skip

    def _result(
        self,
        kernel: KernelMargin,
        teacher: ChosenTeacher,
        teacher_lower: float,
        margins: np.ndarray,
        errors: np.ndarray,
        rtol: float,
    ) -> Margin:
        n, d = self.x.shape
        lower, upper = self.lower, self.upper
        if lower > upper * CROSSED:  # a statement failed, which is rare: what does not rest on samples remains
            lower, upper = self.certain
        lower, upper = sorted((lower, upper))
        return Margin(
            n=n,
            d=d,
            lower=lower,
            upper=upper,
            confidence=1 - self.failure,
            floor=self.floor,
            kernel=(kernel.lower, kernel.upper),
            teacher_lower=teacher_lower,
            q=teacher.q,
            smoothing=teacher.smoothing,
            teacher_margins=margins,
            teacher_errors=errors,
            seconds=self.limits.elapsed,
            operations=self.limits.spent,
            limited_by=None if upper - lower <= rtol * upper else self.limits.kind,
            history=tuple(self.history),
        )


def _represented(square: float, value: float, pairs: int) -> bool:
    """Whether samples of this many pairs have the mean F = `value` of ‖G‖, with E‖G‖² = `square`, well enough."""
    return value > 0 and square / value**2 - 1 <= REPRESENTED**2 * pairs


def _mean_upper(values: list[float], failure: float) -> float:
    """An upper confidence bound for the mean of independent values, by Student's t."""
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)) + float(student_t.isf(failure, len(values) - 1)) * spread


def _seed(seed: int, stream: int) -> int:
    """Seeds of independent streams."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1)[0])
