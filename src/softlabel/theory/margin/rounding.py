"""Bounds on the float64 rounding errors of the means that certify a margin.

u = 2⁻⁵³; ρ the largest norm of a point; k points carry weights w with Σ|w| = 1; d columns; first order in u throughout,
with constants rounded up.

Points.  They are stored as unit direction times norm, and where there are at most half as many points as columns,
rotated into their span by a Householder QR, whose result is the exact rotation of points that are off by at most
c·n·d·u, relative (Higham, Accuracy and Stability of Numerical Algorithms, Theorem 19.4; c = 16 here). In all, a point
is off by e‖x‖, e = 2u or 2u + 16 n d u.

Signs.  1(z·x > 0) is taken from a product with an error of (d+1)u‖z‖‖x‖, so it can be wrong only where the angle
between z and the boundary is small: |cos| ≤ t, t = (d+1)u + e. For Gaussian z this has probability ≤ t√(2d/π) ≤ t√d.

G.  A sum of k terms, and total − G for −z:  E‖δG‖ ≤ ρg,  g = (2k+3)u + e + t√d.

v.  The derivative of G/max(‖G‖, s) has norm ≤ 1/max(‖G‖, s) ≤ 1/s, so v is off by ρg/s, and by (d+8)u for its own
evaluation; the rest w' = G/s − v, cut at a length c, by at most 2 + c times as much. This is the benefit of s: without
it, v is the direction of rounding noise wherever G vanishes.

A mean of N terms of size ≤ ρ adds Nuρ. In all:

    y_i E⟨v, φ_i⟩    ρ(ρg/s + (2d+8)u + e + t√d + Nu)
    E‖G‖             ρ(g + (d+4)u + Nu)
    F_M(q) − γ_M     ρ(2g + (3d+12)u + e + 2Nu) + 64u    on a sample of N directions, with signs as they were taken;
                                                         ‖G‖ ≤ 64u counts as 0
    (Aq)_i, qᵀAq     ρ²(12(d+2) + k + 64)u               the angle of a cosine c is off by its error/√(1 − c²), and
                                                         where 1 − |c| < 10⁻⁴ it is computed from differences
"""

import math
from dataclasses import dataclass

import numpy as np

UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


@dataclass(frozen=True)
class Rounding:
    """Allowances for data of `rows` points with `columns` numbers, the largest norm being `radius`."""

    rows: int
    columns: int
    radius: float

    @property
    def point(self) -> float:
        """e: the error of a stored point, relative to its norm."""
        rotated = 2 * self.rows <= self.columns
        return (2 + (16 * self.rows * self.columns if rotated else 0)) * UNIT_ROUNDOFF

    @property
    def sign(self) -> float:
        """t√d: the probability that rounding changes 1(z·x > 0)."""
        return math.sqrt(self.columns) * ((self.columns + 1) * UNIT_ROUNDOFF + self.point)

    def pull(self, carrying: int) -> float:
        """g: the error of G with this many points, relative to ρ."""
        return (2 * carrying + 3) * UNIT_ROUNDOFF + self.point + self.sign

    def alignment(self, carrying: int, smoothing: float, draws: int) -> float:
        """The error of a mean of y⟨v, φ⟩."""
        u = UNIT_ROUNDOFF
        v = self.radius * self.pull(carrying) / smoothing + (self.columns + 8) * u
        return self.radius * (v + (self.columns + draws) * u + self.point + self.sign)

    def kernel(self, carrying: int) -> float:
        """The error of (Aq)_i and of qᵀAq, sums of K_1 in float64: a product, an angle, and a sum."""
        return self.radius**2 * (12 * (self.columns + 2) + carrying + 64) * UNIT_ROUNDOFF

    def norm(self, carrying: int, draws: int) -> float:
        """The error of a mean of ‖G‖."""
        return self.radius * (self.pull(carrying) + (self.columns + 4 + draws) * UNIT_ROUNDOFF)

    def sample(self, carrying: int, directions: int) -> float:
        """The error of F_M(q) − γ_M on a sample."""
        u = UNIT_ROUNDOFF
        means = 2 * self.pull(carrying) + (3 * self.columns + 12 + 2 * directions) * u + self.point
        return self.radius * means + 64 * u
