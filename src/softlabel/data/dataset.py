"""A data set in memory, as it was read."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softlabel.errors import unknown


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples with class labels.

    `inputs` is (n, d) float32, and `labels` is (n,) int64, positions in `classes`. `parts` has the rows of 'train' and,
    where the set has an official test part, of 'test'. `columns` names the inputs of a table, `image_shape` is the
    shape of one image as it was read, and `notes` describe how the user's data were treated.
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
