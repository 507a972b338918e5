"""How hidden units lie to the spectrum of H^∞ (Rahbar, section 4.4).

H^∞_ij = x_i·x_j (π − angle(x_i, x_j))/(2π) is the gradient kernel K_1 of ReLU units. Each unit's outputs on the
examples, brought to norm 1, are projected on the top eigenvectors. What the paper calls overlap is the mean of the dot
products; the share of the unit that lies in their span does not depend on the eigenvectors' signs, and is given too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from softlabel.errors import require
from softlabel.theory.kernel import Rows, kernel_matrix, kernel_product

HELD = 12_000


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Top eigenvalues of H^∞, descending (k,), and their eigenvectors (k, n), each with a non-negative sum."""

    values: np.ndarray
    vectors: np.ndarray


def top_spectrum(inputs: Any, count: int = 10, precision: str = "float32") -> Spectrum:
    """The top eigenvectors of H^∞ on inputs (n, d); up to HELD rows the kernel is held whole, beyond it streams."""
    import torch

    x = np.asarray(inputs)
    require(x.ndim == 2, f"inputs must be a table of rows and columns, got shape {x.shape}")
    require(1 <= count < len(x), f"count must lie between 1 and {len(x) - 1}, got {count}")
    rows = Rows.of(x, getattr(torch, precision))

    held = kernel_matrix(x, precision=precision) if len(x) <= HELD else None

    def product(v: np.ndarray) -> np.ndarray:
        flat = v.reshape(-1)
        return kernel_product(rows, flat) if held is None else (held @ flat.astype(held.dtype)).astype(np.float64)

    operator = LinearOperator((len(x), len(x)), matvec=product, dtype="float64")  # pyright: ignore[reportCallIssue]
    start = np.random.default_rng(0).standard_normal(len(x))
    tolerance = 1e-6 if precision == "float32" else 1e-12
    values, vectors = eigsh(operator, k=count, which="LA", v0=start, tol=tolerance)  # pyright: ignore[reportArgumentType]
    order = np.argsort(values)[::-1]
    vectors = vectors[:, order].T
    signs = np.where(vectors.sum(1, keepdims=True) < 0, -1.0, 1.0)
    return Spectrum(values[order], vectors * signs)


@dataclass(frozen=True, eq=False)
class Overlap:
    """Of every unit: the mean dot product with the top eigenvectors (as printed), and the share in their span."""

    mean: np.ndarray
    share: np.ndarray


def overlap(units: Any, spectrum: Spectrum) -> Overlap:
    """Overlap of units' outputs (m, n) with a spectrum; a unit that is silent everywhere has none."""
    units = np.asarray(units, dtype=np.float64)
    n = spectrum.vectors.shape[1]
    require(units.ndim == 2 and units.shape[1] == n, f"units must be (units, {n} examples), got {units.shape}")
    norms = np.linalg.norm(units, axis=1, keepdims=True)
    normal = np.divide(units, norms, out=np.zeros_like(units), where=norms > 0)
    products = normal @ spectrum.vectors.T
    return Overlap(products.mean(1), (products**2).sum(1))
