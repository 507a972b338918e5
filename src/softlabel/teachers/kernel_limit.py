"""The kernel-limit teacher: an infinitely wide network, as Mandal's theorems assume it.

    z(x) = E⟨v(Z), φ_x(Z)⟩,  φ_x(Z) = 1(Z·x > 0) x,  Z ~ N(0, I),  ‖v‖ ≤ 1;      soft label p = μ(κ z(x))

Its v is that of the margin problem, v = G_q/max(‖G_q‖, s), so it is known everywhere: on training points, on new
points, and at the initial directions of a student. `theory.margin.teacher` defines it, bounds its margin and computes
it in float64. κ = 1/temperature.
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

FORMAT = "softlabel-kernel-limit-3"
OLD_FORMATS = ("softlabel-kernel-limit-1", "softlabel-kernel-limit-2")  # other definitions of v
PAIRS = 20000


@dataclass(frozen=True, eq=False)
class KernelLimitTeacher:
    """An infinitely wide teacher network, represented by the training points that define its v.

    Parameters
    ----------
    points : Tensor of shape (k, d)
        Training points with a positive weight.
    weights : Tensor of shape (k,)
        q_i y_i, with Σ|weights| = 1.
    smoothing : float
        s > 0 in v = G_q/max(‖G_q‖, s).
    kappa : float, default=1.0
        Factor of the logits, κ = 1/temperature.
    margin_lower : float, default=0.0
        Certified lower bound on the margin γ(v) on the points that the margin was computed for.

    Examples
    --------
    >>> import torch
    >>> from softlabel import KernelLimitTeacher
    >>> teacher = KernelLimitTeacher(torch.eye(2).double(), torch.tensor([0.5, -0.5]).double(), smoothing=0.1)
    >>> teacher.soft_labels([[1.0, 0.0], [0.0, 1.0]]).round(1)
    array([0.6, 0.4])
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
    def from_margin(cls, margin: Margin, inputs: Any, y: Any, kappa: float = 1.0) -> "KernelLimitTeacher":
        """The teacher of a margin that was computed for inputs (n, d) and signs y (n,)."""
        if margin.upper == 0:
            reason = margin.zero.reason if margin.zero is not None else "its margin is 0"
            raise InputError(f"the data set has no kernel-limit teacher: {reason}")
        x, signs = np.asarray(inputs, dtype=np.float64), np.asarray(y, dtype=np.float64)
        require(
            x.shape == (margin.n, margin.d) and signs.shape == (margin.n,),
            f"the margin is for {margin.n} rows and {margin.d} columns, got inputs of shape {x.shape}",
        )
        carrying = np.flatnonzero(margin.q)
        x, signs = torch.from_numpy(x[carrying]), signs[carrying]
        return cls(x, torch.from_numpy(margin.q[carrying] * signs), margin.smoothing, kappa, margin.teacher_lower)

    @property
    def field(self) -> TeacherField:
        return TeacherField(self.points, self.weights, self.smoothing)

    def v(self, directions: Any) -> np.ndarray:
        """v at directions (k, d)."""
        return self.field.v(torch.as_tensor(np.asarray(directions, dtype=np.float64))).numpy()

    def logits(self, inputs: Any, *, pairs: int = PAIRS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Logits κ z(x) of inputs (n, d) and their standard errors, both (n,), estimated by Monte Carlo.

        Parameters
        ----------
        inputs : array-like of shape (n, d)
            Rows to label.
        pairs : int, default=20000
            Number of pairs of directions ±Z. ⟨G, φ_x⟩, whose mean is known by K_1, serves as control variate.
        seed : int, default=0
            Seed of the directions.
        """
        x = torch.as_tensor(np.asarray(inputs, dtype=np.float64))
        require(
            x.ndim == 2 and x.shape[1] == self.points.shape[1],
            f"inputs must have {self.points.shape[1]} columns like the teacher's points, got shape {tuple(x.shape)}",
        )
        require(pairs >= 3, f"pairs must be at least 3, got {pairs}")
        known = kernel_matrix(x.numpy(), self.points.numpy()) @ self.weights.numpy()
        mean = ControlledMean(known)
        draws = Directions(x.shape[1], seed)
        observe_alignment(self.field, draws, x, torch.ones(len(x), dtype=x.dtype), {self.smoothing: mean}, pairs)
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
            path, FORMAT, "kernel-limit teacher", {"points", "weights"}, outdated=dict.fromkeys(OLD_FORMATS, _OUTDATED)
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
    "was written by an earlier version, whose teacher was defined differently, so that its certified margin may be "
    "wrong; recompute it with margin"
)
