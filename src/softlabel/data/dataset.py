"""A data set in memory."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softlabel.errors import unknown


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples with class labels.

    `inputs` is (n, d) float32 and `labels` is (n,) int64, each an index into `classes`. `parts` cuts the rows
    into 'train' and, where the set has an official one, 'test'. `columns` names the inputs of a table, and
    `image_shape` is how an input row of pixels is laid out. `notes` says what was done to the user's data.
    """

    name: str
    inputs: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    parts: Mapping[str, slice]
    image_shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of one part."""
        if name not in self.parts:
            raise unknown(f"part of {self.name}", name, self.parts)
        rows = self.parts[name]
        return self.inputs[rows], self.labels[rows]
