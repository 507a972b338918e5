"""Search for the q and s of the teacher v = G_q/√(‖G_q‖² + s²).

The margin of a teacher is the smallest y_i z_i, at the point for which the sample that chose q is most optimistic, so
it depends on this sample even when γ* is known well. Therefore q minimizes the smoothed F on larger and larger samples,
as long as this helps and the limits allow, and the candidate with the largest estimated margin is taken. Nothing here
certifies, so directions need not be independent: a scrambled Sobol sequence covers the space more evenly. Its seeds
differ from those of the directions that certify.
"""

import math

import numpy as np
import torch
from scipy.stats import qmc
from torch import Tensor

from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin.fresh import ControlledMean, carrying
from softlabel.theory.margin.kernel_margin import labeled_product
from softlabel.theory.margin.limits import Limits, SearchStage
from softlabel.theory.margin.replicate import affordable_pairs, solve_teacher
from softlabel.theory.margin.sample import draw_pairs
from softlabel.theory.margin.teacher import TeacherField, observe_alignment

SMOOTHING = (1 / 4, 1 / 16)  # s as shares of the upper end of γ*
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


class TeacherSearch:
    """The best teacher so far: `q`, `smoothing`, and its estimated `margin` on the working set."""

    def __init__(
        self,
        rows: KernelRows,
        points: Tensor,
        y: np.ndarray,
        working: np.ndarray,
        limits: Limits,
        seeds: tuple[int, int],
    ) -> None:
        self.rows, self.points, self.y, self.working, self.limits = rows, points, y, working, limits
        self.seed_of_samples, seed = seeds
        self.near, self.signs = points[torch.from_numpy(working)], torch.from_numpy(y[working])
        operations = 12.0 * self.near.numel()
        looked_at = limits.affordable(LOOK, operations, lambda: operations / 1e10)
        self.pairs = _power_of_two(min(max(looked_at, CHOOSING[0]), CHOOSING[1]))
        self.directions = even_directions(self.pairs, points.shape[1], seed)
        self.q, self.smoothing, self.margin = np.zeros(len(y)), 0.0, -math.inf

    def consider(self, q: np.ndarray, smoothing: float, ended: SearchStage) -> None:
        """Keep q and s if their teacher has a larger estimated margin than the best so far."""
        if ended() and self.smoothing > 0:
            return
        mean = ControlledMean(labeled_product(self.rows, self.y, q, ended)[self.working])
        field = TeacherField(*carrying(self.points, self.y, q), smoothing)
        observe_alignment(field, InOrder(self.directions), self.near, self.signs, mean, self.pairs, ended)
        margin = float(mean.means()[0].min())
        if margin > self.margin:
            self.q, self.smoothing, self.margin = q, smoothing, margin

    def improve(self, initial: np.ndarray, pairs: int, upper: float) -> None:
        """Optimize q from `initial` on samples of `pairs` pairs of directions and more, each four times as large."""
        ended = self.limits.for_a_while(ENDS)
        most = min(LARGEST, affordable_pairs(self.points, self.y, self.working, initial, self.limits, EVALUATION))
        pairs, q, number = _power_of_two(min(pairs, most)), initial, 0
        while True:
            before = self.margin
            directions = even_directions(pairs, self.points.shape[1], self.seed_of_samples + number)
            for smoothing in (share * upper for share in SMOOTHING):
                q = solve_teacher(self.points, self.y, self.working, q, directions, smoothing, TOLERANCE, ended)
                self.consider(q, smoothing, ended)
                if ended():
                    return
            pairs, number = 4 * pairs, number + 1
            if pairs > most or 0 < self.margin < WORTHWHILE * before:
                return


def _power_of_two(number: float) -> int:
    return 1 << max(0, math.floor(math.log2(number)))
