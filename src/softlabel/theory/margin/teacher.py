"""The kernel-limit teacher that a margin computation yields, and a lower bound on its margin.

    v(z) = G_q(z)/√(‖G_q(z)‖² + s²),    G_q(z) = Σ_i q_i y_i x_i 1(z·x_i > 0),  q in the simplex,  s > 0

This is the only definition of v. It is computed in float64 everywhere: to choose q and s, to certify, for labels, and
at the initial weights of a student. ‖v‖ < 1 always, so it is one of the v that γ* is the maximum over, and with
z_i = E⟨v, φ_i⟩ its margin γ(v) = min_i y_i z_i is at most γ*.

How much of γ* it keeps.  Let F_s(q) = E√(‖G_q‖² + s²(Σq)²), convex and homogeneous of degree one, as if every labeled
point had one more coordinate s. On the simplex, with τ = E[s/√(‖G_q‖² + s²)],

    ∂_i F_s(q) = y_i z_i + sτ,     Σ_i q_i ∂_i F_s(q) = F_s(q)  (Euler),     so  Σ_i q_i y_i z_i = E[‖G‖²/√(‖G‖² + s²)].

Let g(q) = F_s(q) − min_i ∂_i F_s(q) ≥ 0, the Frank–Wolfe gap, which is 0 exactly where q minimizes F_s. For every q

    γ(v) = min_i ∂_i F_s(q) − sτ = E[‖G‖²/√(‖G‖² + s²)] − g(q).

With r = ‖G‖/s, ‖G‖ − ‖G‖²/√(‖G‖² + s²) = s(r − r²/√(1 + r²)). Put r = tan θ: the bracket is tan θ (1 − sin θ), largest
where sin²θ + sin θ = 1, that is sin θ = (√5 − 1)/2, and there it is c = 0.30028… Since F(q) ≥ γ* for every q,

    γ* ≥ γ(v) ≥ F(q) − cs − g(q) ≥ γ* − cs − g(q).

At the optimum of the smoothed problem, s = γ*/8 costs at most 4% of γ*. Without smoothing (s → 0) no such bound holds
for a v that is computed: where the optimal q makes G vanish on a set of directions of positive measure, v is there
determined by rounding or by the last digits of q.

The certificate does not depend on this: q and s are chosen on separate directions, and γ(v) is then bounded on fresh
ones, by the means of y_i⟨v, φ_i⟩, each with an empirical Bernstein bound. The bounds are joined over points and looks
by Bonferroni, and rounding errors are subtracted (`theory.margin.rounding`). No approximation is involved.
"""

import itertools
import math
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


class Draws(Protocol):
    """A source of directions."""

    def draw(self, pairs: int, /) -> Tensor: ...


class TeacherField(Field):
    """G and v = G/√(‖G‖² + s²) in float64, for points (k, d) that carry weights q_s y_s and a smoothing s > 0."""

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
    field: TeacherField,
    directions: Draws,
    x: Tensor,
    signs: Tensor,
    mean: ControlledMean,
    pairs: int,
    stop: SearchStage = UNLIMITED,
) -> None:
    """Add `pairs` draws of sign_i⟨v, φ_i⟩, and of the control variate sign_i⟨G, φ_i⟩, for points x (n, d).

    If `stop()` becomes true it adds fewer, but at least LEAST_PAIRS in total.
    """
    inner_total = x @ field.total
    for count in blocks_of(pairs, _block(field, x)):
        if mean.count >= LEAST_PAIRS and stop():
            return
        z = directions.draw(count)
        stop.spend(count * (field.operations + 8.0 * x.numel() + 40 * len(x)))
        here, opposite = field.both_ways(z)
        active = torch.mm(z, x.t()) > 0
        inner = here @ x.t()
        controls = torch.where(active, inner, inner_total - inner)
        mean.add(_aligned(field, here, opposite, active, x).mul_(signs), controls.mul_(0.5 * signs))


def teacher_margin(
    field: TeacherField,
    directions: Directions,
    x: Tensor,
    y: np.ndarray,
    *,
    rounding: Rounding,
    failure: float,
    precision: float,
    stop: SearchStage = UNLIMITED,
) -> tuple[float, np.ndarray, np.ndarray]:
    """A lower bound on γ(v) = min_i y_i E⟨v, φ_i⟩, and for every point y_i z_i with its standard error.

    The draws double from look to look. At look k, each of the n points has a bound that fails with probability at most
    failure/(n·2^k), so all of them hold together with probability ≥ 1 − failure. Points whose lower bound exceeds the
    smallest upper bound are dropped from later looks. One direction of each pair ±z is active for x_i, so the pair's
    mean of ⟨v, φ_i⟩ is ½⟨v(±z), x_i⟩, in an interval of length ‖x_i‖.

    It ends when the bound is within `precision` of the smallest mean, when that mean is certainly negative, or when
    `stop()` is true, but not before the first look.
    """
    n, signs = len(x), torch.from_numpy(y)
    norms = torch.linalg.vector_norm(x, dim=1)
    mean = BoundedMean(norms.numpy())
    value, error, lower = np.zeros(n), np.zeros(n), np.full(n, -math.inf)
    hard = np.arange(n)
    for look in itertools.count(1):
        chosen = torch.from_numpy(hard)
        near, sides = x[chosen], signs[chosen]
        for count in blocks_of(FIRST_LOOK << max(0, look - 2), _block(field, near)):
            stop.spend(count * (field.operations + 6.0 * near.numel() + 30 * len(near)))
            z = directions.draw(count)
            active = torch.mm(z, near.t()) > 0
            mean.add(_aligned(field, *field.both_ways(z), active, near).mul_(sides))
            if look > 1 and stop():  # bounds are valid for complete looks only
                return float(lower.min()), value, error
        value[hard], error[hard] = mean.value, mean.error
        reach = mean.half_length(failure / n / 2**look)
        lower[hard] = mean.value - reach - rounding.alignment(len(field.points), field.smoothing, mean.count)
        worst = int(lower[hard].argmin())
        near_enough = mean.value[worst] - lower[hard][worst] <= precision * abs(mean.value[worst])
        ceiling = float((mean.value + reach).min())  # γ(v) is below
        if near_enough or ceiling < 0 or stop():
            return float(lower.min()), value, error
        kept = np.flatnonzero(lower[hard] <= ceiling)
        mean.keep(kept)
        hard = hard[kept]
    raise AssertionError("looks do not end")


def _aligned(field: TeacherField, here: Tensor, opposite: Tensor, active: Tensor, x: Tensor) -> Tensor:
    """The mean of ⟨v, φ_i⟩ over each pair ±z (pairs, n), from G(z), G(−z) and 1(z·x_i > 0)."""
    return torch.where(active, field.bounded(here) @ x.t(), field.bounded(opposite) @ x.t()).mul_(0.5)


def _block(field: TeacherField, x: Tensor) -> int:
    return max(16, BLOCK_NUMBERS // (len(x) + len(field.points) + 4 * x.shape[1]))
