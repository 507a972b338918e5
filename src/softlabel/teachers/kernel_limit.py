"""The kernel-limit teacher: an infinitely wide network, as Mandal's theorems assume it.

    z(x) = E⟨v(Z), φ_x(Z)⟩,  φ_x(Z) = 1(Z·x > 0) x,  Z ~ N(0, I),  ‖v‖ ≤ 1;      soft label p = μ(κ z(x))

Its v is that of the margin problem, v = G_q/√(‖G_q‖² + s²), so it is known everywhere: on training points, on new
points, and at a student's own starting directions. `theory.margin.teacher` defines it, bounds its margin and computes
it, in float64, for all of these. κ = 1/temperature.
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
from softlabel.theory.margin import Margin, TeacherField
from softlabel.theory.margin.fresh import ControlledMean, Directions
from softlabel.theory.margin.teacher import observe_alignment

FORMAT = "softlabel-kernel-limit-2"
OLD_FORMAT = "softlabel-kernel-limit-1"  # without a smoothing: its v was not defined where G vanishes
PAIRS = 20000


@dataclass(frozen=True, eq=False)
class KernelLimitTeacher:
    """v by the points that carry it: `points` (k, d), `weights` (k,) = q_i y_i, Σ|weights| = 1, and `smoothing` s > 0.

    `margin_lower` is the certified lower bound on γ(v) of this v on the points that the margin was computed for.
    """

    points: Tensor
    weights: Tensor
    smoothing: float
    kappa: float = 1.0
    margin_lower: float = 0.0

    def __post_init__(self) -> None:
        require(0 < self.kappa < float("inf"), f"kappa must be positive and finite, got {self.kappa}")
        require(0 < self.smoothing < float("inf"), f"smoothing must be positive and finite, got {self.smoothing}")

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
        return cls(x, torch.from_numpy(margin.q[carrying] * signs), margin.smoothing, kappa, margin.teacher_lower)

    @property
    def field(self) -> TeacherField:
        return TeacherField(self.points, self.weights, self.smoothing)

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
        draws = Directions(x.shape[1], seed)
        observe_alignment(self.field, draws, x, torch.ones(len(x), dtype=x.dtype), mean, pairs)
        value, error = mean.means()
        return self.kappa * value, self.kappa * error

    def soft_labels(self, inputs: Any, *, pairs: int = PAIRS, seed: int = 0) -> np.ndarray:
        """p = μ(κ z(x)), the probability of class +1."""
        return expit(self.logits(inputs, pairs=pairs, seed=seed)[0])

    def save(self, path: str | Path) -> None:
        """Write the teacher as safetensors."""
        metadata = {name: repr(getattr(self, name)) for name in _NUMBERS}
        save_tensors(path, {"points": self.points, "weights": self.weights}, FORMAT, metadata)

    @classmethod
    def load(cls, path: str | Path) -> "KernelLimitTeacher":
        """Read what `save` wrote."""
        tensors, metadata = load_tensors(
            path, FORMAT, "kernel-limit teacher", {"points", "weights"}, outdated={OLD_FORMAT: _OUTDATED}
        )
        points, weights = tensors["points"], tensors["weights"]
        numbers = {name: number(metadata, name, path) for name in _NUMBERS}
        require(
            points.ndim == 2 and weights.shape == points.shape[:1] and points.numel() > 0 and numbers["kappa"] > 0,
            f"kernel-limit teacher '{path}' is damaged: points of shape {tuple(points.shape)} with weights of shape "
            f"{tuple(weights.shape)} and kappa {numbers['kappa']:g}",
        )
        return cls(points, weights, **numbers)


_NUMBERS = ("smoothing", "kappa", "margin_lower")
_OUTDATED = (
    "was written by an earlier version, whose teacher was not well defined where its features cancel, so that its "
    "certified margin may be wrong; compute it again with margin"
)
