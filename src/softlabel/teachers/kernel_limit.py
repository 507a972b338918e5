"""The kernel-limit teacher: an infinitely wide network, as Mandal's theorems assume it.

    z(x) = E⟨v(Z), φ_x(Z)⟩,  φ_x(Z) = 1(Z·x > 0) x,  Z ~ N(0, I),  ‖v‖ ≤ 1;      soft label p = μ(κ z(x))

Its v is that of the margin problem, v_q = G_q/‖G_q‖, so it is known everywhere: on training points, on new points, and
at a student's own starting directions. κ = 1/temperature.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from softlabel.errors import InputError, require
from softlabel.numerics import load_tensors, save_tensors
from softlabel.numerics.tensor_files import number
from softlabel.theory.kernel import kernel_matrix
from softlabel.theory.margin import Field, Margin
from softlabel.theory.margin.fresh import ControlledMean, Directions, observe_alignment

FORMAT = "softlabel-kernel-limit-1"
PAIRS = 20000


@dataclass(frozen=True, eq=False)
class KernelLimitTeacher:
    """v_q by the points that carry it: `points` (s, d) and `weights` (s,) = q_s y_s, Σ|weights| = 1."""

    points: Tensor
    weights: Tensor
    kappa: float = 1.0
    margin_lower: float = 0.0

    def __post_init__(self) -> None:
        require(0 < self.kappa < float("inf"), f"kappa must be positive and finite, got {self.kappa}")

    @classmethod
    def of(cls, margin: Margin, inputs: Any, y: Any, kappa: float = 1.0) -> "KernelLimitTeacher":
        """The teacher that a margin computation on these inputs found."""
        if margin.upper == 0:
            reason = margin.zero.reason if margin.zero is not None else "its margin is 0"
            raise InputError(f"the data set has no kernel-limit teacher: {reason}")
        x, signs = np.asarray(inputs, dtype=np.float64), np.asarray(y, dtype=np.float64)
        require(
            x.shape == (margin.n, margin.d) and signs.shape == (margin.n,),
            f"the margin is that of {margin.n} rows and {margin.d} columns, got inputs of shape {x.shape}",
        )
        carrying = np.flatnonzero(margin.q)
        x, signs = torch.from_numpy(x[carrying]), signs[carrying]
        return cls(x, torch.from_numpy(margin.q[carrying] * signs), kappa, margin.teacher_lower)

    @property
    def field(self) -> Field:
        return Field(self.points, self.weights)

    def v(self, directions: Any) -> np.ndarray:
        """v at the given directions (k, d)."""
        return self.field.v(torch.as_tensor(np.asarray(directions, dtype=np.float64))).numpy()

    def logits(self, inputs: Any, *, pairs: int = PAIRS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """κ z(x) for each row of inputs, and the standard errors, from so many pairs of directions ±Z.

        ⟨G, φ_x⟩, whose mean K_1 gives exactly, serves as control variate.
        """
        x = torch.as_tensor(np.asarray(inputs, dtype=np.float64))
        require(
            x.ndim == 2 and x.shape[1] == self.points.shape[1],
            f"inputs must have {self.points.shape[1]} columns as the teacher's, got shape {tuple(x.shape)}",
        )
        require(pairs >= 3, f"pairs must be at least 3, got {pairs}")
        known = kernel_matrix(x.numpy(), self.points.numpy()) @ self.weights.numpy()
        mean = ControlledMean(known)
        dtype = torch.float32
        field = Field(self.points.to(dtype), self.weights.to(dtype))
        draws = Directions(x.shape[1], seed, dtype)
        observe_alignment(field, draws, x.to(dtype), torch.ones(len(x)), mean, pairs)
        value, error = mean.means()
        return self.kappa * value, self.kappa * error

    def soft_labels(self, inputs: Any, *, pairs: int = PAIRS, seed: int = 0) -> np.ndarray:
        """p = μ(κ z(x)), the probability of class +1."""
        return expit(self.logits(inputs, pairs=pairs, seed=seed)[0])

    def save(self, path: str | Path) -> None:
        """Write the teacher as safetensors."""
        metadata = {"kappa": repr(self.kappa), "margin_lower": repr(self.margin_lower)}
        save_tensors(path, {"points": self.points, "weights": self.weights}, FORMAT, metadata)

    @classmethod
    def load(cls, path: str | Path) -> "KernelLimitTeacher":
        """Read what `save` wrote."""
        tensors, metadata = load_tensors(path, FORMAT, "kernel-limit teacher", {"points", "weights"})
        kappa, margin_lower = (number(metadata, key, path) for key in ("kappa", "margin_lower"))
        points, weights = tensors["points"], tensors["weights"]
        require(
            points.ndim == 2 and points.numel() > 0 and weights.shape == (len(points),) and kappa > 0,
            f"'{path}' is not a complete kernel-limit teacher: points {tuple(points.shape)}, weights "
            f"{tuple(weights.shape)}, kappa {kappa:g}",
        )
        return cls(points, weights, kappa, margin_lower)
