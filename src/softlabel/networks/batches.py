"""Which rows every mini-batch step uses: an own random order per epoch, or one for each of several seeds."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import require


class Batches:
    """Rows of each step: all of them (None), or the next part of the epoch's permutations, one for each seed.

    The order of a seed is the same whatever the other seeds are.
    """

    def __init__(self, rows: int, size: int | None, seeds: Sequence[int] = (0,)) -> None:
        require(size is None or size >= 1, f"batch_size must be an integer ≥ 1, got {size}")
        self.count, self.seeds = rows, seeds
        self.size = min(size or rows, rows)
        self.per_epoch = math.ceil(rows / self.size)
        self._epoch, self._orders = -1, torch.empty(0, 0, dtype=torch.long)

    def rows(self, step: int) -> Tensor | None:
        """Row numbers (seeds, batch) of a step."""
        if self.per_epoch == 1:
            return None
        epoch, index = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            orders = [np.random.default_rng([seed, epoch]).permutation(self.count) for seed in self.seeds]
            self._epoch, self._orders = epoch, torch.from_numpy(np.stack(orders))
        return self._orders[:, index * self.size : (index + 1) * self.size]
