"""γ*, the separation margin of a labelled data set, as a certified interval.

    γ* = max_v min_i y_i E⟨v(z), φ_i(z)⟩ over ‖v(z)‖ ≤ 1       (Mandal, Assumption 1: the largest γ it allows)

From above, F(q_0) on fresh directions for a fixed q_0, and γ_1, and half the smallest norm. From below, the
deterministic floor, and samples of directions: the margin γ_M of a sample has E[γ_M] ≤ γ* (Mak, Morton and Wood), so

    γ* ≥ F(q_0) − E[F_M(q_0) − γ_M],

where the gap in brackets varies little from sample to sample. The teacher v that goes with the q and s found has a
margin of its own, γ(v) ≤ γ*, bounded from below on fresh directions: the theorems speak of that one.

Levels double the sample until the interval is as narrow as asked, or a limit is reached. Of the failure probability δ,
level k may use (2δ/3)/2^k in its three statements and the teacher δ/3, so all statements together hold with
probability at least 1 − δ. Samples are solved in float32; every number that certifies is computed in float64, with what
rounding can do taken off.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import t as student_t
from torch import Tensor

from softlabel.errors import InputError, require
from softlabel.ranges import check_seed
from softlabel.theory.kernel import Rows
from softlabel.theory.margin.fresh import Directions, Field, carrying, mean_norm
from softlabel.theory.margin.kernel_margin import KernelMargin, bracket_low, kernel_margin, labelled_product
from softlabel.theory.margin.limits import Limits, Stage
from softlabel.theory.margin.replicate import Replicate, affordable_pairs, solve_replicate
from softlabel.theory.margin.rounding import Rounding
from softlabel.theory.margin.sample import SampleProblem, draw_pairs, solve_sample
from softlabel.theory.margin.teacher import TeacherField, teacher_margin
from softlabel.theory.margin.teacher_search import SMOOTHING, TeacherSearch
from softlabel.theory.margin.zero import ZeroMargin, find_zero_margin

REPLICATES = 6
FEWEST = 3
POLISH = 8
PAIRS = (256, 65536)
NUMBERS_A_POINT = 500  # of a first sample, 2·pairs·d, for each point that may carry q
LEAST_NUMBERS_A_POINT = 45  # with fewer, ever more points carry q and a smaller sample takes longer
MOST = {"budget": 1e9, "work_limit": 1e24}  # seconds, floating-point operations
LARGE = 5000  # from here on γ_1 is solved in float32

WORK_LIMIT = 1e13  # floating-point operations, where no limit is given: minutes on a few cores
# Shares of the limits at which a stage ends; the rest is for what a stage cannot interrupt.
KERNEL_ENDS, SAMPLES_END, CHOICE_ENDS, TEACHER_ENDS = 0.4, 0.75, 0.8, 0.9
FIRST_SAMPLE = 1.5e-4  # share of the limits that one evaluation of a sample, of hundreds, may take

ASYMPTOTIC = (
    "Student's t for the mean gap of the samples, in the lower end of γ*; means over fresh directions have empirical "
    "Bernstein bounds, which hold at any number of draws; the floor and γ_1 involve no sampling"
)


@dataclass(frozen=True)
class Progress:
    """Where the computation stands, for whoever watches."""

    seconds: float
    stage: str
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Margin:
    """What is known about γ* of a data set, and the teacher that goes with it.

    lower, upper        γ* lies between, with probability ≥ confidence
    floor               ≤ γ*, no sampling involved
    kernel              γ_1 (γ_1² ≤ γ* ≤ γ_1), as an interval that numerical optimisation leaves
    teacher_lower       ≤ γ(v) of the teacher found, with probability ≥ confidence; not above 0: it is not known
                        to fit every point
    q, smoothing        the teacher: v(z) = G_q(z)/√(‖G_q(z)‖² + s²), q (n,) in the simplex and s > 0
    teacher_margins     (n,) y_i z_i of every point as estimated, with `teacher_errors`
    zero                why γ* = 0, where it is
    operations          floating-point operations counted
    limited_by          which limit the search had: "work" (then the result is the same on every repetition), "time" or
                        "work and time"
    """

    n: int
    d: int
    lower: float
    upper: float
    confidence: float
    floor: float
    kernel: tuple[float, float]
    teacher_lower: float
    q: np.ndarray
    smoothing: float
    teacher_margins: np.ndarray
    teacher_errors: np.ndarray
    seconds: float
    operations: float
    limited_by: str
    zero: ZeroMargin | None = None
    history: tuple[Progress, ...] = ()
    asymptotic: str = ASYMPTOTIC

    @property
    def relative_width(self) -> float:
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0


def margin(
    inputs: Any,
    y: Any,
    *,
    width: float = 0.05,
    budget: float | None = None,
    work_limit: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    watch: Callable[[Progress], None] | None = None,
) -> Margin:
    """Compute γ* of inputs (n, d) with ‖x‖ ≤ 1 and labels y = ±1.

    width       relative width of the interval at which to stop
    work_limit  floating-point operations after which to stop with what there is; the result is then the same on every
                repetition (for the same data, settings, seed and number of threads). Default: 1e13, unless `budget`
                is given
    budget      seconds after which to stop with what there is; the result then depends on the machine
    watch       called with the interval as it narrows
    """
    x, y = _checked(inputs, y)
    require(0 < width < 1, f"width must lie in (0, 1), got {width}")
    require(0.5 <= confidence < 1, f"confidence must lie in [0.5, 1), got {confidence}")
    check_seed(seed)
    for name, limit, least in (("budget", budget, 1), ("work_limit", work_limit, 1e6)):
        most = MOST[name]
        require(limit is None or least <= limit <= most, f"{name} must lie between {least:g} and {most:g}, got {limit}")
    if budget is None and work_limit is None:
        work_limit = WORK_LIMIT
    limits = Limits(work=math.inf if work_limit is None else work_limit, seconds=math.inf if budget is None else budget)
    search = _Search(x, y, limits, 1 - confidence, seed, watch)
    return search.run(width)


class _Search:
    """One computation of a margin."""

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        limits: Limits,
        failure: float,
        seed: int,
        watch: Callable[[Progress], None] | None,
    ) -> None:
        self.x, self.y, self.limits, self.failure, self.seed, self.watch = x, y, limits, failure, seed, watch
        norms = np.linalg.norm(x, axis=1)
        self.lower, self.upper = 0.0, float(norms.min()) / 2
        self.history: list[Progress] = []
        self.samples_drawn = 0
        self.rounding = Rounding(len(x), x.shape[1], float(norms.max()))

    def run(self, width: float) -> Margin:
        zero = find_zero_margin(self.x, self.y)
        if zero is not None:
            return self._zero(zero)
        rows = Rows.of(self.x, torch.float64)
        kernel = self._kernel(rows)
        points = rows.directions * rows.norms[:, None]
        fresh = Directions(points.shape[1], _seed(self.seed, 1))
        working = self._working(kernel)
        ended = self.limits.until(SAMPLES_END)
        pairs = self._first_pairs(points, working, kernel.q)
        tolerance = width / 12 if len(self.x) <= LARGE else width / 2.5
        q = kernel.q
        for level in itertools.count(1):
            failure = 2 * self.failure / 3 / 2**level / 3  # of each of this level's three statements
            field = Field(*carrying(points, self.y, q))
            bound = mean_norm(field, fresh, rounding=self.rounding, failure=failure, precision=width / 5, stop=ended)
            self._tighten(upper=bound.upper)
            samples = self._samples(points, working, q, pairs, tolerance, ended)
            if samples:
                q = np.mean([sample.q for sample in samples], axis=0)
            if len(samples) >= FEWEST:
                gap = _mean_upper([sample.gap for sample in samples], failure)
                self._tighten(lower=bound.lower - gap - self.rounding.sample(len(self.x), 2 * pairs))
            self._say(f"{len(samples)} samples of {2 * pairs:,} directions")
            if self.upper - self.lower <= width * self.upper or len(samples) < REPLICATES or ended():
                break
            pairs *= 2
        self._say("teacher")
        teacher = self._teacher(rows, points, working, kernel, q, pairs)
        self._say("margin of the teacher")
        teacher_lower, margins, errors = teacher_margin(
            TeacherField(*carrying(points, self.y, teacher.q), teacher.smoothing),
            Directions(points.shape[1], _seed(self.seed, 10**6 + 2)),
            points,
            self.y,
            rounding=self.rounding,
            failure=self.failure / 3,
            precision=width,
            stop=self.limits.for_a_while(TEACHER_ENDS),
        )
        self._tighten(lower=max(teacher_lower, kernel.floor))
        return self._result(kernel, teacher, teacher_lower, margins, errors)

    def _kernel(self, rows: Rows) -> KernelMargin:
        self._say("γ_1")
        ended, single = self.limits.until(KERNEL_ENDS), len(rows) > LARGE
        found = kernel_margin(
            Rows(rows.directions.float(), rows.norms.float()) if single else rows,
            self.y,
            stop=ended,
            report=lambda message: self._say(message),
        )
        if single:  # the bracket itself is computed without float32's rounding
            functional = labelled_product(rows, self.y, found.q, ended)
            upper = math.sqrt(max(0.0, float(found.q @ functional)))
            found = KernelMargin(found.q, functional, bracket_low(functional, upper), upper)
        self._tighten(lower=found.floor, upper=found.upper)
        self._say("γ_1 known")
        return found

    def _working(self, kernel: KernelMargin) -> np.ndarray:
        """Points that may carry q: those that do for γ_1, and those near its margin."""
        near = np.argsort(kernel.functional)[: max(300, int(1.3 * np.count_nonzero(kernel.q)))]
        return np.union1d(np.flatnonzero(kernel.q), near)

    def _first_pairs(self, points: Tensor, working: np.ndarray, q: np.ndarray) -> int:
        """Pairs of the first samples: as many as the points call for and the limits allow."""
        least, most = (
            numbers * len(working) // (2 * points.shape[1]) for numbers in (LEAST_NUMBERS_A_POINT, NUMBERS_A_POINT)
        )
        most = min(max(PAIRS[0], most), PAIRS[1])
        return max(min(most, self._affordable(points, working, q, FIRST_SAMPLE)), min(least, PAIRS[1]))

    def _affordable(self, points: Tensor, working: np.ndarray, q: np.ndarray, share: float) -> int:
        """Pairs of directions with which one evaluation takes this share of the limits, or less."""
        return affordable_pairs(points, self.y, working, q, self.limits, share)

    def _samples(
        self,
        points: Tensor,
        working: np.ndarray,
        start: np.ndarray,
        pairs: int,
        tolerance: float,
        stop: Stage,
    ) -> list[Replicate]:
        """Independent samples of so many pairs, each solved from `start`; as many as the limits allow."""
        samples: list[Replicate] = []
        for _ in range(REPLICATES):
            if stop():
                break
            directions = draw_pairs(pairs, points.shape[1], _seed(self.seed, 2 + self.samples_drawn), points.dtype)
            self.samples_drawn += 1
            sample = solve_replicate(points, self.y, working, start, directions, tolerance, stop)
            if stop():  # cut short: its gap would say more about the limit than about the sample
                break
            samples.append(sample)
        return samples

    def _teacher(
        self, rows: Rows, points: Tensor, working: np.ndarray, kernel: KernelMargin, q: np.ndarray, pairs: int
    ) -> TeacherSearch:
        """The best teacher, on directions of its own: γ_1's q, the samples' mean q, and those of larger samples."""
        ended = self.limits.until(CHOICE_ENDS)
        seeds = _seed(self.seed, 10**6), _seed(self.seed, 10**6 + 1)
        search = TeacherSearch(rows, points, self.y, working, self.limits, seeds)
        for candidate in (kernel.q, q):
            for share in SMOOTHING:
                search.consider(candidate, share * self.upper, ended)
        if not ended():
            search.improve(q, POLISH * pairs, self.upper)
        return search

    def _tighten(self, lower: float | None = None, upper: float | None = None) -> None:
        if lower is not None:
            self.lower = max(self.lower, lower)
        if upper is not None:
            self.upper = min(self.upper, upper)

    def _say(self, stage: str) -> None:
        here = Progress(self.limits.elapsed, stage, self.lower, self.upper)
        self.history.append(here)
        if self.watch is not None:
            self.watch(here)

    def _zero(self, zero: ZeroMargin) -> Margin:
        n, d = self.x.shape
        nothing = np.zeros(n)
        return Margin(
            n, d, 0.0, 0.0, 1.0, 0.0, (0.0, 0.0), 0.0, nothing, 0.0, nothing, nothing,
            self.limits.elapsed, self.limits.spent, self.limits.kind, zero,
            asymptotic="nothing: γ* = 0 was decided exactly",
        )  # fmt: skip

    def _result(
        self,
        kernel: KernelMargin,
        teacher: TeacherSearch,
        teacher_lower: float,
        margins: np.ndarray,
        errors: np.ndarray,
    ) -> Margin:
        n, d = self.x.shape
        lower, upper = sorted((self.lower, self.upper))  # ends that crossed: one of them failed, as few do
        return Margin(
            n=n,
            d=d,
            lower=lower,
            upper=upper,
            confidence=1 - self.failure,
            floor=kernel.floor,
            kernel=(kernel.lower, kernel.upper),
            teacher_lower=teacher_lower,
            q=teacher.q,
            smoothing=teacher.smoothing,
            teacher_margins=margins,
            teacher_errors=errors,
            seconds=self.limits.elapsed,
            operations=self.limits.spent,
            limited_by=self.limits.kind,
            history=tuple(self.history),
        )


def start_margin(inputs: Any, y: Any, weights: Any) -> float:
    """γ_m of a student's own start: the margin with its directions (m, d) in place of the Gaussian (Lemma 6).

    Equal directions (the pairs of a symmetric start) count once.
    """
    x, y = _checked(inputs, y)
    directions = np.asarray(weights, dtype=np.float64)
    require(
        directions.ndim == 2 and len(directions) > 0 and directions.shape[1] == x.shape[1],
        f"weights must be directions of {x.shape[1]} numbers as the inputs, got shape {directions.shape}",
    )
    require(bool(np.isfinite(directions).all()), "weights must be finite")
    directions = np.unique(directions, axis=0)
    problem = SampleProblem(torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(directions), single=True)
    solution = solve_sample(problem, np.ones(len(x)), tolerance=1e-4, evaluations=3000)
    return max(0.0, solution.lower)


def _mean_upper(values: list[float], failure: float) -> float:
    """Upper end for the mean of independent values, by Student's t."""
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)) + float(student_t.isf(failure, len(values) - 1)) * spread


def _seed(seed: int, stream: int) -> int:
    """Seeds of independent streams."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1)[0])


def _checked(inputs: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    x = np.asarray(inputs, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    require(x.ndim == 2 and x.size > 0, f"inputs must be a table of rows and columns, got shape {x.shape}")
    if not np.isfinite(x).all():
        row = int(np.argwhere(~np.isfinite(x))[0][0])
        raise InputError(f"inputs: row {row} is not finite; remove or fill such values")
    require(y.shape == (len(x),), f"labels have shape {y.shape}, inputs have {len(x)} rows; they must match")
    require(bool(np.isin(y, (-1, 1)).all()), "labels must be −1 and +1; make a task of two classes (--task, --classes)")
    require(len(np.unique(y)) == 2, "labels have one class only; a margin needs two")
    largest = float(np.linalg.norm(x, axis=1).max())
    require(
        largest <= 1 + 1e-5,
        f"inputs must have norms ≤ 1, the largest is {largest:.4g}; scale them (--scale max or --scale unit)",
    )
    return x, y
