"""Kernels of the infinitely wide two-layer network f(x) = (1/√m) Σ_j a_j σ(w_j·x), w_j ~ N(0, I), in closed form.

With θ the angle between x and x', for ReLU:

    gradient   K_1(x, x') = x·x' E[σ'(w·x) σ'(w·x')] = x·x' (π − θ)/(2π)            hidden layer trained (Mandal)
    output     E[σ(w·x) σ(w·x')] = ‖x‖‖x'‖ (sin θ + (π − θ) cos θ)/(2π)             output layer trained (NNGP)
    both       their sum, the neural tangent kernel of both layers

and for σ = erf, with s = 1 + 2‖x‖², s' = 1 + 2‖x'‖²:

    gradient   x·x' (4/π)/r,             r² = s s' − 4 (x·x')² = s + s' − 1 + 4 (‖x‖‖x'‖ sin θ)²
    output     (2/π) arcsin(2 x·x'/√(s s')) = (2/π) arctan(2 x·x'/r)

`kernel_matrix` is dense; `kernel_product` holds only a few blocks at a time. An angle near 0 or π is
computed from the difference of the two directions, since rounding has destroyed it in the cosine.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import InputError, require, unknown
from softlabel.numerics import prepare_inputs

BLOCK = 1024
NEAR = {torch.float32: 5e-4, torch.float64: 1e-4}  # 1 − |cos θ| below which the angle is computed from differences
KINDS = ("gradient", "output", "both")


class Kernel:
    """A kernel between blocks of rows; `kind` is gradient, output or both, `activation` relu or erf."""

    def __init__(self, kind: str = "gradient", activation: str = "relu") -> None:
        if kind not in KINDS:
            raise unknown("kernel", kind, KINDS)
        formulas = {"relu": self._relu, "erf": self._erf}
        if activation not in formulas:
            raise unknown("activation with a closed-form kernel", activation, formulas)
        self.kind, self.activation = kind, activation
        self._formula = formulas[activation]

    def between(self, rows: "KernelRows", columns: "KernelRows", same: bool, out: Tensor | None = None) -> Tensor:
        """The block K(rows, columns), written to `out` if it is not None; `same` if both are the same examples."""
        return self._formula(rows, columns, same, out)

    def _relu(self, rows: "KernelRows", columns: "KernelRows", same: bool, out: Tensor | None) -> Tensor:
        opposite, beyond = _angles(rows, columns, same)  # −cos θ, π − θ
        if self.kind == "gradient":
            value = opposite.mul_(beyond).mul_(-rows.norms[:, None] / (2 * math.pi))
        else:
            value = torch.sin(beyond)  # = sin θ
            value.addcmul_(opposite, beyond, value=-2 if self.kind == "both" else -1)
            value.mul_(rows.norms[:, None] / (2 * math.pi))
        return torch.mul(value, columns.norms, out=out)

    def _erf(self, rows: "KernelRows", columns: "KernelRows", same: bool, out: Tensor | None) -> Tensor:
        opposite, beyond = _angles(rows, columns, same)
        lengths = rows.norms[:, None] * columns.norms
        root = beyond.sin_().mul_(lengths).mul_(2).square_()
        root.add_(1 + 2 * rows.norms.square()[:, None]).add_(2 * columns.norms.square()).sqrt_()
        inner = opposite.neg_().mul_(lengths)
        gradient = inner / root if self.kind != "output" else torch.zeros((), dtype=inner.dtype)
        output = torch.atan(2 * inner / root) if self.kind != "gradient" else torch.zeros((), dtype=inner.dtype)
        return torch.add(gradient.mul_(4 / math.pi), output.mul_(2 / math.pi), out=out)


class KernelRows:
    """Examples as unit directions and norms."""

    def __init__(self, directions: Tensor, norms: Tensor) -> None:
        self.directions, self.norms = directions, norms

    def __getitem__(self, part: slice | Tensor) -> "KernelRows":
        return KernelRows(self.directions[part], self.norms[part])

    def __len__(self) -> int:
        return len(self.norms)

    @classmethod
    def from_inputs(cls, inputs: Any, dtype: torch.dtype, compact: bool = True) -> "KernelRows":
        """Check inputs (n, d) and convert them."""
        table = prepare_inputs(inputs, bias=False, dtype=dtype, compact=compact, rotate=compact)
        source = table.source
        if not isinstance(source, Tensor):
            raise InputError("a kernel needs its inputs in memory; pass a part of the memory-mapped table")
        norms = torch.linalg.vector_norm(source, dim=1, dtype=torch.float64)
        directions = source / norms.clamp_min(torch.finfo(dtype).tiny)[:, None].to(dtype)
        return cls(directions, norms.to(dtype))


def _angles(rows: KernelRows, columns: KernelRows, same: bool) -> tuple[Tensor, Tensor]:
    """−cos θ and π − θ between rows and columns.

    An angle near 0 or π is computed from the rows themselves, θ = 2 atan2(‖u − v‖, ‖u + v‖).
    """
    opposite = torch.empty(len(rows), len(columns), dtype=rows.norms.dtype)
    torch.addmm(opposite, rows.directions, columns.directions.t(), beta=0, alpha=-1, out=opposite)
    if same:
        opposite.fill_diagonal_(0)  # a row with itself: assigned below
    limit = 1 - NEAR[opposite.dtype]
    smallest, largest = torch.aminmax(opposite) if opposite.numel() else (0.0, 0.0)
    if smallest >= -limit and largest <= limit:
        beyond = torch.acos(opposite)
    else:
        beyond = torch.acos(opposite.clamp_(-1, 1))
        for first, second in _split((opposite.abs() > limit).nonzero(as_tuple=True)):
            u, v = rows.directions[first].double(), columns.directions[second].double()
            apart = torch.linalg.vector_norm(u - v, dim=1)
            together = torch.linalg.vector_norm(u + v, dim=1)
            beyond[first, second] = (2 * torch.atan2(together, apart)).to(beyond.dtype)
    if same:
        opposite.fill_diagonal_(-1)
        beyond.fill_diagonal_(math.pi)
    return opposite, beyond


def _split(indices: tuple[Tensor, ...], size: int = 65536) -> Iterator[tuple[Tensor, Tensor]]:
    rows, columns = indices
    yield from zip(rows.split(size), columns.split(size), strict=True)


def kernel_matrix(
    inputs: Any,
    others: Any | None = None,
    *,
    kind: str = "gradient",
    activation: str = "relu",
    precision: str = "float64",
) -> np.ndarray:
    """Compute the kernel of an infinitely wide two-layer network as a dense matrix.

    The network is f(x) = (1/√m) Σ_j a_j σ(w_j·x) with w_j ~ N(0, I), in the limit of m → ∞. For matrices that do not
    fit into memory, see `softlabel.theory.kernel.kernel_product`.

    Parameters
    ----------
    inputs : array-like of shape (n, d)
        Examples of the rows.
    others : array-like of shape (n', d), optional
        Examples of the columns. Default: the inputs themselves.
    kind : {"gradient", "output", "both"}
        Which layers are trained: the hidden layer, the output layer, or both (the neural tangent kernel).
    activation : {"relu", "erf"}
        Activation σ.
    precision : {"float64", "float32"}
        Precision of the computation and of the result.

    Returns
    -------
    numpy.ndarray of shape (n, n')
        The kernel between every row of `inputs` and every row of `others`.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.kernel_matrix([[1.0, 0.0], [1.0, 1.0]]).round(4)
    array([[0.5  , 0.375],
           [0.375, 1.   ]])
    """
    kernel, dtype = Kernel(kind, activation), _dtype(precision)
    if others is None:
        return _symmetric(kernel, KernelRows.from_inputs(inputs, dtype)).numpy()
    rows, columns = (KernelRows.from_inputs(table, dtype, compact=False) for table in (inputs, others))
    d, other_d = np.shape(inputs)[1], np.shape(others)[1]
    require(d == other_d, f"`inputs` have {d} columns, `others` {other_d}; they must have the same")
    out = torch.empty(len(rows), len(columns), dtype=dtype)
    for first in _slices(len(rows)):
        for second in _slices(len(columns)):
            kernel.between(rows[first], columns[second], False, out[first, second])
    return out.numpy()


def _symmetric(kernel: Kernel, rows: KernelRows) -> Tensor:
    """K(rows, rows), from the blocks on and above the diagonal."""
    out = torch.empty(len(rows), len(rows), dtype=rows.norms.dtype)
    for first, second in _pairs(len(rows)):
        block = kernel.between(rows[first], rows[second], first == second, out[first, second])
        if first != second:
            out[second, first] = block.t()
    return out


def kernel_product(
    inputs: Any | KernelRows,
    vectors: np.ndarray,
    *,
    kind: str = "gradient",
    activation: str = "relu",
    precision: str = "float32",
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """K(inputs, inputs) @ vectors, of shape (n,) or (n, k), in blocks: memory grows with n, not n².

    Inputs that are `KernelRows` already keep their precision. `progress(done, total)` is called after each block. Sums
    over blocks are accumulated in float64.
    """
    kernel, dtype = Kernel(kind, activation), _dtype(precision)
    rows = inputs if isinstance(inputs, KernelRows) else KernelRows.from_inputs(inputs, dtype)
    vectors = np.ascontiguousarray(vectors, dtype=np.float64)
    right = torch.from_numpy(vectors).reshape(len(vectors), -1).to(rows.directions.dtype)
    require(len(right) == len(rows), f"`vectors` have {len(right)} rows, `inputs` have {len(rows)}")
    out = torch.zeros(right.shape, dtype=torch.float64)
    pairs = list(_pairs(len(rows)))
    for done, (first, second) in enumerate(pairs, start=1):
        block = kernel.between(rows[first], rows[second], first == second)
        out[first] += block @ right[second]
        if first != second:
            out[second] += block.t() @ right[first]
        if progress is not None:
            progress(done, len(pairs))
    return out.numpy().reshape(vectors.shape)


def _dtype(precision: str) -> torch.dtype:
    if precision not in ("float32", "float64"):
        raise InputError(f"`precision` must be float32 or float64, got '{precision}'")
    return torch.float32 if precision == "float32" else torch.float64


def _slices(count: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]


def _pairs(count: int) -> Iterator[tuple[slice, slice]]:
    """Every unordered pair of blocks, including each block with itself."""
    slices = _slices(count)
    for index, first in enumerate(slices):
        for second in slices[index:]:
            yield first, second
