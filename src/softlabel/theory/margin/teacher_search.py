"""Search for the q and s of the teacher v = G_q/max(‖G_q‖, s).

The margin of a teacher is the smallest y_i z_i, at the point for which the sample that chose q is most optimistic, so
it depends on this sample even when γ* is known well. Therefore q minimizes the smoothed F on larger and larger samples,
as long as this helps and the limits allow. Taken is the candidate for which the largest margin may be certified with
what is left of the limits: a small s costs little margin, a large s is certified with fewer directions. Nothing here
certifies, so directions need not be independent: a scrambled Sobol sequence covers the space more evenly. Its seeds
differ from those of the directions that certify.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import qmc
from torch import Tensor

from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin.fresh import FIRST_LOOK, ControlledMean, Field, bernstein, carrying
from softlabel.theory.margin.kernel_margin import labeled_product
from softlabel.theory.margin.limits import Limits, SearchStage
from softlabel.theory.margin.replicate import MetricOf, affordable_pairs, solve_teacher
from softlabel.theory.margin.rounding import Rounding
from softlabel.theory.margin.sample import draw_pairs
from softlabel.theory.margin.teacher import (
    LENGTH_SHARE,
    KnownMeans,
    PlainBounds,
    RestBounds,
    TeacherBounds,
    TeacherField,
    cut_for,
    observe_alignment,
)

SMOOTHING = (1 / 4, 1 / 16)  # s as shares of the upper end of γ*
LARGE_SMOOTHING = (2.0, 1.5, 1.25, 1.0)
TEACHER_ENDS, TEACHER_TIMES = 0.9, 2.0  # share of the limits, and times the work before, of the certificate
CHOOSING = 4096, 65536  # pairs of directions that compare candidates, fewest and most
LARGEST = 1 << 19  # pairs of directions of a sample
TOLERANCE = 2e-3
WORTHWHILE = 1.02  # factor of improvement after which a larger sample is tried
# Shares of the limits: one evaluation of a sample, of a hundred; one look at a candidate; where the search ends.
EVALUATION, LOOK, ENDS = 1e-3, 1e-3, 0.82


class InOrder:
    """Fixed directions (pairs, columns), returned in blocks; each represents z and −z."""

    def __init__(self, directions: Tensor) -> None:
        self.all, self._drawn = directions, 0

    def draw(self, pairs: int) -> Tensor:
        """The next directions (pairs, columns)."""
        self._drawn += pairs
        return self.all[self._drawn - pairs : self._drawn]


def even_directions(pairs: int, columns: int, seed: int) -> Tensor:
    """Directions (pairs, columns) that cover the space evenly; `pairs` is a power of two."""
    if columns > qmc.Sobol.MAXDIM:
        return draw_pairs(pairs, columns, seed, torch.float64)
    engine = qmc.Sobol(columns, scramble=True, rng=np.random.default_rng(seed))
    normal = qmc.MultivariateNormalQMC(np.zeros(columns), engine=engine)
    return torch.from_numpy(np.ascontiguousarray(normal.random(pairs)))


@dataclass(frozen=True, eq=False)
class ChosenTeacher:
    """A q and an s, the margin that a certificate may prove for them, and which: by the rest, or plainly."""

    q: np.ndarray
    smoothing: float
    prospect: float
    by_rest: bool


class TeacherSearch:
    """The best teacher so far; `failure` is the failure probability of its certificate."""

    def __init__(
        self,
        rows: KernelRows,
        points: Tensor,
        y: np.ndarray,
        working: np.ndarray,
        limits: Limits,
        seeds: tuple[int, int],
        failure: float,
    ) -> None:
        self.rows, self.points, self.y, self.working, self.limits = rows, points, y, working, limits
        self.failure = failure
        self.seed_of_samples, seed = seeds
        operations = 12.0 * len(working) * points.shape[1]
        looked_at = limits.affordable(LOOK, operations, lambda: operations / 1e10)
        self.pairs = _power_of_two(min(max(looked_at, CHOOSING[0]), CHOOSING[1]))
        self.directions = even_directions(self.pairs, points.shape[1], seed)
        self.best: ChosenTeacher | None = None
        self._reaches: dict[float, float] = {}  # of plain certificates, for a point in the middle, by smoothing

    @property
    def prospect(self) -> float:
        """The margin that may be certified for the best teacher."""
        return -math.inf if self.best is None else self.best.prospect

    def consider(self, q: np.ndarray, smoothings: Sequence[float], ended: SearchStage) -> None:
        """Keep q and one of the smoothings if a larger margin may be certified for them than for the best so far."""
        if ended() and self.best is not None:
            return
        pull = labeled_product(self.rows, self.y, q, ended)
        near = np.union1d(self.working, np.argsort(pull)[: len(self.working)])
        x, signs = self.points[torch.from_numpy(near)], torch.from_numpy(self.y[near])
        field = Field(*carrying(self.points, self.y, q))
        means = {smoothing: ControlledMean(pull[near]) for smoothing in smoothings}
        spent, began = self.limits.spent, time.perf_counter()
        lengths = observe_alignment(field, InOrder(self.directions), x, signs, means, self.pairs, ended)
        speed = (time.perf_counter() - began) / (self.limits.spent - spent)
        left = self.limits.for_a_while(TEACHER_ENDS, TEACHER_TIMES).left(speed)
        norms = torch.linalg.vector_norm(x, dim=1).numpy()
        known = KnownMeans(pull[near], float(q @ pull))
        for smoothing, mean in means.items():
            prospect = _Prospect(field, known, norms, lengths, mean, smoothing, len(self.y), self.failure, left)
            reach = prospect.plain_reach()
            self._reaches[smoothing] = float(np.median(reach))
            for by_rest, value in ((False, prospect.smallest(reach)), (True, prospect.smallest(prospect.rest_reach()))):
                if self.best is None or value > self.prospect:
                    self.best = ChosenTeacher(q, smoothing, value, by_rest)

    def improve(self, initial: np.ndarray, pairs: int, upper: float, metric_of: MetricOf) -> None:
        """Optimize q from `initial` on samples of `pairs` pairs of directions and more, each four times as large."""
        ended = self.limits.for_a_while(ENDS)
        most = min(LARGEST, affordable_pairs(self.points, self.y, self.working, initial, self.limits, EVALUATION))
        pairs, q, number = _power_of_two(min(pairs, most)), initial, 0
        while True:
            before = self.prospect
            directions = even_directions(pairs, self.points.shape[1], self.seed_of_samples + number)
            for smoothing in self._promising(upper):
                q = solve_teacher(
                    self.rows, self.points, self.y, self.working, q, directions, smoothing, TOLERANCE, ended, metric_of
                )
                self.consider(q, smoothings_for(upper), ended)
                if ended():
                    return
            pairs, number = 4 * pairs, number + 1
            if pairs > most or 0 < self.prospect < WORTHWHILE * before:
                return

    def _promising(self, upper: float) -> Sequence[float]:
        """The smoothing of the best teacher so far, and small ones unless they are hopeless to certify."""
        small = [share * upper for share in SMOOTHING]
        hopeful = [one for one in small if self._reaches.get(one, 0.0) < upper / 2]
        best = [] if self.best is None or self.best.smoothing in hopeful else [self.best.smoothing]
        return [*best, *hopeful] or small

    def certificate(self, rounding: Rounding) -> TeacherBounds:
        """The certificate of the best teacher, for all points."""
        assert self.best is not None
        field = TeacherField(*carrying(self.points, self.y, self.best.q), self.best.smoothing)
        if not self.best.by_rest:
            return PlainBounds(field, self.points, self.y, rounding)
        pull = labeled_product(self.rows, self.y, self.best.q)
        return RestBounds(field, self.points, self.y, rounding, KnownMeans(pull, float(self.best.q @ pull)))


@dataclass(frozen=True, eq=False)
class _Prospect:
    """What a certificate may prove for one q and s with the operations that are left, from a few directions."""

    field: Field
    known: KnownMeans
    norms: np.ndarray
    lengths: Tensor
    mean: ControlledMean
    smoothing: float
    points: int
    failure: float
    left: float

    def plain_reach(self) -> np.ndarray:
        """How far y_i z_i may lie from its estimate by plain means."""
        columns = self.field.points.shape[1]
        count = self._count(self.field.operations + 6.0 * len(self.norms) * columns)
        return bernstein(self.mean.variances(0.0), self.norms, count, self._failure(count))

    def rest_reach(self) -> np.ndarray:
        """The same by the rest."""
        columns, s = self.field.points.shape[1], self.smoothing
        ratios = self.lengths / s
        share = float((ratios > 1).double().sum(0).mean())
        count = self._count(self.field.operations + 4.0 * share * self.points * columns)
        cut = cut_for(self.known.square, s)
        squares = ratios.square().clamp_max(cut**2).mean(0).numpy()
        failure = self._failure(count)
        beyond = max(self.known.square / s**2 - float(squares.mean()), 0.0) + float(
            bernstein(np.array([squares.var()]), np.array([cut**2]), count, LENGTH_SHARE * failure * self.points)[0]
        )
        means = bernstein(self.mean.variances(1 / s), (cut - 1) * self.norms, count, failure)
        reach: np.ndarray = means + self.norms * beyond / (2 * cut)
        return reach

    def _count(self, operations: float) -> float:
        """Pairs of directions: a look is complete at powers of two."""
        return float(_power_of_two(max(FIRST_LOOK, self.left / operations)))

    def _failure(self, count: float) -> float:
        looks = math.log2(count / FIRST_LOOK) + 1
        return float(self.failure / self.points / 2**looks)

    def smallest(self, reach: np.ndarray) -> float:
        """The smallest lower bound."""
        return float((self.mean.means()[0] - reach).min())


def smoothings_for(upper: float) -> list[float]:
    """Smoothings to consider: small ones, which cost little margin, and large ones, which are easy to certify."""
    return [share * upper for share in (*SMOOTHING, *LARGE_SMOOTHING)]


def _power_of_two(number: float) -> int:
    return 1 << max(0, math.floor(math.log2(number)))
