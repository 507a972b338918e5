"""Distillation with privileged knowledge in the kernel regime (Rahbar, equations 2 and 9 to 13).

    loss          Σ_i (y_i − f(x_i))² + λ Σ_i Σ_k (φ^(k)(x_i) − σ(w_k·x_i))²,     f = Σ_k (a_k/√m) f_k,  f_k = σ(X w_k)
    gradient flow of half of it, with the kernel fixed at its initial value:
                  f_k' = H_k r_k,   r_k = (a_k/√m)(y − f) + λ(φ_k − f_k),   H_k = (s_k s_kᵀ)∘(XXᵀ),  s_k = σ'(X w_k(0))

So r' = −S D r with D = blockdiag(H_k) and S = (λI + aaᵀ/m)⊗I. With r = S^½ρ this is ρ' = −A ρ for the symmetric
A = S^½ D S^½ ≥ 0, whose eigenvalues are the poles (those of H̄ = D S), and

    f_k(t) = f_k(0) + D S^½ ψ_t(A) S^{+½} r(0),      ψ_t(p) = (1 − e^{−pt})/p.

Vectors of all units are (m, n) tables. Nothing of size (mn)² or n² is formed: H_k v = s_k∘(X(Xᵀ(s_k∘v))), and S^½ is a
scalar plus rank one. λ = ∞ is the limit in the time scale λt: S = I and r_k = φ_k − f_k, so that units are independent.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import InputError, require

LARGEST_DENSE = 6000  # largest number of unknowns mn of a dense eigenproblem


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Rows on which a student is not trained, and on which its outputs are predicted as well.

    x           (t, d) inputs
    features    (m, t) initial outputs of the hidden units
    slopes      (m, t) σ'(x w_k(0))
    """

    x: Tensor
    features: Tensor
    slopes: Tensor


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """A student at initialization, with its labels and privileged knowledge.

    `softlabel.networks.privileged.kernel_problem` makes one from a student; `from_arrays` checks and converts arrays.

    Attributes
    ----------
    x : Tensor of shape (n, d)
        Inputs.
    features : Tensor of shape (m, n)
        Initial outputs of the hidden units, f_k(0) = σ(X w_k(0)).
    slopes : Tensor of shape (m, n)
        s_k = σ'(X w_k(0)).
    output : Tensor of shape (m,)
        Output weights a_k.
    privileged : Tensor of shape (m, n)
        Privileged knowledge φ_k.
    y : Tensor of shape (n,)
        Labels.
    strength : float
        λ from 0 to ∞ (math.inf).
    unseen : UnseenRows or None
        Rows beside the training rows on which outputs are predicted.

    Examples
    --------
    >>> from softlabel.theory.dynamics import KernelProblem
    >>> problem = KernelProblem.from_arrays(
    ...     x=[[1.0]], features=[[0.5]], slopes=[[1.0]], output=[1.0], privileged=[[0.0]], y=[1.0], strength=1.0)
    >>> problem.initial
    tensor([0.5000], dtype=torch.float64)
    """

    x: Tensor
    features: Tensor
    slopes: Tensor
    output: Tensor
    privileged: Tensor
    y: Tensor
    strength: float
    unseen: UnseenRows | None = None

    @classmethod
    def from_arrays(
        cls, x: Any, features: Any, slopes: Any, output: Any, privileged: Any, y: Any, strength: float
    ) -> "KernelProblem":
        """Check arrays and convert them to float64 tensors."""
        tensors = {
            name: torch.as_tensor(np.asarray(value, dtype=np.float64))
            for name, value in (
                ("x", x), ("features", features), ("slopes", slopes), ("output", output), ("privileged", privileged),
                ("y", y),
            )
        }  # fmt: skip
        actual = tuple(tensors["x"].shape)
        require(len(actual) == 2, f"`x` must be a table of rows and columns, got shape {actual}")
        (n, d), m = actual, len(tensors["output"])
        shapes = {"x": (n, d), "features": (m, n), "slopes": (m, n), "output": (m,), "privileged": (m, n), "y": (n,)}
        for name, shape in shapes.items():
            actual = tuple(tensors[name].shape)
            require(actual == shape, f"`{name}` must have shape {shape} (units, examples), got {actual}")
            require(bool(torch.isfinite(tensors[name]).all()), f"`{name}` must be finite")
        require(strength >= 0, f"`strength` λ must be ≥ 0 (math.inf for privileged knowledge alone), got {strength}")
        require(bool((tensors["output"] != 0).any()), "`output` weights must not all be 0")
        return cls(**tensors, strength=float(strength), unseen=None)

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def units(self) -> int:
        return len(self.output)

    @property
    def alone(self) -> bool:
        """Whether λ = ∞, so that labels have no effect."""
        return math.isinf(self.strength)

    @cached_property
    def mix(self) -> Tensor:
        """(m,) a_k/√m, the weight of each unit in f."""
        return self.output / math.sqrt(self.units)

    @cached_property
    def a(self) -> float:
        """Σ a_k²/m."""
        return float(self.mix.square().sum())

    @cached_property
    def initial(self) -> Tensor:
        """(n,) f(0)."""
        return self.mix @ self.features

    @cached_property
    def unseen_initial(self) -> Tensor:
        """(t,) f(0) on the unseen rows."""
        return self.mix @ self._unseen.features

    @property
    def _unseen(self) -> UnseenRows:
        if self.unseen is None:
            raise InputError("outputs on unseen rows need a problem with `unseen` rows")
        return self.unseen

    @cached_property
    def residual(self) -> Tensor:
        """(m, n) r(0)."""
        away = self.privileged - self.features
        if self.alone:
            return away
        return torch.outer(self.mix, self.y - self.initial) + self.strength * away

    def compressed(self) -> "KernelProblem":
        """An equivalent problem with at most as many inputs as examples: only XXᵀ matters."""
        if self.x.shape[1] <= self.n:
            return self
        if self.unseen is None:
            return replace(self, x=torch.linalg.qr(self.x.t(), mode="r")[1].t().contiguous())
        basis, small = torch.linalg.qr(self.x.t())
        return replace(self, x=small.t().contiguous(), unseen=replace(self.unseen, x=self.unseen.x @ basis))

    def gram(self, v: Tensor) -> Tensor:
        """D v for a table v (m, n)."""
        return self.slopes * ((self.slopes * v) @ self.x @ self.x.t())

    def unseen_movement(self, v: Tensor) -> Tensor:
        """(t,) movement of f on the unseen rows where the hidden weights of unit k move by Xᵀ(s_k∘v_k)."""
        rows = self._unseen
        return self.mix @ (rows.slopes * ((self.slopes * v) @ self.x @ rows.x.t()))

    def coupled(self, v: Tensor, power: float = 0.5) -> Tensor:
        """S^power v; negative powers are those of the pseudo-inverse."""
        if self.alone:
            return v
        low, high = self.strength, self.strength + self.a
        base = low**power if low > 0 else 0.0
        direction = self.mix / math.sqrt(self.a)
        return base * v + (high**power - base) * torch.outer(direction, direction @ v)

    def symmetric(self, v: Tensor) -> Tensor:
        """A v = S^½ D S^½ v."""
        return self.coupled(self.gram(self.coupled(v)))

    def dense(self) -> Tensor:
        """A as a matrix (mn, mn); for small problems."""
        unknowns = self.units * self.n
        require(
            unknowns <= LARGEST_DENSE,
            f"a dense kernel of {self.units} units × {self.n} examples is too large (at most {LARGEST_DENSE} in all)",
        )
        blocks = torch.zeros(unknowns, unknowns, dtype=torch.float64)
        inner = self.x @ self.x.t()
        root = self.coupled(torch.eye(self.units, dtype=torch.float64))
        for k in range(self.units):
            h = inner * torch.outer(self.slopes[k], self.slopes[k])
            blocks += torch.kron(torch.outer(root[:, k], root[:, k]), h)
        return blocks
