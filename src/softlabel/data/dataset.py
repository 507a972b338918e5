"""A data set in memory, as it was read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softlabel.errors import unknown

if TYPE_CHECKING:
    import polars

    from softlabel.data.encoding import ColumnPlan


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples with class labels.

    `inputs` is (n, d) float32, and `labels` is (n,) int64, positions in `classes`. `parts` has the rows of 'train' and,
    where the set has an official test part, of 'test'. `columns` names the inputs of a table, `image_shape` is the
    shape of one image as it was read, and `notes` describe how the user's data were treated.

    `frame` has the columns of a table as they were read, and `plans` say what each of them is. A table with text,
    categories, dates or missing values has no inputs yet, (n, 0): an encoder makes them once there are training rows to
    learn from. `groups` and `times` (n,) are the entries of the columns that decide a split, and `file_rows` (n,) the
    rows of the file, of which some may have been left out.
    """

    name: str
    inputs: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    parts: Mapping[str, slice]
    image_shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    frame: "polars.DataFrame | None" = None
    plans: "tuple[ColumnPlan, ...]" = ()
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    file_rows: np.ndarray | None = None
    rows_in_file: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_plain(self) -> bool:
        """Whether the inputs are there: numbers without gaps."""
        return self.inputs.shape[1] > 0

    def part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of one part."""
        if name not in self.parts:
            raise unknown(f"part of {self.name}", name, self.parts)
        rows = self.parts[name]
        return self.inputs[rows], self.labels[rows]
