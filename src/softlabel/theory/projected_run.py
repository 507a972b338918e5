"""A run of projected gradient descent that `theory.invariants` checks: its data and settings, and their ranges."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from softlabel.errors import require
from softlabel.theory.bounds.scalars import RHO
from softlabel.theory.bounds.setting import Setting

LARGEST = 1e150  # largest radius: its square is finite


@dataclass(frozen=True, eq=False)
class Run:
    """Data and settings of a run.

    x           (n, d) inputs
    y           (n,) labels ±1
    z           (n,) the teacher's logits before the factor κ
    init        (m, d) initial hidden weights of the student
    signs       (m,) its output signs
    v           (m, d) the teacher's v at the initial weights
    arm         "soft" trains on p = μ(κz), "hard" on y
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    init: np.ndarray
    signs: np.ndarray
    v: np.ndarray
    arm: Literal["soft", "hard"]
    radius: float
    learning_rate: float
    kappa: float = 1.0
    delta: float = 0.05
    share: float = 0.5
    beta: float | None = None

    def __post_init__(self) -> None:
        check_run(self.arm, self.radius, self.learning_rate, n=len(self.x), kappa=self.kappa, delta=self.delta)

    @property
    def size(self) -> float:
        """s: the distance of W̄ from W(0), times √m."""
        return self.kappa if self.arm == "soft" else self.radius

    @property
    def curvature(self) -> float:
        return curvature(self.arm)

    @property
    def targets(self) -> np.ndarray:
        return expit(self.kappa * self.z) if self.arm == "soft" else (1 + self.y) / 2


def curvature(arm: str) -> float:
    """ρ' with ‖∇R‖² ≤ ρ'R: ½ for soft labels, ρ = 0.407… for hard labels."""
    return 0.5 if arm == "soft" else RHO


def check_run(
    arm: str, radius: float | None, learning_rate: float | None, *, n: int, kappa: float = 1.0, delta: float = 0.05
) -> None:
    """Raise unless the theorem covers a run with these settings; a radius or learning rate of None is not checked."""
    require(arm in ("soft", "hard"), f"`arm` must be 'soft' or 'hard', got '{arm}'")
    Setting(n=n, delta=delta, kappa=kappa)
    if radius is not None:
        require(0 < radius < LARGEST, f"`radius` must lie in (0, {LARGEST:g}), got {radius}")
        require(
            arm == "hard" or kappa <= radius,
            f"`radius` must be at least `kappa` ({kappa}), so that the teacher's weights lie within it, got {radius}",
        )
    if learning_rate is not None:
        largest = 2 / curvature(arm)
        require(
            0 < learning_rate < largest,
            f"`learning_rate` must lie in (0, {largest:.4g}) with {arm} labels, got {learning_rate}: the certificate "
            f"divides by 2 − ρ'η, ρ' = {curvature(arm):.4g}, which must be positive",
        )
        reach = kappa if arm == "soft" or radius is None else radius
        require(
            reach**2 / learning_rate < math.inf,
            f"`learning_rate` is too small for this `radius`, got {learning_rate}: B²/η in the certificate overflows",
        )
