"""The kernel-limit teacher that a margin computation yields, and a lower bound on its margin.

    v(z) = G_q(z)/max(‖G_q(z)‖, s),    G_q(z) = Σ_i q_i y_i x_i 1(z·x_i > 0),  q in the simplex,  s > 0

This is the only definition of v. It is computed in float64 everywhere: to choose q and s, to certify, for labels, and
at the initial weights of a student. ‖v‖ ≤ 1 always, so it is one of the v that γ* is the maximum over, and with
z_i = E⟨v, φ_i⟩ its margin γ(v) = min_i y_i z_i is at most γ*.

How much of γ* it keeps.  Let F_s(q) = E h(‖G_q‖) with Huber's function h(r) = r where r ≥ sΣq, else r²/(2sΣq) + sΣq/2:
convex and homogeneous of degree one. On the simplex, with τ = E[(s − ‖G_q‖²/s)₊]/2,

    ∂_i F_s(q) = y_i z_i + τ,     Σ_i q_i ∂_i F_s(q) = F_s(q)  (Euler),     so  Σ_i q_i y_i z_i = E[‖G‖ min(‖G‖/s, 1)].

Let g(q) = F_s(q) − min_i ∂_i F_s(q) ≥ 0, the Frank–Wolfe gap, which is 0 exactly where q minimizes F_s. For every q

    γ(v) = min_i ∂_i F_s(q) − τ = E[‖G‖ min(‖G‖/s, 1)] − g(q).

With r = ‖G‖, r − r·min(r/s, 1) = r(1 − r/s)₊ ≤ s/4. Since F(q) ≥ γ* for every q,

    γ* ≥ γ(v) ≥ F(q) − s/4 − g(q) ≥ γ* − s/4 − g(q).

At the optimum of the smoothed problem, s = γ*/8 costs at most 3.2% of γ*. Without smoothing (s → 0) no such bound holds
for a v that is computed: where the optimal q makes G vanish on a set of directions of positive measure, v is there
determined by rounding or by the last digits of q.

The certificate does not depend on this: q and s are chosen on separate directions, and γ(v) is then bounded on fresh
ones, in one of two ways (the one with the better prospect is chosen before).

Plainly, by the means of y_i⟨v, φ_i⟩, each with an empirical Bernstein bound.

By the rest, if s is so large that ‖G‖ rarely exceeds it. Then v = G/s − w with w = G(1/s − 1/‖G‖)₊, which is 0 for most
directions, and E⟨G, φ_i⟩ is known exactly:

    y_i z_i = (Aq)_i/s − y_i E⟨w, φ_i⟩,    A = yyᵀ∘K_1.

w is not bounded by anything small; so it is cut where ‖G‖ > cs, to w' with ‖w'‖ ≤ c − 1. As ‖w − w'‖ = (‖G‖/s − c)₊ ≤
(‖G‖²/s² − c²)₊/(2c), and the mean of ‖G‖² is known, too,

    |E⟨w − w', φ_i⟩| ≤ ‖x_i‖ (qᵀAq/s² − E min(‖G‖²/s², c²))/(2c).

Means of y_i⟨w', φ_i⟩ and of min(‖G‖²/s², c²) are means of bounded values, with empirical Bernstein bounds again. Only
directions with ‖G‖ > s need products with all points.

All bounds are joined over points and looks by Bonferroni, and rounding errors are subtracted
(`theory.margin.rounding`). No approximation is involved.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import require
from softlabel.theory.margin.fresh import (
    BLOCK_NUMBERS,
    FIRST_LOOK,
    BoundedMean,
    ControlledMean,
    Directions,
    Field,
    blocks_of,
)
from softlabel.theory.margin.limits import UNLIMITED, SearchStage
from softlabel.theory.margin.rounding import Rounding
from softlabel.theory.margin.sample import smoothed

LEAST_PAIRS = 256  # with fewer, a normal approximation is invalid
LENGTH_SHARE = 0.1  # of the failure probability, for the bound on long G


class Draws(Protocol):
    """A source of directions."""

    def draw(self, pairs: int, /) -> Tensor: ...


class TeacherField(Field):
    """G and v = G/max(‖G‖, s) in float64, for points (k, d) that carry weights q_s y_s and a smoothing s > 0."""

    def __init__(self, points: Tensor, weights: Tensor, smoothing: float) -> None:
        require(0 < smoothing < math.inf, f"`smoothing` must be positive and finite, got {smoothing}")
        super().__init__(points.double(), weights.double())
        self.smoothing = smoothing

    def bounded(self, pulls: Tensor) -> Tensor:
        """v from G (…, d)."""
        return smoothed(pulls, self.smoothing)[0]

    def v(self, z: Tensor) -> Tensor:
        """v(z) for directions z (…, d)."""
        return self.bounded(self.both_ways(z)[0])


def observe_alignment(
    field: Field,
    directions: Draws,
    x: Tensor,
    signs: Tensor,
    means: Mapping[float, ControlledMean],
    pairs: int,
    stop: SearchStage = UNLIMITED,
) -> Tensor:
    """Add `pairs` draws of sign_i⟨v, φ_i⟩, and of the control variate sign_i⟨G, φ_i⟩, for points x (n, d).

    `means` has one for every smoothing s. If `stop()` becomes true it adds fewer, but at least LEAST_PAIRS in total.
    Returns ‖G‖ of the directions, both ways (2, pairs).
    """
    inner_total, lengths, drawn = x @ field.total, [], 0
    for count in blocks_of(pairs, _block(field, x)):
        if drawn >= LEAST_PAIRS and stop():
            break
        z, drawn = directions.draw(count), drawn + count
        stop.spend(count * (field.operations + 4.0 * x.numel() + 40 * len(x) * len(means)))
        sides = field.both_ways(z)
        norms = torch.stack([torch.linalg.vector_norm(side, dim=1) for side in sides])
        lengths.append(norms)
        active = torch.mm(z, x.t()) > 0
        inner = sides[0] @ x.t()
        controls = torch.where(active, inner, inner_total - inner).mul_(0.5 * signs)
        for smoothing, mean in means.items():
            here, opposite = norms.clamp_min(smoothing)[..., None]
            mean.add(controls / torch.where(active, here, opposite), controls)
    return torch.cat(lengths, dim=1)


class TeacherBounds(ABC):
    """Bounds on y_i z_i of points from fresh directions; `points` are those that are still bounded."""

    def __init__(self, field: TeacherField, x: Tensor, y: np.ndarray, rounding: Rounding) -> None:
        self.field, self.rounding = field, rounding
        self.points, self.signs = x, torch.from_numpy(y)
        self.norms = torch.linalg.vector_norm(x, dim=1).numpy()

    @property
    @abstractmethod
    def count(self) -> int:
        """Pairs of directions so far."""

    @property
    @abstractmethod
    def value(self) -> np.ndarray:
        """Estimates of y_i z_i."""

    @property
    @abstractmethod
    def error(self) -> np.ndarray:
        """Standard errors of the estimates."""

    @abstractmethod
    def add(self, z: Tensor, stop: SearchStage) -> None:
        """Take account of directions."""

    @abstractmethod
    def reach(self, failure: float, points: int) -> np.ndarray:
        """How far y_i z_i may lie from its estimate; all `points` bounds hold with probability 1 − failure."""

    def keep(self, columns: np.ndarray) -> None:
        """Keep only these points."""
        chosen = torch.from_numpy(columns)
        self.points, self.signs, self.norms = self.points[chosen], self.signs[chosen], self.norms[columns]


class PlainBounds(TeacherBounds):
    """By the means of y_i⟨v, φ_i⟩ themselves.

    One direction of each pair ±z is active for x_i, so the pair's mean of ⟨v, φ_i⟩ is ½⟨v(±z), x_i⟩, in an interval of
    length ‖x_i‖.
    """

    def __init__(self, field: TeacherField, x: Tensor, y: np.ndarray, rounding: Rounding) -> None:
        super().__init__(field, x, y, rounding)
        self._mean = BoundedMean(self.norms)

    @property
    def count(self) -> int:
        return self._mean.count

    @property
    def value(self) -> np.ndarray:
        return self._mean.value

    @property
    def error(self) -> np.ndarray:
        return self._mean.error

    def add(self, z: Tensor, stop: SearchStage) -> None:
        stop.spend(len(z) * (self.field.operations + 6.0 * self.points.numel() + 30 * len(self.points)))
        active = torch.mm(z, self.points.t()) > 0
        self._mean.add(_aligned(self.field, *self.field.both_ways(z), active, self.points).mul_(self.signs))

    def reach(self, failure: float, points: int) -> np.ndarray:
        rounding = self.rounding.alignment(len(self.field.points), self.field.smoothing, self.count)
        return self._mean.half_length(failure / points) + rounding

    def keep(self, columns: np.ndarray) -> None:
        super().keep(columns)
        self._mean.keep(columns)


class RestBounds(TeacherBounds):
    """By (Aq)_i, which is `known`, and the means of y_i⟨w', φ_i⟩, w' the rest of G/s beyond ‖G‖ = s."""

    def __init__(self, field: TeacherField, x: Tensor, y: np.ndarray, rounding: Rounding, known: "KnownMeans") -> None:
        super().__init__(field, x, y, rounding)
        self.known, self._square, self.cut = known.pull, known.square, cut_for(known.square, field.smoothing)
        self._mean = BoundedMean((self.cut - 1) * self.norms)
        self._length = BoundedMean(np.array([self.cut**2]))

    @property
    def count(self) -> int:
        return self._mean.count

    @property
    def value(self) -> np.ndarray:
        return self.known / self.field.smoothing - self._mean.value

    @property
    def error(self) -> np.ndarray:
        return self._mean.error

    def add(self, z: Tensor, stop: SearchStage) -> None:
        stop.spend(len(z) * self.field.operations)
        sides = self.field.both_ways(z)
        ratios = torch.stack([torch.linalg.vector_norm(side, dim=1) for side in sides]) / self.field.smoothing
        self._length.add(ratios.square().clamp_max(self.cut**2).mean(0)[:, None])
        for sign, side, ratio in zip((1, -1), sides, ratios, strict=True):
            long = ratio > 1
            w = side[long] * ((ratio[long].clamp_max(self.cut) - 1) / (ratio[long] * self.field.smoothing))[:, None]
            stop.spend(len(w) * (4.0 * self.points.numel() + 10 * len(self.points)))
            for rows in torch.arange(len(w)).split(_block(self.field, self.points)):
                active = torch.mm(z[long][rows], self.points.t()) * sign > 0
                values = (w[rows] @ self.points.t()).mul_(active).mul_(0.5 * self.signs)
                self._mean.add(values, count=0)  # no pair is active both ways: squares add up, too
        self._mean.count += len(z)

    def reach(self, failure: float, points: int) -> np.ndarray:
        carrying, s = len(self.field.points), self.field.smoothing
        rounding = (2 + self.cut) * self.rounding.alignment(carrying, s, self.count) + self.rounding.kernel(
            carrying
        ) / s
        beyond = self._square / s**2 - float(self._length.value[0])
        beyond += float(self._length.half_length(LENGTH_SHARE * failure)[0])
        beyond += (2 * self.cut * self.rounding.norm(carrying, self.count) + self.rounding.kernel(carrying) / s) / s
        means = self._mean.half_length((1 - LENGTH_SHARE) * failure / points)
        return means + self.norms * max(beyond, 0.0) / (2 * self.cut) + rounding

    def keep(self, columns: np.ndarray) -> None:
        super().keep(columns)
        self._mean.keep(columns)
        self.known = self.known[columns]


@dataclass(frozen=True, eq=False)
class KnownMeans:
    """Means that K_1 gives exactly: `pull` = (Aq)_i of points, and `square` = qᵀAq = E‖G‖²."""

    pull: np.ndarray
    square: float


def cut_for(square: float, smoothing: float) -> float:
    """c: about three times the usual ‖G‖, in units of s."""
    return max(2.0, 3 * math.sqrt(max(square, 0.0)) / smoothing)


def teacher_margin(
    certificate: TeacherBounds,
    directions: Directions,
    *,
    failure: float,
    precision: float,
    stop: SearchStage = UNLIMITED,
) -> tuple[float, np.ndarray, np.ndarray]:
    """A lower bound on γ(v) = min_i y_i E⟨v, φ_i⟩, and for every point y_i z_i with its standard error.

    The draws double from look to look. At look k, the bounds of all points hold with probability 1 − failure/2^k, so
    the bounds of all looks hold with probability ≥ 1 − failure. Points whose lower bound exceeds the smallest upper
    bound are dropped from later looks.

    It ends when the bound is within `precision` of the smallest mean, when that mean is certainly negative, or when
    `stop()` is true, but not before the first look.
    """
    n = len(certificate.points)
    value, error, lower = np.zeros(n), np.zeros(n), np.full(n, -math.inf)
    hard = np.arange(n)
    for look in itertools.count(1):
        for count in blocks_of(FIRST_LOOK << max(0, look - 2), _block(certificate.field, certificate.points)):
            certificate.add(directions.draw(count), stop)
            if look > 1 and stop():  # bounds are valid for complete looks only
                return float(lower.min()), value, error
        value[hard], error[hard] = certificate.value, certificate.error
        reach = certificate.reach(failure / 2**look, n)
        lower[hard] = value[hard] - reach
        worst = int(lower[hard].argmin())
        near_enough = reach[worst] <= precision * abs(value[hard][worst])
        ceiling = float((value[hard] + reach).min())  # γ(v) is below
        if near_enough or ceiling < 0 or stop():
            return float(lower.min()), value, error
        kept = np.flatnonzero(lower[hard] <= ceiling)
        certificate.keep(kept)
        hard = hard[kept]
    raise AssertionError("looks do not end")


def _aligned(field: TeacherField, here: Tensor, opposite: Tensor, active: Tensor, x: Tensor) -> Tensor:
    """The mean of ⟨v, φ_i⟩ over each pair ±z (pairs, n), from G(z), G(−z) and 1(z·x_i > 0)."""
    return torch.where(active, field.bounded(here) @ x.t(), field.bounded(opposite) @ x.t()).mul_(0.5)


def _block(field: Field, x: Tensor) -> int:
    return max(16, BLOCK_NUMBERS // (len(x) + len(field.points) + 4 * x.shape[1]))
