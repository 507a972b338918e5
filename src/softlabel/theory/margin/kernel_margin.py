"""γ_1, the margin of the kernel K_1: the distance of the origin from the hull of the labeled features.

    γ_1 = min_{q in the simplex} √((q∘y)ᵀ K_1 (q∘y)),        γ_1² ≤ γ* ≤ γ_1

With A = yyᵀ∘K_1, every q brackets it: min_i (Aq)_i/√(qᵀAq) ≤ γ_1 ≤ √(qᵀAq). The same q gives the deterministic floor of
γ*: v = G_q is feasible since ‖G_q‖ ≤ 1, so γ* ≥ min_i (Aq)_i, no sampling involved.

Only points near the margin matter, so the problem is solved on a working set that grows by the points that
violate it, and the full K_1 is never stored.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.numerics import minimize_nonnegative, threads_for
from softlabel.theory.kernel import BLOCK, Kernel, KernelRows
from softlabel.theory.margin.limits import UNLIMITED, SearchStage

FIRST = 2000
ADDED = 2000
ENTRY = 50  # operations of one entry of K_1 beside its product: an arc cosine


@dataclass(frozen=True, eq=False)
class KernelMargin:
    """q in the simplex (n,), `functional` = A q (n,), and lower ≤ γ_1 ≤ upper; `floor` ≤ γ*."""

    q: np.ndarray
    functional: np.ndarray
    lower: float
    upper: float

    @property
    def floor(self) -> float:
        return max(0.0, float(self.functional.min()))


def kernel_margin(
    rows: KernelRows,
    y: np.ndarray,
    *,
    tolerance: float = 1e-4,
    stop: SearchStage = UNLIMITED,
    report: Callable[[str], None] | None = None,
) -> KernelMargin:
    """Solve for γ_1 until its bracket is at most tolerance·γ_1 long, or `stop()` is true."""
    n = len(rows)
    signs = torch.from_numpy(y.astype(np.float64))
    working = np.sort(np.random.default_rng(0).permutation(n)[:FIRST])
    initial = np.full(len(working), 1.0)
    best: KernelMargin | None = None
    while True:
        part = torch.from_numpy(working)
        stop.spend(entry_operations(rows) * len(working) ** 2)
        gram = between_rows(rows, part, part) * torch.outer(signs[part], signs[part])
        inner = _solve(gram, initial, tolerance / 4, stop)
        q = np.zeros(n)
        q[working] = inner
        functional = labeled_product(rows, y, q, stop)
        upper = float(np.sqrt(max(0.0, q @ functional)))
        lower = bracket_low(functional, upper)
        if best is None or (lower, -upper) > (best.lower, -best.upper):
            best = KernelMargin(q, functional, lower, upper)
        if report is not None:
            report(f"γ_1 in [{lower:.4g}, {upper:.4g}], {np.count_nonzero(q)} points support it")
        if upper - lower <= tolerance * upper or len(working) == n or stop():
            return best
        kept = working[inner > 0]
        outside = np.setdiff1d(np.flatnonzero(functional < upper**2), kept)
        added = outside[np.argsort(functional[outside])][:ADDED]
        if len(added) == 0:
            return best
        working = np.union1d(kept, added)
        initial = q[working]


def bracket_low(functional: np.ndarray, upper: float) -> float:
    """min_i (Aq)_i/√(qᵀAq) ≤ γ_1, where upper = √(qᵀAq); rounding never puts it above upper."""
    return min(upper, max(0.0, float(functional.min())) / upper) if upper > 0 else 0.0


def entry_operations(rows: KernelRows) -> float:
    """Floating-point operations of one entry of K_1."""
    return 2.0 * rows.directions.shape[1] + ENTRY


def labeled_product(rows: KernelRows, y: np.ndarray, q: np.ndarray, stop: SearchStage = UNLIMITED) -> np.ndarray:
    """A q for all points, from the points with q > 0; sums in float64. `stop` counts its operations."""
    support = np.flatnonzero(q)
    stop.spend(entry_operations(rows) * len(rows) * len(support))
    weights = torch.from_numpy(q[support] * y[support])
    out = np.empty(len(rows))
    for block in torch.arange(len(rows)).split(4 * BLOCK):
        total = torch.zeros(len(block), dtype=torch.float64)
        for columns, part in zip(torch.from_numpy(support).split(BLOCK), weights.split(BLOCK), strict=True):
            total += between_rows(rows, block, columns) @ part
        out[block.numpy()] = total.numpy() * y[block.numpy()]
    return out


def squared_norm(rows: KernelRows, y: np.ndarray, q: np.ndarray, stop: SearchStage = UNLIMITED) -> float:
    """qᵀAq = E‖G_q‖²."""
    support = np.flatnonzero(q)
    return float(q[support] @ labeled_product(rows[torch.from_numpy(support)], y[support], q[support], stop))


def between_rows(rows: KernelRows, first: Tensor, second: Tensor) -> Tensor:
    """K_1 between chosen rows, in float64 (computed in the rows' own precision)."""
    left = rows[first]
    block = Kernel().between(left, rows[second], False).double()
    own = first[:, None] == second[None, :]
    if own.any():  # a point with itself: the angle is 0
        block[own] = (left.norms.double().square() / 2)[own.nonzero()[:, 0]]
    return block


def _solve(gram: Tensor, initial: np.ndarray, tolerance: float, stop: SearchStage) -> np.ndarray:
    """q in the simplex minimizing qᵀAq on the working set, by ½qᵀAq − Σq over q ≥ 0."""
    best, lower, upper = initial / initial.sum(), -np.inf, np.inf

    def objective(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, lower, upper
        stop.spend(4.0 * gram.numel())  # bound by memory: twice the operations of the product
        pulled = torch.mv(gram, torch.from_numpy(q)).numpy()
        square = max(0.0, float(q @ pulled))
        mass = q.sum()
        if mass > 0 and square > 0:
            norm = np.sqrt(square)
            lower = max(lower, float(pulled.min()) / norm)
            if norm / mass < upper:
                best, upper = q / mass, norm / mass
        return 0.5 * square - mass, pulled - 1

    def done() -> bool:
        return upper - lower <= tolerance * upper or stop()

    scale = float(best @ torch.mv(gram, torch.from_numpy(best)).numpy())
    if scale > 0:
        with threads_for(100 * gram.numel()):  # products are bound by memory, not by arithmetic
            minimize_nonnegative(objective, best / scale, done=done, evaluations=10000)
    return best
