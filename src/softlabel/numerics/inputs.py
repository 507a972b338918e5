"""Training inputs in the layout that the engine reads: compact, aligned, in blocks.

The layout changes no result. Columns that are zero in every row are dropped, since their weights never change. With
fewer than half as many rows as columns, the rows are rotated into their span, which gradients never leave; plain
gradient steps are invariant under this rotation. Columns are padded with zeros to a multiple of 16, so that every row
begins on a cache line. A `numpy.memmap` is never copied into memory: its blocks pass through one fixed buffer.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import InputError, require

ALIGN = 16
SCAN_BYTES = 64 << 20


class Inputs:
    """n rows of `columns` numbers, and the linear map between them and the user's `dimension` columns.

    `reduce` maps weights on the user's columns to weights on these columns; `expand` maps a *change* of such weights
    back. The part that `reduce` drops never changes in training, so the trained weights are initial weights +
    expand(change). With `bias`, a column of ones follows the last column in both; `used` columns precede the padding.
    """

    def __init__(
        self,
        source: Tensor | np.memmap,
        *,
        dimension: int,
        dtype: torch.dtype,
        bias: bool = False,
        keep: np.ndarray | None = None,
        basis: Tensor | None = None,
    ) -> None:
        self.source, self.dimension, self.dtype, self.bias = source, dimension, dtype, bias
        self.keep, self.basis = keep, basis
        inner = dimension if keep is None else len(keep)
        self.used = (inner if basis is None else basis.shape[1]) + bias
        self.columns = _padded(self.used)
        self.rows = source.shape[0]
        self._buffer: Tensor | None = None

    def block(self, start: int, stop: int) -> Tensor:
        """Rows start..stop as (rows, columns); valid until the next call."""
        if isinstance(self.source, Tensor):
            return self.source[start:stop]
        return self._copied(self.source[start:stop])

    def batch(self, rows: Tensor) -> Tensor:
        """The rows with these indices as (rows, columns); valid until the next call."""
        if isinstance(self.source, Tensor):
            return self.source.index_select(0, rows)
        return self._copied(self.source[rows.numpy()])

    def _copied(self, rows: np.ndarray) -> Tensor:
        count = rows.shape[0]
        if self._buffer is None or self._buffer.shape[0] < count:
            self._buffer = torch.zeros(count, self.columns, dtype=self.dtype)
        block = self._buffer[:count]
        fill(block, rows, keep=self.keep, bias=self.bias)
        return block

    def reduce(self, weights: Tensor) -> Tensor:
        """Weights (2, rows, dimension [+1 for the bias]) as they act on these columns: (2, rows, columns), in float64.

        Equal halves stay bitwise equal: each is multiplied separately, from memory with the same alignment.
        """
        inner = weights[..., : self.dimension].double()
        if self.basis is not None:
            inner = torch.stack([half.clone() @ self.basis for half in inner])
        elif self.keep is not None:
            inner = inner[..., torch.from_numpy(self.keep)]
        reduced = torch.zeros(*weights.shape[:-1], self.columns, dtype=torch.float64)
        reduced[..., : inner.shape[-1]] = inner
        if self.bias:
            reduced[..., self.used - 1] = weights[..., -1]
        return reduced

    def expand(self, change: Tensor) -> Tensor:
        """A change of weights on these columns (…, columns) as one on the user's (…, dimension [+1])."""
        full = torch.zeros(*change.shape[:-1], self.dimension + self.bias, dtype=torch.float64)
        inner = change[..., : self.used - self.bias].double()
        if self.basis is not None:
            full[..., : self.dimension] = inner @ self.basis.t()
        elif self.keep is not None:
            full[..., torch.from_numpy(self.keep)] = inner
        else:
            full[..., : self.dimension] = inner
        if self.bias:
            full[..., -1] = change[..., self.used - 1]
        return full


def fill(block: Tensor, rows: np.ndarray, *, keep: np.ndarray | None, bias: bool) -> None:
    """Write the kept columns of `rows`, and ones for the bias, into the first columns of `block`."""
    chosen = rows if keep is None else rows[:, keep]
    columns = chosen.shape[1]
    if block.dtype == torch.bfloat16:  # which NumPy does not know
        block[:, :columns] = torch.from_numpy(np.array(chosen))
    else:
        block.numpy()[:, :columns] = chosen
    if bias:
        block[:, columns] = 1.0


def prepare_inputs(inputs: Any, *, bias: bool, dtype: torch.dtype, rotate: bool = True, compact: bool = True) -> Inputs:
    """Check the inputs (two dimensions, finite) and arrange them for training.

    `bias` appends a column of ones; `rotate=False` is for optimizers that are not invariant under rotations (Adam);
    `compact=False` keeps every column in its position.
    """
    if not isinstance(inputs, np.memmap):
        inputs = _as_array(inputs)
    require(
        inputs.ndim == 2 and inputs.shape[0] > 0 and inputs.shape[1] > 0,
        f"inputs must be a table of rows and columns, got shape {tuple(inputs.shape)}",
    )
    rows, dimension = inputs.shape
    nonzero = _scan(inputs)
    keep = np.flatnonzero(nonzero) if compact and nonzero.any() and not nonzero.all() else None
    if isinstance(inputs, np.memmap):
        return Inputs(inputs, dimension=dimension, dtype=dtype, bias=bias, keep=keep)
    if compact and rotate and 2 * rows <= nonzero.sum():
        table = torch.from_numpy(np.asarray(inputs, dtype=np.float64))
        basis, triangle = torch.linalg.qr(table.t())
        source = torch.zeros(rows, _padded(rows + bias), dtype=dtype)
        fill(source, triangle.t().numpy(), keep=None, bias=bias)
        return Inputs(source, dimension=dimension, dtype=dtype, bias=bias, basis=basis)
    source = torch.zeros(rows, _padded((dimension if keep is None else len(keep)) + bias), dtype=dtype)
    size = _scan_rows(inputs)
    for start in range(0, rows, size):
        fill(source[start : start + size], inputs[start : start + size], keep=keep, bias=bias)
    return Inputs(source, dimension=dimension, dtype=dtype, bias=bias, keep=keep)


def _padded(columns: int) -> int:
    return -(-columns // ALIGN) * ALIGN


def _as_array(inputs: Any) -> np.ndarray:
    array = inputs.detach().cpu().numpy() if isinstance(inputs, Tensor) else np.asarray(inputs)
    if array.dtype.kind not in "fiub":
        raise InputError(f"inputs must be numbers, got dtype {array.dtype}; encode text columns first")
    return array if array.dtype.kind == "f" else array.astype(np.float32)


def _scan_rows(inputs: np.ndarray) -> int:
    return max(1, SCAN_BYTES // (inputs.itemsize * inputs.shape[1]))


def _scan(inputs: np.ndarray) -> np.ndarray:
    """Which columns have a nonzero value; raises on the first NaN or infinity, naming its row and column."""
    nonzero = np.zeros(inputs.shape[1], dtype=bool)
    rows = _scan_rows(inputs)
    for start in range(0, inputs.shape[0], rows):
        part = np.asarray(inputs[start : start + rows])
        # A sum is finite only if every term is; an overflow of finite values is recognized below.
        with np.errstate(over="ignore", invalid="ignore"):
            total = part.sum(dtype=np.float64)
        if not np.isfinite(total):
            bad = np.argwhere(~np.isfinite(part))
            if len(bad):
                row, column = bad[0]
                raise InputError(
                    f"inputs: {part[row, column]} at row {start + row}, column {column}; "
                    "remove or fill such values before training"
                )
        nonzero |= (part != 0).any(axis=0)
    return nonzero
