"""What fresh directions say about one q: F(q) from above, the margin of its teacher v_q from below.

F(q) ≥ γ* bounds from above, and y_i E⟨v_q, φ_i⟩ for all i bounds γ(v_q) ≤ γ* from below. Both are means over directions
that had no part in choosing q, with control variates whose means K_1 gives exactly:

    ⟨G_q, φ_i⟩ has mean (K_1(q∘y))_i,      ‖G_q‖² has mean (q∘y)ᵀ K_1 (q∘y).

Their intervals are those of the normal approximation; over the points they are joined by Bonferroni.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

from softlabel.theory.margin.sample import unit

BLOCK_NUMBERS = 1 << 23
PILOT = 1024
LEAST_PAIRS = 256  # below that a normal approximation is none
LEAST_VARIATION = 1e-3  # of a control; one that varies less could be rounding noise, whose slope means nothing


class Field:
    """G(z) = Σ_s weight_s x_s 1(z·x_s > 0) and v(z) = G(z)/‖G(z)‖, for points that carry weights q_s y_s."""

    def __init__(self, points: Tensor, weights: Tensor) -> None:
        self.points = points
        self.weighted = points * weights[:, None]
        self.total = self.weighted.sum(0)

    @classmethod
    def of(cls, x: Tensor, y: np.ndarray, q: np.ndarray) -> "Field":
        """From q over all points (n, d)."""
        carrying = np.flatnonzero(q)
        return cls(x[torch.from_numpy(carrying)], torch.from_numpy(q[carrying] * y[carrying]).to(x.dtype))

    def both_ways(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """G(z) and G(−z) for directions z (…, d)."""
        here = (torch.mm(z, self.points.t()) > 0).to(z.dtype) @ self.weighted
        return here, self.total - here

    def v(self, z: Tensor) -> Tensor:
        """v(z), 0 where G(z) is."""
        return unit(self.both_ways(z)[0])[0]


class Directions:
    """Gaussian directions, drawn one block after another from one seed; each stands for z and −z."""

    def __init__(self, columns: int, seed: int, dtype: torch.dtype) -> None:
        self.columns, self.dtype = columns, dtype
        self._generator = torch.Generator().manual_seed(seed)

    def draw(self, pairs: int) -> Tensor:
        return torch.randn(pairs, self.columns, generator=self._generator, dtype=self.dtype)


class ControlledMean:
    """Running means of values whose companions ("controls") have a known mean; one for each column."""

    def __init__(self, controls_mean: np.ndarray) -> None:
        self.known = controls_mean
        self.count = 0
        self._sums = np.zeros((5, len(controls_mean)))

    def add(self, values: Tensor, controls: Tensor) -> None:
        """Rows are independent draws, columns the quantities."""
        v, c = values.double(), controls.double() - torch.from_numpy(self.known)
        self._sums += torch.stack([v.sum(0), c.sum(0), (v * v).sum(0), (c * c).sum(0), (v * c).sum(0)]).numpy()
        self.count += len(values)

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Estimates and their standard errors."""
        v, c, vv, cc, vc = self._sums / self.count
        var_v, var_c, cov = vv - v * v, cc - c * c, vc - v * c
        size = cc + 2 * self.known * c + self.known**2  # mean square of the control itself
        varies = var_c > LEAST_VARIATION**2 * size
        slope = np.divide(cov, var_c, out=np.zeros_like(cov), where=varies)
        variance = np.maximum(var_v - slope * cov, 0)
        return v - slope * c, np.sqrt(variance / max(1, self.count - 2))


@dataclass(frozen=True)
class Estimate:
    """A mean over fresh directions, and its standard error."""

    value: float
    error: float

    def upper(self, failure: float) -> float:
        """Upper end at this probability of failure."""
        return self.value + float(norm.isf(failure)) * self.error

    def lower(self, failure: float) -> float:
        """Lower end at this probability of failure."""
        return self.value - float(norm.isf(failure)) * self.error


def mean_norm(
    field: Field,
    directions: Directions,
    form: float,
    *,
    precision: float,
    stop: Callable[[], bool] | None = None,
) -> Estimate:
    """F = E‖G(z)‖ until its standard error is precision·F, or time is up; `form` = (q∘y)ᵀ K_1 (q∘y) = E‖G‖²."""
    mean = ControlledMean(np.array([form]))
    block = max(64, BLOCK_NUMBERS // (4 * max(1, len(field.points))))
    while True:
        lengths = unit(torch.stack(field.both_ways(directions.draw(block))))[1].double()
        mean.add(lengths.mean(0)[:, None], lengths.square().mean(0)[:, None])
        value, error = (float(part[0]) for part in mean.means())
        enough = mean.count >= 4096 and error <= precision * value
        if enough or (mean.count >= 1024 and stop is not None and stop()):
            return Estimate(value, error)


def observe_alignment(
    field: Field,
    directions: Directions,
    x: Tensor,
    signs: Tensor,
    mean: ControlledMean,
    pairs: int,
    stop: Callable[[], bool] | None = None,
) -> None:
    """Add so many draws of sign_i⟨v, φ_i⟩, and of the control sign_i⟨G, φ_i⟩, for points x (n, d).

    Fewer where `stop()` says that time is up, but not under LEAST_PAIRS in all.
    """
    inner_total = x @ field.total
    block = max(16, min(pairs, BLOCK_NUMBERS // (len(x) + len(field.points))))
    for start in range(0, pairs, block):
        if stop is not None and mean.count >= LEAST_PAIRS and stop():
            return
        z = directions.draw(min(block, pairs - start))
        here, opposite = field.both_ways(z)
        active = torch.mm(z, x.t()) > 0
        values = torch.where(active, unit(here)[0] @ x.t(), unit(opposite)[0] @ x.t())
        inner = here @ x.t()
        controls = torch.where(active, inner, inner_total - inner)
        mean.add(values.mul_(0.5 * signs), controls.mul_(0.5 * signs))


def teacher_margin(
    field: Field,
    directions: Directions,
    x: Tensor,
    y: np.ndarray,
    functional: np.ndarray,
    *,
    failure: float,
    precision: float,
    stop: Callable[[], bool] | None = None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """A lower bound on γ(v) = min_i y_i E⟨v, φ_i⟩, and for every point y_i z_i with its standard error.

    A pilot on all points settles the easy ones with half of the failure probability; the rest get their own
    directions and the other half. `functional` = y∘K_1(q∘y).
    """
    n, signs = len(x), torch.from_numpy(y).to(x.dtype)
    pilot = ControlledMean(functional)
    observe_alignment(field, directions, x, signs, pilot, PILOT, stop)
    value, error = pilot.means()
    easy_limit = value - norm.isf(failure / 2 / n) * error
    hard = np.flatnonzero(easy_limit <= value.min())
    settled = float(np.delete(easy_limit, hard).min()) if len(hard) < n else math.inf
    mean = ControlledMean(functional[hard])
    chosen = torch.from_numpy(hard)
    quantile = float(norm.isf(failure / 2 / len(hard)))
    pairs = PILOT
    while True:
        observe_alignment(field, directions, x[chosen], signs[chosen], mean, pairs, stop)
        value[hard], error[hard] = mean.means()
        lower = value[hard] - quantile * error[hard]
        worst = int(lower.argmin())
        close = quantile * error[hard][worst] <= precision * abs(value[hard][worst])
        if close or (stop is not None and stop()):
            return min(settled, float(lower.min())), value, error
        pairs = min(2 * pairs, 16 * PILOT)
