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
    """Products with A of chosen points, in float32; `stop` counts their operations."""

    def __init__(self, rows: KernelRows, y: np.ndarray, chosen: np.ndarray, stop: SearchStage) -> None:
        self.chosen, self._stop = chosen, stop
        stop.spend(entry_operations(rows) * len(chosen) ** 2)
        part, signs = torch.from_numpy(chosen), torch.from_numpy(y[chosen]).float()
        single = KernelRows(rows.directions.float(), rows.norms.float())
        self._gram = torch.empty(len(chosen), len(chosen))
        for start in range(0, len(chosen), BLOCK):
            block = slice(start, start + BLOCK)
            self._gram[block] = between_rows(single, part[block], part)
            self._gram[block].mul_(signs[block, None]).mul_(signs)

    def __call__(self, vector: np.ndarray) -> np.ndarray:
        """A times a vector (chosen,)."""
        self._stop.spend(4.0 * self._gram.numel())  # bound by memory: twice the operations of the product
        return torch.mv(self._gram, torch.from_numpy(vector).float()).double().numpy()


class LastMetric:
    """Returns the metric of chosen points, or None where it would not save time or needs too much memory.

    The last metric is kept, since the same points are often chosen again.
    """

    def __init__(self, rows: KernelRows, y: np.ndarray, stop: SearchStage) -> None:
        self._rows, self._y, self._stop = rows, y, stop
        self._metric: KernelMetric | None = None

    def __call__(self, chosen: np.ndarray) -> KernelMetric | None:
        if self._metric is None or not np.array_equal(self._metric.chosen, chosen):
            self._metric = None  # frees its memory
            if FEWEST_POINTS <= len(chosen) <= MOST_POINTS:
                self._metric = KernelMetric(self._rows, self._y, chosen, self._stop)
        return self._metric
