"""Kernels that agree with the labels: alignf (Rahbar, equations 17 and 18) and their embeddings.

    min over v ≥ 0 of ‖Σ_k v_k K_k^c − yyᵀ‖_F² = vᵀMv − 2vᵀa + const,   M_kl = ⟨K_k^c, K_l^c⟩_F,  a_k = yᵀ K_k^c y

and μ = v/‖v‖.

K^c is K centered in feature space; with row sums r = K1 and totals s = 1ᵀK1,

    ⟨K^c, L^c⟩_F = ⟨K, L⟩_F − (2/n) r^K·r^L + s^K s^L/n²,       yᵀ K^c y = (y − ȳ)ᵀ K (y − ȳ),

so blocks of the kernels and their row sums are enough; no full kernel matrix is stored. The problem is a non-negative
least-squares problem. Nyström features of Σ μ_k K_k on l landmarks: Φ = K_nl U Λ^{−½}, with K_ll = U Λ Uᵀ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.linalg import eigh
from scipy.optimize import nnls
from torch import Tensor

from softlabel.errors import require

BLOCK = 1024
CHECKED_ROWS = 200  # rows on which every kernel is checked
SMALLEST = 1e-10  # share of the largest eigenvalue of a landmark kernel below which directions are rounding noise

BlockKernel = Callable[[Tensor, Tensor], Tensor]
"""K between rows (a, d) and (b, d), as (a, b)."""


def gaussian_kernels(inputs: Any, count: int = 7, seed: int = 0) -> list[BlockKernel]:
    """`count` Gaussian kernels exp(−‖x − x'‖²/(2b²)), bandwidths b in factors of 2 around the median distance."""
    x = np.asarray(inputs, dtype=np.float64)
    require(x.ndim == 2 and len(x) >= 2, f"`inputs` must be a table of at least two rows, got shape {x.shape}")
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, len(x), (2, 2000))
    distances = np.linalg.norm(x[first] - x[second], axis=1)
    require(bool((distances > 0).any()), "`inputs` are all equal; no kernel can distinguish them")
    median = float(np.median(distances[distances > 0]))
    return [Gaussian(median * 2.0 ** (k - count // 2)) for k in range(count)]


@dataclass(frozen=True)
class Gaussian:
    """exp(−‖x − x'‖²/(2b²))."""

    bandwidth: float

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        return self.of_squares(_squared_distances(a, b))

    def of_squares(self, squares: Tensor) -> Tensor:
        return torch.mul(squares, -0.5 / self.bandwidth**2).exp_()


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    sizes = a.square().sum(1)[:, None] + b.square().sum(1)[None]
    return sizes.addmm_(a, b.t(), alpha=-2).clamp_min_(0)


def _blocks(kernels: Sequence[BlockKernel], a: Tensor, b: Tensor) -> list[Tensor]:
    """Every kernel between rows a and b; Gaussian kernels share the distances."""
    shared = any(isinstance(kernel, Gaussian) for kernel in kernels)
    squares = _squared_distances(a, b) if shared else a
    return [kernel.of_squares(squares) if isinstance(kernel, Gaussian) else kernel(a, b) for kernel in kernels]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Weights μ (norm 1, ≥ 0) of the kernels, and the cosine of yyᵀ with each kernel alone and with their sum."""

    weights: np.ndarray
    single: np.ndarray
    together: float


def align_kernels(inputs: Any, y: Any, kernels: Sequence[BlockKernel]) -> Alignment:
    """alignf for inputs (n, d) and labels y (n,), in blocks."""
    x = torch.as_tensor(np.asarray(inputs, dtype=np.float64))
    labels = torch.as_tensor(np.asarray(y, dtype=np.float64))
    require(len(kernels) >= 1, "`kernels`: the list is empty")
    require(labels.shape == (len(x),), f"labels have shape {tuple(labels.shape)}, `inputs` have {len(x)} rows")
    require(bool((labels != labels[0]).any()), "labels are all equal; no kernel can be aligned with them")
    require(bool(torch.isfinite(labels).all()), "labels must be finite numbers")
    for index, kernel in enumerate(kernels):
        _check(kernel, index, x)
    count, n = len(kernels), len(x)
    products, sums = torch.zeros(count, count, dtype=torch.float64), torch.zeros(count, n, dtype=torch.float64)
    forms = torch.zeros(count, dtype=torch.float64)
    centered = labels - labels.mean()
    for top in range(0, n, BLOCK):
        rows = slice(top, top + BLOCK)
        for left in range(top, n, BLOCK):  # symmetric: blocks on and above the diagonal
            columns = slice(left, left + BLOCK)
            twice = 1.0 if left == top else 2.0
            blocks = torch.stack(_blocks(kernels, x[rows], x[columns]))
            flat = blocks.reshape(count, -1)
            products += twice * (flat @ flat.t())
            forms += twice * torch.einsum("i,kij,j->k", centered[rows], blocks, centered[columns])
            sums[:, rows] += blocks.sum(2)
            if left != top:
                sums[:, columns] += blocks.sum(1)
    totals = sums.sum(1)
    m = (products - 2 / n * sums @ sums.t() + torch.outer(totals, totals) / n**2).numpy()
    a = forms.numpy()
    weights = _solve(m, a, float(products.diagonal().max()))
    size = float(centered.square().sum())  # ‖yyᵀ‖ after centering
    single = a / np.sqrt(np.maximum(np.diag(m), 1e-300)) / size
    norm = float(np.sqrt(max(weights @ m @ weights, 1e-300)))
    return Alignment(weights, single, float(weights @ a) / norm / size)


def _check(kernel: BlockKernel, index: int, x: Tensor) -> None:
    """Raise unless a kernel has the right shape, is finite and is symmetric on some of the rows."""
    first, last = x[:CHECKED_ROWS], x[-CHECKED_ROWS:]
    block, other = kernel(first, last), kernel(last, first)
    shape = (len(first), len(last))
    require(block.shape == shape, f"kernel {index} gives shape {tuple(block.shape)} for {shape[0]} and {shape[1]} rows")
    require(bool(torch.isfinite(block).all()), f"kernel {index} gives values that are not finite")
    away = float((block - other.t()).abs().max()) if other.shape == shape[::-1] else float("inf")
    require(
        away <= 1e-8 * max(float(block.abs().max()), 1e-300),
        f"kernel {index} is not symmetric: K(x, x') and K(x', x) differ by {away:.3g}",
    )


def _solve(m: np.ndarray, a: np.ndarray, scale: float) -> np.ndarray:
    """argmin vᵀMv − 2vᵀa over v ≥ 0, normalized; `scale` is the size of M before centering, which sets its noise."""
    values, vectors = eigh(m)
    kept = values > 1e-14 * max(values[-1], 1e-300)  # a kernel that is constant once centered adds nothing
    roots = np.sqrt(values[kept])
    v = np.zeros(len(m))
    if values[-1] > 1e-12 * scale:
        v, _ = nnls(roots[:, None] * vectors[:, kept].T, vectors[:, kept].T @ a / roots)
    length = float(np.linalg.norm(v))
    require(length > 0, "no kernel agrees with the labels: every weight is 0; try other bandwidths")
    return v / length


@dataclass(frozen=True, eq=False)
class Embedding:
    """Nyström features: landmarks (l, d) and the map from kernel values to features (l, r)."""

    landmarks: Tensor
    kernels: tuple[BlockKernel, ...]
    weights: np.ndarray
    map: Tensor

    def __call__(self, inputs: Any) -> np.ndarray:
        """Features (n, r) of inputs (n, d)."""
        x = torch.as_tensor(np.asarray(inputs, dtype=np.float64))
        require(
            x.ndim == 2 and x.shape[1] == self.landmarks.shape[1],
            f"`inputs` must have {self.landmarks.shape[1]} columns like the landmarks, got shape {tuple(x.shape)}",
        )
        parts = [_combined(self.kernels, self.weights, block, self.landmarks) @ self.map for block in x.split(BLOCK)]
        return torch.cat(parts).numpy()


def kernel_embedding(
    inputs: Any, kernels: Sequence[BlockKernel], weights: Any, landmarks: int = 500, seed: int = 0
) -> Embedding:
    """Nyström features of Σ weights_k K_k on landmarks drawn from the inputs."""
    x = np.asarray(inputs, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    require(
        weights.shape == (len(kernels),),
        f"`weights` must have one entry per kernel ({len(kernels)}), got shape {weights.shape}",
    )
    require(landmarks >= 1, f"`landmarks` must be ≥ 1, got {landmarks}")
    chosen = np.sort(np.random.default_rng(seed).permutation(len(x))[:landmarks])
    points = torch.from_numpy(x[chosen])
    values, vectors = eigh(_combined(tuple(kernels), weights, points, points).numpy())
    kept = values > SMALLEST * values[-1]
    return Embedding(points, tuple(kernels), weights, torch.from_numpy(vectors[:, kept] / np.sqrt(values[kept])))


def _combined(kernels: Sequence[BlockKernel], weights: np.ndarray, a: Tensor, b: Tensor) -> Tensor:
    used = [(kernel, float(weight)) for kernel, weight in zip(kernels, weights, strict=True) if weight != 0]
    blocks = _blocks([kernel for kernel, _ in used], a, b)
    total = torch.zeros(len(a), len(b), dtype=torch.float64)
    for block, (_, weight) in zip(blocks, used, strict=True):
        total.add_(block, alpha=weight)
    return total
