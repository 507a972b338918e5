"""Overlap of hidden units with the top eigenvectors of H^∞ (Rahbar, section 4.4).

H^∞_ij = x_i·x_j (π − angle(x_i, x_j))/(2π) is the gradient kernel K_1 of ReLU units. The outputs of each
unit on the examples, normalized, are projected onto the top eigenvectors. The paper's overlap is the mean of the dot
products; the share of the unit in their span, which does not depend on the signs of the eigenvectors, is computed too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from softlabel.errors import require
from softlabel.theory.kernel import KernelRows, kernel_matrix, kernel_product

DENSE_ROWS = 12_000  # up to this number of rows the kernel matrix is stored


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Top eigenvalues of H^∞, descending (k,), and their eigenvectors (k, n), each with a non-negative sum."""

    values: np.ndarray
    vectors: np.ndarray


def top_spectrum(inputs: Any, count: int = 10, precision: str = "float32") -> Spectrum:
    """The `count` top eigenvectors of H^∞ on inputs (n, d); with more than DENSE_ROWS rows, products use blocks."""
    import torch

    x = np.asarray(inputs)
    require(x.ndim == 2, f"`inputs` must be a table of rows and columns, got shape {x.shape}")
    require(1 <= count < len(x), f"`count` must lie between 1 and {len(x) - 1}, got {count}")
    rows = KernelRows.from_inputs(x, getattr(torch, precision))
    matrix = kernel_matrix(x, precision=precision) if len(x) <= DENSE_ROWS else None

    def product(v: np.ndarray) -> np.ndarray:
        flat = v.reshape(-1)
        return kernel_product(rows, flat) if matrix is None else (matrix @ flat.astype(matrix.dtype)).astype(np.float64)

    operator = LinearOperator((len(x), len(x)), matvec=product, dtype="float64")  # pyright: ignore[reportCallIssue]
    v0 = np.random.default_rng(0).standard_normal(len(x))
    tolerance = 1e-6 if precision == "float32" else 1e-12
    values, vectors = eigsh(operator, k=count, which="LA", v0=v0, tol=tolerance)  # pyright: ignore[reportArgumentType]
    order = np.argsort(values)[::-1]
    vectors = vectors[:, order].T
    signs = np.where(vectors.sum(1, keepdims=True) < 0, -1.0, 1.0)
    return Spectrum(values[order], vectors * signs)


@dataclass(frozen=True, eq=False)
class Overlap:
    """For every unit: the mean dot product with the top eigenvectors (as printed), and the share in their span."""

    mean: np.ndarray
    share: np.ndarray


def overlap(units: Any, spectrum: Spectrum) -> Overlap:
    """Overlap of units' outputs (m, n) with a spectrum; 0 for a unit whose outputs are all 0."""
    units = np.asarray(units, dtype=np.float64)
    n = spectrum.vectors.shape[1]
    require(units.ndim == 2 and units.shape[1] == n, f"`units` must be (units, {n} examples), got {units.shape}")
    norms = np.linalg.norm(units, axis=1, keepdims=True)
    normal = np.divide(units, norms, out=np.zeros_like(units), where=norms > 0)
    products = normal @ spectrum.vectors.T
    return Overlap(products.mean(1), (products**2).sum(1))
