"""Means over fresh directions, which are independent of q, and bounds on F(q) = E‖G_q‖ ≥ γ*.

Certificates use means with bounds that hold at any number of draws (`BoundedMean`). Estimates are sharper with a
control variate whose mean K_1 gives exactly (`ControlledMean`); their standard errors are asymptotic.
Everything is computed in float64.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.theory.margin.limits import ROW, UNLIMITED, SearchStage
from softlabel.theory.margin.rounding import UNIT_ROUNDOFF, Rounding

BLOCK_NUMBERS = 1 << 22
FIRST_LOOK = 1024  # pairs of directions before the first look at a bound
CUT = 3.0  # where ‖G‖ is cut, in units of its root mean square
LEAST_VARIATION = 1e-3  # of a control variate; with less variation, its slope could be rounding noise


class Field:
    """G(z) = Σ_s weight_s x_s 1(z·x_s > 0) for points that carry weights q_s y_s."""

    def __init__(self, points: Tensor, weights: Tensor) -> None:
        self.points = points
        self.weighted = points * weights[:, None]
        self.total = self.weighted.sum(0)

    def both_ways(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """G(z) and G(−z) for directions z (…, d)."""
        here = (torch.mm(z, self.points.t()) > 0).to(z.dtype) @ self.weighted
        return here, self.total - here

    @property
    def operations(self) -> float:
        """Floating-point operations for one pair of directions."""
        return 4.0 * self.points.numel() + 5 * len(self.points) + 20 * self.points.shape[1] + ROW


def carrying(x: Tensor, y: np.ndarray, q: np.ndarray) -> tuple[Tensor, Tensor]:
    """The points (s, d) with q > 0 of all points (n, d), and their weights q_s y_s."""
    chosen = np.flatnonzero(q)
    return x[torch.from_numpy(chosen)], torch.from_numpy(q[chosen] * y[chosen])


class Directions:
    """Gaussian directions, drawn in blocks from one seed; each represents z and −z."""

    def __init__(self, columns: int, seed: int) -> None:
        self.columns = columns
        self._generator = torch.Generator().manual_seed(seed)

    def draw(self, pairs: int) -> Tensor:
        return torch.randn(pairs, self.columns, generator=self._generator, dtype=torch.float64)


class ControlledMean:
    """Running means, one for each column, of values with control variates of known mean."""

    def __init__(self, controls_mean: np.ndarray) -> None:
        self.known = controls_mean
        self.count = 0
        self._sums = np.zeros((5, len(controls_mean)))

    def add(self, values: Tensor, controls: Tensor) -> None:
        """Rows are independent draws, columns the quantities."""
        v, c = values.double(), controls.double() - torch.from_numpy(self.known)
        self._sums += torch.stack([v.sum(0), c.sum(0), (v * v).sum(0), (c * c).sum(0), (v * c).sum(0)]).numpy()
        self.count += len(values)

    def variances(self, slope: float) -> np.ndarray:
        """Variances of the values minus `slope` times the controls."""
        v, c, vv, cc, vc = self._sums / self.count
        return np.maximum(vv - v * v + slope**2 * (cc - c * c) - 2 * slope * (vc - v * c), 0)

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Estimates and their standard errors."""
        v, c, vv, cc, vc = self._sums / self.count
        var_v, var_c, cov = vv - v * v, cc - c * c, vc - v * c
        size = cc + 2 * self.known * c + self.known**2  # mean square of the control itself
        varies = var_c > LEAST_VARIATION**2 * size
        slope = np.divide(cov, var_c, out=np.zeros_like(cov), where=varies)
        variance = np.maximum(var_v - slope * cov, 0)
        return v - slope * c, np.sqrt(variance / max(1, self.count - 2))


class BoundedMean:
    """Running means of columns of values that lie in an interval of length `span`, with bounds that hold at any count.

    Empirical Bernstein inequality (Maurer and Pontil 2009, Theorem 4): with N independent draws, sample variance V and
    L = ln(2/δ), each of the following fails with probability at most δ,

        E X ≤ X̄ + h,    E X ≥ X̄ − h,    h = √(2VL/N) + 7·span·L/(3(N−1)).

    A normal approximation would be narrower, and invalid for rare events: if points nearly cancel, a small margin can
    come from a set of directions that no draw has hit yet.
    """

    def __init__(self, span: np.ndarray) -> None:
        self.span = span
        self.count = 0
        self._sums = np.zeros((2, len(span)))

    def add(self, values: Tensor, count: int | None = None) -> None:
        """Rows are independent draws, columns the quantities; `count`, if set, is the number of draws instead."""
        self._sums += torch.stack([values.sum(0), values.square().sum(0)]).numpy()
        self.count += len(values) if count is None else count

    @property
    def value(self) -> np.ndarray:
        """X̄ of each column."""
        return self._sums[0] / self.count

    @property
    def variance(self) -> np.ndarray:
        """V of each column: a difference of sums, plus a bound on its rounding error."""
        mean, square = self._sums / self.count
        spread = np.maximum(square - mean * mean, 0) + 4 * self.count * UNIT_ROUNDOFF * square
        return spread * self.count / max(1, self.count - 1)

    @property
    def error(self) -> np.ndarray:
        """Standard errors."""
        return np.sqrt(self.variance / self.count)

    def half_length(self, failure: float) -> np.ndarray:
        """h of each column at this failure probability."""
        return bernstein(self.variance, self.span, self.count, failure)

    def keep(self, columns: np.ndarray) -> None:
        """Keep only these columns."""
        self.span, self._sums = self.span[columns], self._sums[:, columns]


def bernstein(variance: np.ndarray, span: np.ndarray, count: float, failure: float) -> np.ndarray:
    """h for sample variances, lengths of intervals and a number of draws."""
    log = math.log(2 / failure)
    return np.sqrt(2 * variance * log / count) + 7 * span * log / (3 * max(1, count - 1))


@dataclass(frozen=True)
class NormBounds:
    """lower ≤ F ≤ upper, each at the chosen failure probability."""

    lower: float
    value: float
    upper: float


def mean_norm(
    field: Field,
    directions: Directions,
    *,
    square: float,
    rounding: Rounding,
    failure: float,
    precision: float,
    stop: SearchStage = UNLIMITED,
) -> NormBounds:
    """F = E‖G(z)‖ with bounds at most precision·F away, or as near as the limit allows; `square` = E‖G‖² = qᵀAq.

    The draws double from look to look, and look k has the failure probability failure/2^k, so that repeated
    looks are valid. No point is active for both z and −z, so a pair's mean of ‖G‖ lies in [0, ½Σ|weight|‖x‖]. That is a
    long interval where points cancel. So ‖G‖ is also cut at c = 3√E‖G‖²; as E‖G‖² is known exactly, the part above is

        0 ≤ E(‖G‖ − c)₊ ≤ E(‖G‖² − c²)₊/(2c) = (E‖G‖² − E min(‖G‖², c²))/(2c).

    Means of ‖G‖, min(‖G‖, c) and min(‖G‖², c²) are means of bounded values; the best of the bounds is taken. The bounds
    include rounding errors.
    """
    square = max(square, 0.0) + rounding.kernel(len(field.points))  # E‖G‖² is not larger
    cut, span = CUT * math.sqrt(square), float(torch.linalg.vector_norm(field.weighted, dim=1).sum()) / 2
    plain, first, second = (BoundedMean(np.array([length])) for length in (span, cut, cut**2))
    bounds = NormBounds(0.0, 0.0, math.sqrt(square))  # Jensen
    most = max(64, BLOCK_NUMBERS // (len(field.points) + 4 * field.points.shape[1]))
    for look in itertools.count(1):
        for pairs in blocks_of(FIRST_LOOK << max(0, look - 2), most):
            stop.spend(pairs * field.operations)
            lengths = torch.linalg.vector_norm(torch.stack(field.both_ways(directions.draw(pairs))), dim=-1)
            plain.add(lengths.mean(0)[:, None])
            lengths.clamp_max_(cut)
            first.add(lengths.mean(0)[:, None])
            second.add(lengths.square().mean(0)[:, None])
            if look > 1 and stop():
                return bounds
        share, error = failure / 2**look / 3, rounding.norm(len(field.points), plain.count)
        value, below = float(plain.value[0]), float(first.value[0])
        reach, short = (float(mean.half_length(share)[0]) + error for mean in (plain, first))
        beyond = square - float(second.value[0]) + float(second.half_length(share)[0])
        beyond += 2 * cut * error
        lower = max(value - reach, below - short)
        upper = min(value + reach, below + short + max(beyond, 0.0) / (2 * cut), bounds.upper)
        bounds = NormBounds(lower, value, upper)
        if max(upper - value, value - lower) <= precision * value or stop():
            return bounds
    raise AssertionError("looks do not end")


def blocks_of(total: int, most: int) -> Iterator[int]:
    """`total` in blocks of at most `most`."""
    for start in range(0, total, most):
        yield min(most, total - start)
