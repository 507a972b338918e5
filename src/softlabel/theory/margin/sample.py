"""The margin problem on a sample of directions.

With G_q(z) = Σ_i q_i y_i x_i 1(z·x_i > 0) and F(q) = E_z‖G_q(z)‖ over Gaussian z,

    γ* = min_{q in the simplex} F(q),     ∂_i F(q) = y_i E⟨v_q, φ_i⟩,  v_q = G_q/‖G_q‖,
    min_i ∂_i F(q) ≤ γ* ≤ F(q)  for every q.

On a sample the expectation is a mean. F is homogeneous, so the simplex goes away: min ½F(q)² − Σq over q ≥ 0 has its
optimum at the same direction, and L-BFGS-B solves it.

F has kinks where some G_q(z) vanishes, and an optimum on one stops the descent short. It then goes on with ‖G‖
replaced by √(‖G‖² + s²(Σq)²), as if every labeled point had one more coordinate s: still homogeneous and convex,
smooth, at most s·Σq too large; and v = G/√(…) has norm ≤ 1, so it bounds γ from below as before. s shrinks until the
bounds meet. The teacher's v is of that form too, with an s that stays (`theory.margin.teacher`).

Directions come in pairs ±z. The pair costs as much as one: 1(−z·x > 0) = 1 − 1(z·x > 0), so that
G_q(−z) = Σ q_i y_i x_i − G_q(z).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.numerics import minimize_nonnegative, threads_for
from softlabel.theory.margin.limits import ROW, UNLIMITED, SearchStage

BLOCK = 2048
MASK_BYTES = 2 << 30
FIRST_SMOOTHING = 1 / 16  # of F
ROUNDING = 32  # without smoothing, ‖G‖ below this many units of rounding counts as zero: v = 0 there


def draw_pairs(pairs: int, columns: int, seed: int, dtype: torch.dtype) -> Tensor:
    """Gaussian directions z (pairs, columns); each stands for z and −z."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(pairs, columns, generator=generator, dtype=dtype)


def unit(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors (…, d) normalized, or 0 if they are rounding noise of numbers up to 1, and their norms."""
    norms = torch.linalg.vector_norm(vectors, dim=-1)
    noise = norms <= ROUNDING * torch.finfo(vectors.dtype).eps
    scale = torch.where(noise, 0.0, 1 / norms.clamp_min(torch.finfo(vectors.dtype).tiny))
    return vectors * scale[..., None], torch.where(noise, 0.0, norms)


def smoothed(vectors: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """v = G/√(‖G‖² + s²) for vectors G (…, d), with ‖G‖ and √(‖G‖² + s²)."""
    norms = torch.linalg.vector_norm(vectors, dim=-1)
    roots = torch.hypot(norms, torch.tensor(smoothing, dtype=norms.dtype))
    return vectors / roots[..., None], norms, roots


class SampleProblem:
    """F and its gradient on fixed directions, for points x (n, d) with labels y; `single` omits the −z.

    `spend` counts its operations.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        directions: Tensor,
        single: bool = False,
        spend: Callable[[float], None] = lambda operations: None,
    ) -> None:
        self.x, self.y, self.single, self.spend = x, y, single, spend
        self.pairs = len(directions)
        self.operations = evaluation_operations(len(directions), *x.shape)
        spend(self.operations / 2)
        # 0/1 as numbers if memory allows: an evaluation then consists mostly of two matrix products
        kind = x.dtype if len(directions) * len(x) * x.element_size() <= MASK_BYTES else torch.bool
        self.active = [(torch.mm(block, x.t()) > 0).to(kind) for block in directions.split(BLOCK)]

    def evaluate(self, q: np.ndarray, smoothing: float = 0.0) -> "Evaluation":
        """F, its smoothed version and the margins y_i E⟨v, φ_i⟩ that go with it, at q ≥ 0 of any mass > 0."""
        self.spend(self.operations)
        mass = float(q.sum())
        weights = torch.from_numpy(q / mass).to(self.x.dtype) * self.y  # normalized to limit rounding
        weighted = self.x * weights[:, None]
        total = weighted.sum(0)
        value = smooth = inverse = 0.0
        pulled = torch.zeros_like(self.x)  # Σ_k 1(z_k·x_i>0) (v(z_k) − v(−z_k))
        opposite = torch.zeros_like(total)  # Σ_k v(−z_k)
        for active in self.active:
            mask = active.to(self.x.dtype)
            here = mask @ weighted
            sides = (here,) if self.single else (here, total - here)
            v = []
            for side in sides:
                if smoothing > 0:
                    vectors, norms, roots = smoothed(side, smoothing)
                    smooth += float(roots.sum(dtype=torch.float64))
                    inverse += float(roots.reciprocal().sum(dtype=torch.float64))
                else:
                    vectors, norms = unit(side)
                value += float(norms.sum(dtype=torch.float64))
                v.append(vectors)
            if not self.single:
                opposite += v[1].sum(0)
                v[0].sub_(v[1])
            pulled.addmm_(mask.t(), v[0])
        count = self.pairs if self.single else 2 * self.pairs
        functional = (self.y * ((pulled + opposite) * self.x).sum(1)).double().numpy() / count
        if smoothing == 0:
            smooth = value
        return Evaluation(value / count * mass, functional, smooth / count * mass, smoothing**2 * inverse / count)


def evaluation_operations(pairs: int, points: int, columns: int) -> float:
    """Floating-point operations of one evaluation: two matrix products, and the work on each G."""
    return pairs * (4.0 * points * columns + 5 * points + 20 * columns + ROW)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """F(q), y_i E⟨v, φ_i⟩ for a v of norm ≤ 1, the smoothed F, and its gradient minus the `functional`."""

    value: float
    functional: np.ndarray
    smooth: float
    shift: float


@dataclass(frozen=True, eq=False)
class SampleSolution:
    """lower ≤ margin of the sample ≤ upper; `q` in the simplex attains the upper end, `dual` (smoothed) the lower."""

    q: np.ndarray
    dual: np.ndarray
    lower: float
    upper: float
    evaluations: int
    smoothing: float = 0.0


def solve_sample(
    problem: SampleProblem,
    initial: np.ndarray,
    *,
    tolerance: float = 1e-4,
    evaluations: int = 1000,
    stop: SearchStage = UNLIMITED,
) -> SampleSolution:
    """Minimize F over the simplex until upper − lower ≤ tolerance·upper, from `initial` (n,), any q ≥ 0.

    If `stop()` becomes true, the best solution so far is returned.
    """
    with threads_for(problem.operations):
        descent = _Descent(problem, initial / initial.sum(), tolerance, evaluations, stop)
        if descent.upper > 0:
            descent.run(0.0)
        share = FIRST_SMOOTHING
        while not descent.over() and share >= tolerance / 10:
            descent.run(share * descent.upper)
            share /= 4
    lower = min(descent.lower, descent.upper)  # larger by rounding only
    return SampleSolution(descent.q, descent.dual, lower, descent.upper, descent.count, descent.dual_smoothing)


def solve_smoothed(
    problem: SampleProblem,
    initial: np.ndarray,
    smoothing: float,
    *,
    tolerance: float,
    evaluations: int,
    stop: SearchStage = UNLIMITED,
) -> np.ndarray:
    """The q in the simplex that minimizes the smoothed F of a sample, to a gap of tolerance·F_s."""
    with threads_for(problem.operations):
        descent = _Descent(problem, initial / initial.sum(), 0.0, evaluations, stop)
        descent.run(smoothing, tolerance)
    return descent.latest


class _Descent:
    """The best bounds so far, and the q that attain them."""

    def __init__(
        self,
        problem: SampleProblem,
        q: np.ndarray,
        tolerance: float,
        evaluations: int,
        stop: SearchStage,
    ) -> None:
        self.problem, self.tolerance, self.evaluations, self.stop = problem, tolerance, evaluations, stop
        here = problem.evaluate(q)
        self.q = self.dual = self.latest = q
        self.upper, self.lower, self.count = here.value, float(here.functional.min()), 1
        self.dual_smoothing = 0.0

    def over(self) -> bool:
        """Whether the bounds have met, or the limit is reached."""
        closed = self.upper - self.lower <= self.tolerance * self.upper
        return closed or self.count >= self.evaluations or self.stop()

    def run(self, smoothing: float, gap: float | None = None) -> None:
        """Descend from the latest q with this smoothing, until the bounds meet or the smoothed problem is solved.

        It is solved when its bounds are gap·F_s apart; s/10 without `gap`.
        """
        low, high = -np.inf, np.inf  # bounds of the smoothed problem itself

        def objective(q: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal low, high
            mass = float(q.sum())
            if mass <= 0:
                return 0.0, np.full(len(q), -1.0)
            here = self.problem.evaluate(q, smoothing)
            least = float(here.functional.min())
            self.count += 1
            if least > self.lower:
                self.dual, self.dual_smoothing, self.lower = q / mass, smoothing, least
            if here.value / mass < self.upper:
                self.q, self.upper = q / mass, here.value / mass
            low = max(low, least + here.shift)
            if here.smooth / mass < high:
                self.latest, high = q / mass, here.smooth / mass
            return 0.5 * here.smooth**2 - mass, here.smooth * (here.functional + here.shift) - 1

        def done() -> bool:
            return self.over() or high - low <= (smoothing / 10 if gap is None else gap * high)

        scale = self.problem.evaluate(self.latest, smoothing).smooth
        left = self.evaluations - self.count
        minimize_nonnegative(objective, self.latest / scale**2, done=done, evaluations=left)
