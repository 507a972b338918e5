"""Kernels of the infinitely wide two-layer network f(x) = (1/√m) Σ_j a_j σ(w_j·x), w_j ~ N(0, I), in closed form.

With θ the angle between x and x', for ReLU:

    gradient   K_1(x, x') = x·x' E[σ'(w·x) σ'(w·x')] = x·x' (π − θ)/(2π)            hidden layer trained (Mandal)
    output     E[σ(w·x) σ(w·x')] = ‖x‖‖x'‖ (sin θ + (π − θ) cos θ)/(2π)             output layer trained (NNGP)
    both       their sum, the neural tangent kernel of both layers

and for σ = erf, with s = 1 + 2‖x‖², s' = 1 + 2‖x'‖²:

    gradient   x·x' (4/π)/r,             r² = s s' − 4 (x·x')² = s + s' − 1 + 4 (‖x‖‖x'‖ sin θ)²
    output     (2/π) arcsin(2 x·x'/√(s s')) = (2/π) arctan(2 x·x'/r)

`kernel_matrix` is dense; `kernel_product` and `kernel_form` never hold more than a few blocks. An angle near 0 or π is
taken from the difference of the two directions, since its cosine has lost it to rounding.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import InputError, unknown
from softlabel.numerics import prepare_inputs

BLOCK = 1024
NEAR = {torch.float32: 5e-4, torch.float64: 1e-8}  # 1 − |cos θ| below which the angle is computed anew
KINDS = ("gradient", "output", "both")


class Kernel:
    """One kernel between blocks of rows; `kind` is gradient, output or both, `activation` relu or erf."""

    def __init__(self, kind: str = "gradient", activation: str = "relu") -> None:
        if kind not in KINDS:
            raise unknown("kernel", kind, KINDS)
        formulas = {"relu": self._relu, "erf": self._erf}
        if activation not in formulas:
            raise unknown("activation with a closed-form kernel", activation, formulas)
        self.kind, self.activation = kind, activation
        self._formula = formulas[activation]

    def between(self, rows: "Rows", columns: "Rows", same: bool, out: Tensor | None = None) -> Tensor:
        """The block K(rows, columns), into `out` if given; `same` says that both are the same examples."""
        return self._formula(rows, columns, same, out)

    def _relu(self, rows: "Rows", columns: "Rows", same: bool, out: Tensor | None) -> Tensor:
        opposite, beyond = _angles(rows, columns, same)  # −cos θ, π − θ
        if self.kind == "gradient":
            value = opposite.mul_(beyond).mul_(-rows.norms[:, None] / (2 * math.pi))
        else:
            value = torch.sin(beyond)  # = sin θ
            value.addcmul_(opposite, beyond, value=-2 if self.kind == "both" else -1)
            value.mul_(rows.norms[:, None] / (2 * math.pi))
        return torch.mul(value, columns.norms, out=out)

    def _erf(self, rows: "Rows", columns: "Rows", same: bool, out: Tensor | None) -> Tensor:
        opposite, beyond = _angles(rows, columns, same)
        lengths = rows.norms[:, None] * columns.norms
        root = beyond.sin_().mul_(lengths).mul_(2).square_()
        root.add_(1 + 2 * rows.norms.square()[:, None]).add_(2 * columns.norms.square()).sqrt_()
        inner = opposite.neg_().mul_(lengths)
        gradient = inner / root if self.kind != "output" else torch.zeros((), dtype=inner.dtype)
        output = torch.atan(2 * inner / root) if self.kind != "gradient" else torch.zeros((), dtype=inner.dtype)
        return torch.add(gradient.mul_(4 / math.pi), output.mul_(2 / math.pi), out=out)


class Rows:
    """Examples as unit directions and norms."""

    def __init__(self, directions: Tensor, norms: Tensor) -> None:
        self.directions, self.norms = directions, norms

    def __getitem__(self, part: slice) -> "Rows":
        return Rows(self.directions[part], self.norms[part])

    def __len__(self) -> int:
        return len(self.norms)

    @classmethod
    def of(cls, inputs: Any, dtype: torch.dtype, compact: bool = True) -> "Rows":
        """Check and lay out inputs (n, d)."""
        table = prepare_inputs(inputs, bias=False, dtype=dtype, compact=compact, rotate=compact)
        source = table.source
        if not isinstance(source, Tensor):
            raise InputError("a kernel needs its inputs in memory; pass a part of the memory-mapped table")
        norms = torch.linalg.vector_norm(source, dim=1, dtype=torch.float64)
        directions = source / norms.clamp_min(torch.finfo(dtype).tiny)[:, None].to(dtype)
        return cls(directions, norms.to(dtype))


def _angles(rows: Rows, columns: Rows, same: bool) -> tuple[Tensor, Tensor]:
    """−cos θ and π − θ between rows and columns.

    An angle near 0 or π is computed from the rows themselves, θ = 2 atan2(‖u − v‖, ‖u + v‖).
    """
    opposite = torch.empty(len(rows), len(columns), dtype=rows.norms.dtype)
    torch.addmm(opposite, rows.directions, columns.directions.t(), beta=0, alpha=-1, out=opposite)
    if same:
        opposite.fill_diagonal_(0)  # a row with itself: set below
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


def _split(places: tuple[Tensor, ...], size: int = 65536) -> Iterator[tuple[Tensor, Tensor]]:
    rows, columns = places
    yield from zip(rows.split(size), columns.split(size), strict=True)


def kernel_matrix(
    inputs: Any,
    others: Any | None = None,
    *,
    kind: str = "gradient",
    activation: str = "relu",
    precision: str = "float64",
) -> np.ndarray:
    """K(inputs, others) as a dense (n, n') array; without `others`, K(inputs, inputs)."""
    kernel, dtype = Kernel(kind, activation), _dtype(precision)
    if others is None:
        rows = Rows.of(inputs, dtype)
        out = torch.empty(len(rows), len(rows), dtype=dtype)
        for first, second in _pairs(len(rows)):
            block = kernel.between(rows[first], rows[second], first == second, out[first, second])
            if first != second:
                out[second, first] = block.t()
        return out.numpy()
    rows, columns = Rows.of(inputs, dtype, compact=False), Rows.of(others, dtype, compact=False)
    if np.shape(inputs)[1] != np.shape(others)[1]:
        raise InputError(
            f"inputs have {np.shape(inputs)[1]} columns, others {np.shape(others)[1]}; they must have the same"
        )
    out = torch.empty(len(rows), len(columns), dtype=dtype)
    for first in _slices(len(rows)):
        for second in _slices(len(columns)):
            kernel.between(rows[first], columns[second], False, out[first, second])
    return out.numpy()


def kernel_product(
    inputs: Any | Rows,
    vectors: np.ndarray,
    *,
    kind: str = "gradient",
    activation: str = "relu",
    precision: str = "float32",
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """K(inputs, inputs) @ vectors, (n,) or (n, k), in blocks: memory grows with n, not n².

    Prepared `Rows` keep their own precision. `progress(done, all)` is called after each block. Sums over blocks are
    kept in float64.
    """
    kernel, dtype = Kernel(kind, activation), _dtype(precision)
    rows = inputs if isinstance(inputs, Rows) else Rows.of(inputs, dtype)
    vectors = np.ascontiguousarray(vectors, dtype=np.float64)
    right = torch.from_numpy(vectors).reshape(len(vectors), -1).to(rows.directions.dtype)
    if len(right) != len(rows):
        raise InputError(f"vectors have {len(right)} rows, inputs have {len(rows)}")
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


def kernel_form(inputs: Any, vector: np.ndarray, **options: Any) -> float:
    """vᵀ K v without holding K; options as for `kernel_product`."""
    return float(np.asarray(vector, dtype=np.float64) @ kernel_product(inputs, vector, **options))


def empirical_kernel(inputs: Any, weights: Any, *, kind: str = "gradient", activation: str = "relu") -> np.ndarray:
    """The same kernel at finite width: expectations over w replaced by the mean over rows of `weights` (m, d)."""
    x, w = np.asarray(inputs, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    Kernel(kind, activation)
    z = x @ w.T
    if activation == "relu":
        value, slope = np.maximum(z, 0), (z > 0).astype(np.float64)
    else:
        value = torch.erf(torch.from_numpy(z)).numpy()
        slope = 2 / math.sqrt(math.pi) * np.exp(-z * z)
    gradient = (x @ x.T) * (slope @ slope.T) / len(w)
    output = value @ value.T / len(w)
    return {"gradient": gradient, "output": output, "both": gradient + output}[kind]


def _dtype(precision: str) -> torch.dtype:
    if precision not in ("float32", "float64"):
        raise InputError(f"precision must be float32 or float64, got '{precision}'")
    return torch.float32 if precision == "float32" else torch.float64


def _slices(count: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]


def _pairs(count: int) -> Iterator[tuple[slice, slice]]:
    """Every unordered pair of blocks, a block with itself among them."""
    slices = _slices(count)
    for place, first in enumerate(slices):
        for second in slices[place:]:
            yield first, second
