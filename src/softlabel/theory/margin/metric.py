"""The curvature of the margin problem in the kernel limit, known without sampling.

With A = yyᵀ∘K_1, E‖G_q(z)‖² = qᵀAq exactly. If ‖G_q(z)‖ did not depend on z, F(q) would be √(qᵀAq), and the Hessian of
½F² would be A; on images ‖G_q‖ varies by a quarter of its mean. A is therefore near the Hessian of ½F², and of
½F_M² for a sample of many directions.

It is also the mean of a control variate: √(qᵀAq) minus the same quantity of a sample is about the error of F_M(q).
"""

import numpy as np
import torch

from softlabel.theory.kernel import KernelRows
from softlabel.theory.margin.kernel_margin import between_rows, entry_operations
from softlabel.theory.margin.limits import SearchStage

FEWEST_POINTS = 400  # with fewer, evaluations cost less than products with A
MOST_POINTS = 30_000  # 3.6 GB
BLOCK = 2048


class KernelMetric:
    """A between the points `base` of all rows, in float32; for other points, its diagonal alone."""

    def __init__(self, rows: KernelRows, y: np.ndarray, base: np.ndarray, stop: SearchStage) -> None:
        self.base = base
        stop.spend(entry_operations(rows) * len(base) ** 2)
        part, signs = torch.from_numpy(base), torch.from_numpy(y[base]).float()
        single = KernelRows(rows.directions.float(), rows.norms.float())
        self._gram = torch.empty(len(base), len(base))
        for start in range(0, len(base), BLOCK):
            block = slice(start, start + BLOCK)
            self._gram[block] = between_rows(single, part[block], part)
            self._gram[block].mul_(signs[block, None]).mul_(signs)
        self._diagonal = (rows.norms.double().square() / 2).numpy()

    def on(self, chosen: np.ndarray, stop: SearchStage) -> "ChosenMetric":
        """The metric of some points."""
        return ChosenMetric(self, chosen, stop)

    def product(self, vector: np.ndarray) -> np.ndarray:
        """A times a vector over the base."""
        return torch.mv(self._gram, torch.from_numpy(vector).float()).double().numpy()

    def diagonal(self, points: np.ndarray) -> np.ndarray:
        """A_ii of points."""
        return self._diagonal[points]


class ChosenMetric:
    """Products with A restricted to chosen points."""

    def __init__(self, metric: KernelMetric, chosen: np.ndarray, stop: SearchStage) -> None:
        self.metric, self.stop = metric, stop
        inside = np.isin(chosen, metric.base, assume_unique=True)
        self.inside, self.outside = np.flatnonzero(inside), np.flatnonzero(~inside)
        self.positions = np.searchsorted(metric.base, chosen[self.inside])
        self.diagonal = metric.diagonal(chosen[self.outside])

    @property
    def complete(self) -> bool:
        """Whether all chosen points are in the base, so that products are exact."""
        return len(self.outside) == 0

    def __call__(self, vector: np.ndarray) -> np.ndarray:
        """A times a vector (chosen,)."""
        self.stop.spend(4.0 * len(self.metric.base) ** 2)  # bound by memory: twice the operations of the product
        spread = np.zeros(len(self.metric.base))
        spread[self.positions] = vector[self.inside]
        result = np.empty(len(vector))
        result[self.inside] = self.metric.product(spread)[self.positions]
        result[self.outside] = self.diagonal * vector[self.outside]
        return result


def kernel_metric(rows: KernelRows, y: np.ndarray, base: np.ndarray, stop: SearchStage) -> KernelMetric | None:
    """The metric of these points; None where it would not save time, or would need too much memory."""
    return KernelMetric(rows, y, base, stop) if FEWEST_POINTS <= len(base) <= MOST_POINTS else None
