"""The margin problem on a sample of directions.

With G_q(z) = Σ_i q_i y_i x_i 1(z·x_i > 0) and F(q) = E_z‖G_q(z)‖ over Gaussian z,

    γ* = min_{q in the simplex} F(q),     ∂_i F(q) = y_i E⟨v_q, φ_i⟩,  v_q = G_q/‖G_q‖,
    min_i ∂_i F(q) ≤ γ* ≤ F(q)  for every q.

On a sample the expectation is a mean. F is homogeneous, so the simplex goes away: min ½F(q)² − Σq over q ≥ 0 has its
optimum at the same direction, and L-BFGS-B solves it.

F has kinks where some G_q(z) vanishes, and an optimum on one stops the descent short. It then goes on with ‖G‖
replaced by Huber's function h: ‖G‖ where ‖G‖ ≥ s·Σq, and a parabola below, at most s·Σq/2 too large. It is
still homogeneous and convex, and has a gradient everywhere; and v = G/max(‖G‖, s) on the simplex has norm ≤ 1, so it
bounds γ from below as before. s shrinks until the bounds meet. The teacher's v is of that form too, with an s that
stays (`theory.margin.teacher`).

Where the curvature of the problem in the kernel limit is known (`theory.margin.metric`), a few evaluations do what
L-BFGS needs a hundred for.

Directions come in pairs ±z. The pair costs as much as one: 1(−z·x > 0) = 1 − 1(z·x > 0), so that
G_q(−z) = Σ q_i y_i x_i − G_q(z).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.numerics import minimize_in_metric, minimize_nonnegative, threads_for
from softlabel.theory.margin.limits import ROW, UNLIMITED, SearchStage
from softlabel.theory.margin.metric import KernelMetric

BLOCK = 2048
MASK_BYTES = 2 << 30
FIRST_SMOOTHING = 1 / 16  # of F
TINY = 1e-300
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


def smoothed(vectors: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """v = G/max(‖G‖, s) for vectors G (…, d), with ‖G‖."""
    norms = torch.linalg.vector_norm(vectors, dim=-1)
    return vectors / norms.clamp_min(smoothing)[..., None], norms


def huber(norms: Tensor, smoothing: float) -> Tensor:
    """h_s(r) = r where r ≥ s, else r²/(2s) + s/2; at most s/2 above r."""
    return (norms.square() / norms.clamp_min(smoothing) + norms.clamp_min(smoothing)) / 2


def huber_shift(norms: Tensor, smoothing: float) -> Tensor:
    """The derivative of Σq·h_s(r/Σq) by Σq at Σq = 1, for r that does not change: (s − r²/s)/2 where r < s, else 0."""
    return (smoothing - norms.square() / smoothing).clamp_min(0) / 2


class SampleProblem:
    """F and its gradient on fixed directions, for points x (n, d) with labels y; `single` omits the −z.

    `spend` counts its operations; `metric` is A of these points, where it is known. With `controlled`, F is corrected
    by the control variate h_s(√E‖G‖²), which the metric knows, so that it varies less from sample to sample.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        directions: Tensor,
        single: bool = False,
        spend: Callable[[float], None] = lambda operations: None,
        metric: KernelMetric | None = None,
        controlled: bool = False,
    ) -> None:
        assert not controlled or (metric is not None and not single)
        self.x, self.y, self.single, self.spend, self.metric, self.controlled = x, y, single, spend, metric, controlled
        self.pairs = len(directions)
        self.operations = evaluation_operations(len(directions), *x.shape) * (1.5 if controlled else 1)
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
        value = smooth = shift = 0.0
        pulled = torch.zeros_like(self.x)  # Σ_k 1(z_k·x_i>0) (v(z_k) − v(−z_k))
        opposite = torch.zeros_like(total)  # Σ_k v(−z_k)
        control = _Control(self) if self.controlled else None
        for active in self.active:
            mask = active.to(self.x.dtype)
            here = mask @ weighted
            sides = (here,) if self.single else (here, total - here)
            if control is not None:
                control.add(mask, *sides)
            v = []
            for side in sides:
                if smoothing > 0:
                    vectors, norms = smoothed(side, smoothing)
                    smooth += float(huber(norms, smoothing).sum(dtype=torch.float64))
                    shift += float(huber_shift(norms, smoothing).sum(dtype=torch.float64))
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
        value, smooth, shift = value / count, smooth / count, shift / count
        if control is not None:
            more = control.correction(q / mass, smoothing)
            functional += more.functional
            value, smooth, shift = value + more.value, smooth + more.value, shift + more.shift
        return Evaluation(value * mass, functional, smooth * mass, shift)


class _Control:
    """h_s(√E‖G‖²) in the kernel limit minus that of the sample."""

    def __init__(self, problem: SampleProblem) -> None:
        self.problem = problem
        self._square = 0.0
        self._pulled, self._opposite = torch.zeros_like(problem.x), torch.zeros_like(problem.x[0])

    def add(self, mask: Tensor, here: Tensor, opposite: Tensor) -> None:
        """Add directions, by the mask of active points and G both ways."""
        self._square += float((here.square().sum() + opposite.square().sum()).double())
        self._opposite += opposite.sum(0)
        self._pulled.addmm_(mask.t(), here - opposite)

    def correction(self, q: np.ndarray, smoothing: float) -> "Evaluation":
        """What it adds to F, the margins and the shift at q in the simplex."""
        problem, count = self.problem, 2 * self.problem.pairs
        assert problem.metric is not None
        sampled = (problem.y * ((self._pulled + self._opposite) * problem.x).sum(1)).double().numpy() / count
        exact = problem.metric(q)
        squares = torch.tensor([float(q @ exact), self._square / count], dtype=torch.float64).clamp_min(0)
        roots = squares.sqrt()
        value = huber(roots, smoothing) if smoothing > 0 else roots
        shift = huber_shift(roots, smoothing) if smoothing > 0 else torch.zeros(2)
        over = roots.clamp_min(max(smoothing, TINY))
        change = float(value[0] - value[1])
        return Evaluation(change, exact / float(over[0]) - sampled / float(over[1]), change, float(shift[0] - shift[1]))


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
        if self.problem.metric is not None:
            product = _smoothed_product(self.problem.metric, smoothing)
            minimize_in_metric(objective, self.latest / scale**2, product, done=done, evaluations=left)
            left = self.evaluations - self.count
            if done() or left <= 0:
                return
        minimize_nonnegative(objective, self.latest / scale**2, done=done, evaluations=left)


def _smoothed_product(metric: KernelMetric, smoothing: float) -> Callable[[np.ndarray], np.ndarray]:
    """About the Hessian of ½F_s²: A and, for h_s as well as for √(r² + s²), a part s² along Σq."""
    return lambda vector: metric(vector) + smoothing**2 * float(vector.sum())
