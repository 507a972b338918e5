"""The training objective of a deep student: labels, a teacher's soft labels, and a teacher's hidden features.

    (1 − s) CE(y, μ(z)) + s D + λ F

    CE   cross-entropy of the labels, with label smoothing e: p = (1 − e)·hard + e/K
    D    temperature on both sides     T² KL(μ(t/T) ‖ μ(z/T))      (T² keeps its gradient's size as T grows)
         temperature on labels only    KL(μ(t/T) ‖ μ(z))           (as for two-layer students)
    F    mean over examples and units of (φ_k − f_k)² of named layers: Rahbar's privileged knowledge

z are the student's logits, t the teacher's, μ is the softmax and s the `soft_share`: 0 means hard labels only, 1 soft
labels only.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from softlabel.errors import InputError, require, unknown
from softlabel.networks.softening import Softening
from softlabel.ranges import LARGEST, TEMPERATURES, check_positive

SIDES = ("both", "labels")


@dataclass(frozen=True)
class Objective:
    """Training objective of a deep student: (1 − s)·CE + s·D + λ·F.

    CE is the cross-entropy of the labels, D the divergence from the teacher's soft labels, and F the mean squared
    difference of matched features.

    Parameters
    ----------
    soft_share : float, default=0.0
        Weight s of the soft labels; the hard labels have weight 1 − s.
    temperature : float, default=1.0
        Temperature T of the soft labels.
    temperature_on : {"both", "labels"}, default="both"
        Whether the temperature is applied to the teacher's and the student's logits with the factor T², or to the
        teacher's logits only.
    smoothing : float, default=0.0
        Label smoothing of the hard labels.
    feature_weight : float, default=0.0
        Weight λ of the matched features, see `FeatureMatch`.

    Examples
    --------
    >>> import softlabel as sl
    >>> print(sl.Objective(soft_share=0.9, temperature=4.0))
    soft labels (share 0.9), temperature 4 on both sides
    """

    soft_share: float = 0.0
    temperature: float = 1.0
    temperature_on: Literal["both", "labels"] = "both"
    smoothing: float = 0.0
    feature_weight: float = 0.0

    def __post_init__(self) -> None:
        require(0 <= self.soft_share <= 1, f"soft_share must lie in [0, 1], got {self.soft_share}")
        check_positive(self.temperature, "temperature", *TEMPERATURES)
        if self.temperature_on not in SIDES:
            raise unknown("`temperature_on`", self.temperature_on, SIDES)
        require(0 <= self.smoothing < 1, f"smoothing must lie in [0, 1), got {self.smoothing}")
        require(
            0 <= self.feature_weight <= LARGEST,
            f"feature_weight must lie between 0 and {LARGEST:g}, got {self.feature_weight}",
        )

    @property
    def softening(self) -> Softening:
        """Temperature and smoothing of the labels that a student's outputs imitate."""
        softened = self.soft_share > 0 and self.temperature_on == "labels"
        return Softening(self.temperature if softened else 1.0, self.smoothing if self.soft_share < 1 else 0.0)

    def __str__(self) -> str:
        sides = "on both sides" if self.temperature_on == "both" else "on the labels only"
        soft = f"soft labels (share {self.soft_share:g}), temperature {self.temperature:g} {sides}"
        smoothed = f", label smoothing {self.smoothing:g}" if self.smoothing > 0 else ""
        return (soft if self.soft_share > 0 else "hard labels") + smoothed

    @property
    def needs_logits(self) -> bool:
        """Whether a teacher's logits are needed."""
        return self.soft_share > 0

    def loss(self, logits: Tensor, labels: Tensor, teacher_logits: Tensor | None = None) -> Tensor:
        """Mean loss of a batch, without the features."""
        total = torch.zeros((), dtype=logits.dtype, device=logits.device)
        if self.soft_share < 1:
            hard = functional.cross_entropy(logits, labels, label_smoothing=self.smoothing)
            total = total + (1 - self.soft_share) * hard
        if self.soft_share > 0:
            if teacher_logits is None:
                raise InputError("`soft_share` > 0 needs a teacher's logits")
            total = total + self.soft_share * self.soft(logits, teacher_logits)
        return total

    def soft(self, logits: Tensor, teacher_logits: Tensor) -> Tensor:
        """Mean of D over a batch."""
        t = self.temperature
        own, factor = (logits / t, t * t) if self.temperature_on == "both" else (logits, 1.0)
        divergence = functional.kl_div(
            functional.log_softmax(own, 1),
            functional.log_softmax(teacher_logits / t, 1),
            reduction="batchmean",
            log_target=True,
        )
        return factor * divergence


HARD = Objective()


def two_columns(logits: Tensor) -> Tensor:
    """Logits with at least two columns; a single output is the log-odds of class 1."""
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.shape[1] == 1:
        return torch.cat([torch.zeros_like(logits), logits], dim=1)
    return logits
