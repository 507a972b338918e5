"""γ*, the separation margin of a labelled data set, as a certified interval.

    γ* = max_v min_i y_i E⟨v(z), φ_i(z)⟩ over ‖v(z)‖ ≤ 1       (Mandal, Assumption 1: the largest γ it allows)

From above, F(q_0) on fresh directions for a fixed q_0, and γ_1, and half the smallest norm. From below, the
deterministic floor, and samples of directions: the margin γ_M of a sample has E[γ_M] ≤ γ* (Mak, Morton and Wood), so

    γ* ≥ F(q_0) − E[F_M(q_0) − γ_M],

where the gap in brackets varies little from sample to sample. The teacher v_q that goes with the q found has a
margin of its own, γ(v_q) ≤ γ*, bounded from below on fresh directions: the theorems speak of that one.

Levels double the sample until the interval is as narrow as asked, or time is up. Level k may fail with
probability δ/2^k, so the interval taken over all of them fails with probability at most δ.
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
from softlabel.theory.margin.clock import Clock
from softlabel.theory.margin.fresh import (
    ControlledMean,
    Directions,
    Field,
    mean_norm,
    observe_alignment,
    teacher_margin,
)
from softlabel.theory.margin.kernel_margin import KernelMargin, bracket_low, kernel_margin, labelled_product
from softlabel.theory.margin.replicate import Replicate, affordable_pairs, solve_replicate
from softlabel.theory.margin.sample import SampleProblem, draw_pairs, solve_sample
from softlabel.theory.margin.zero import ZeroMargin, find_zero_margin

REPLICATES = 6
FEWEST = 3
POLISH = 8
CHOOSING = 4096
PAIRS = (256, 65536)
NUMBERS_A_POINT = 500  # of a first sample, 2·pairs·d, for each point that may carry q
LEAST_NUMBERS_A_POINT = 45  # with fewer, ever more points carry q and a smaller sample takes longer
LONGEST = 1e9  # seconds
LARGE = 5000  # from here on float32 kernels and samples

# Shares of the budget at which a stage ends; the rest is for what a stage cannot interrupt.
KERNEL_ENDS, SAMPLES_END, POLISH_ENDS, CHOICE_ENDS, TEACHER_ENDS = 0.4, 0.75, 0.8, 0.84, 0.9
# Shares of the budget that one evaluation of a sample, of hundreds, may take.
FIRST_SAMPLE, POLISHING_SAMPLE = 1.5e-4, 1e-3

ASYMPTOTIC = (
    "normal approximation for means over fresh directions, Student's t for the mean gap of the samples; "
    "the floor and γ_1 involve no sampling"
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
    teacher_lower       ≤ γ(v_q) of the teacher found, with probability ≥ confidence; not above 0: it is not known
                        to fit every point
    q                   (n,) in the simplex: v_q(z) = G_q(z)/‖G_q(z)‖
    teacher_margins     (n,) y_i z_i of every point as estimated, with `teacher_errors`
    zero                why γ* = 0, where it is
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
    teacher_margins: np.ndarray
    teacher_errors: np.ndarray
    seconds: float
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
    budget: float = 300.0,
    confidence: float = 0.95,
    seed: int = 0,
    watch: Callable[[Progress], None] | None = None,
) -> Margin:
    """Compute γ* of inputs (n, d) with ‖x‖ ≤ 1 and labels y = ±1.

    width       relative width of the interval at which to stop
    budget      seconds after which to stop with what there is
    watch       called with the interval as it narrows
    """
    x, y = _checked(inputs, y)
    require(0 < width < 1, f"width must lie in (0, 1), got {width}")
    require(0.5 <= confidence < 1, f"confidence must lie in [0.5, 1), got {confidence}")
    require(1 <= budget <= LONGEST, f"budget must lie between 1 and {LONGEST:g} seconds, got {budget}")
    check_seed(seed)
    search = _Search(x, y, Clock(budget), 1 - confidence, seed, watch)
    return search.run(width)


class _Search:
    """One computation of a margin."""

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        clock: Clock,
        failure: float,
        seed: int,
        watch: Callable[[Progress], None] | None,
    ) -> None:
        self.x, self.y, self.clock, self.failure, self.seed, self.watch = x, y, clock, failure, seed, watch
        self.dtype = torch.float64 if len(x) <= LARGE else torch.float32
        self.lower, self.upper = 0.0, float(np.linalg.norm(x, axis=1).min()) / 2
        self.history: list[Progress] = []
        self.samples_drawn = 0
        self.rounding = 2 * torch.finfo(torch.float32).eps * float(np.linalg.norm(x, axis=1).max())

    def run(self, width: float) -> Margin:
        zero = find_zero_margin(self.x, self.y)
        if zero is not None:
            return self._zero(zero)
        kernel = self._kernel()
        rows = Rows.of(self.x, torch.float32)
        points = rows.directions * rows.norms[:, None]
        fresh = Directions(points.shape[1], _seed(self.seed, 1), points.dtype)
        working = self._working(kernel)
        out_of_time = self.clock.until(SAMPLES_END)
        pairs = self._first_pairs(points, working, kernel.q)
        tolerance = width / 12 if len(self.x) <= LARGE else width / 2.5
        q, functional = kernel.q, kernel.functional
        candidates = [(kernel.q, kernel.functional)]
        for level in itertools.count(1):
            failure = 2 * self.failure / 3 / 2**level / 3  # of each of this level's three statements
            field = Field.of(points, self.y, q)
            bound = mean_norm(field, fresh, float(q @ functional), precision=width / 50, stop=out_of_time)
            self._tighten(upper=bound.upper(failure) + self.rounding)
            samples = self._samples(points, working, q, pairs, tolerance, out_of_time)
            if samples:
                q = np.mean([sample.q for sample in samples], axis=0)
                functional = labelled_product(rows, self.y, q)
                between = ((q + kernel.q) / 2, (functional + kernel.functional) / 2)
                candidates[1:] = [(q, functional), between]
            if len(samples) >= FEWEST:
                gap = _mean_upper([sample.gap for sample in samples], failure)
                self._tighten(lower=bound.lower(failure) - gap - self.rounding)
            self._say(f"{len(samples)} samples of {2 * pairs:,} directions")
            if self.upper - self.lower <= width * self.upper or len(samples) < REPLICATES or out_of_time():
                break
            pairs *= 2
        if not out_of_time():
            self._say("a larger sample for the teacher")
            larger = min(POLISH * pairs, max(pairs, self._affordable(points, working, q, POLISHING_SAMPLE)))
            polished = self._polish(points, working, q, larger)
            candidates.append((polished, labelled_product(rows, self.y, polished)))
        q, functional = self._choose(candidates, points, working)
        self._say("margin of the teacher")
        teacher_lower, margins, errors = teacher_margin(
            Field.of(points, self.y, q),
            fresh,
            points,
            self.y,
            functional,
            failure=self.failure / 3,
            precision=width,
            stop=self.clock.for_a_while(TEACHER_ENDS),
        )
        teacher_lower -= self.rounding
        self._tighten(lower=max(teacher_lower, kernel.floor))
        return self._result(kernel, q, teacher_lower, margins, errors)

    def _kernel(self) -> KernelMargin:
        self._say("γ_1")
        found = kernel_margin(
            Rows.of(self.x, self.dtype),
            self.y,
            stop=self.clock.until(KERNEL_ENDS),
            report=lambda message: self._say(message),
        )
        if self.dtype == torch.float32:  # the bracket itself is computed without float32's rounding
            functional = labelled_product(Rows.of(self.x, torch.float64), self.y, found.q)
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
        """Pairs of the first samples: as many as the points call for and the budget allows."""
        least, most = (
            numbers * len(working) // (2 * points.shape[1]) for numbers in (LEAST_NUMBERS_A_POINT, NUMBERS_A_POINT)
        )
        most = min(max(PAIRS[0], most), PAIRS[1])
        return max(min(most, self._affordable(points, working, q, FIRST_SAMPLE)), min(least, PAIRS[1]))

    def _affordable(self, points: Tensor, working: np.ndarray, q: np.ndarray, share: float) -> int:
        """Pairs of directions with which one evaluation takes this share of the budget, or less."""
        return affordable_pairs(points, self.y, working, q, share * self.clock.budget)

    def _samples(
        self,
        points: Tensor,
        working: np.ndarray,
        start: np.ndarray,
        pairs: int,
        tolerance: float,
        stop: Callable[[], bool],
    ) -> list[Replicate]:
        """Independent samples of so many pairs, each solved from `start`; as many as there is time for."""
        samples: list[Replicate] = []
        for _ in range(REPLICATES):
            if stop():
                break
            directions = draw_pairs(pairs, points.shape[1], _seed(self.seed, 2 + self.samples_drawn), points.dtype)
            self.samples_drawn += 1
            sample = solve_replicate(points, self.y, working, start, directions, tolerance, stop)
            if stop():  # cut short: its gap would say more about the clock than about the sample
                break
            samples.append(sample)
        return samples

    def _polish(self, points: Tensor, working: np.ndarray, q: np.ndarray, pairs: int) -> np.ndarray:
        """A better q for the teacher: its margin suffers from the sample that chose it long after γ* is known."""
        stop = self.clock.for_a_while(POLISH_ENDS)
        directions = draw_pairs(pairs, points.shape[1], _seed(self.seed, 0), points.dtype)
        return solve_replicate(points, self.y, working, q, directions, 2e-3, stop).q

    def _choose(
        self, candidates: list[tuple[np.ndarray, np.ndarray]], points: Tensor, working: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The q (with its A q) whose teacher has the largest margin near the margin, on directions of their own."""
        near, signs = torch.from_numpy(working), torch.from_numpy(self.y[working]).to(points.dtype)
        out_of_time = self.clock.until(CHOICE_ENDS)
        best, largest = candidates[-1], -math.inf
        for q, functional in reversed(candidates):  # the latest is the likeliest
            if out_of_time():
                break
            mean = ControlledMean(functional[working])
            draws = Directions(points.shape[1], _seed(self.seed, 10**6), points.dtype)
            observe_alignment(Field.of(points, self.y, q), draws, points[near], signs, mean, CHOOSING, out_of_time)
            margin = float(mean.means()[0].min())
            if margin > largest:
                best, largest = (q, functional), margin
        return best

    def _tighten(self, lower: float | None = None, upper: float | None = None) -> None:
        if lower is not None:
            self.lower = max(self.lower, lower)
        if upper is not None:
            self.upper = min(self.upper, upper)

    def _say(self, stage: str) -> None:
        here = Progress(self.clock.seconds, stage, self.lower, self.upper)
        self.history.append(here)
        if self.watch is not None:
            self.watch(here)

    def _zero(self, zero: ZeroMargin) -> Margin:
        n, d = self.x.shape
        nothing = np.zeros(n)
        return Margin(
            n, d, 0.0, 0.0, 1.0, 0.0, (0.0, 0.0), 0.0, nothing, nothing, nothing, self.clock.seconds, zero,
            asymptotic="nothing: γ* = 0 was decided exactly",
        )  # fmt: skip

    def _result(
        self, kernel: KernelMargin, q: np.ndarray, teacher_lower: float, margins: np.ndarray, errors: np.ndarray
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
            q=q,
            teacher_margins=margins,
            teacher_errors=errors,
            seconds=self.clock.seconds,
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
