"""What a deep student is trained to match: labels, a teacher's soft labels, and a teacher's hidden features.

    (1 − s) CE(y, μ(z)) + s D + λ F

    CE   cross-entropy of the given classes, with label smoothing e: p = (1 − e)·hard + e/K
    D    temperature on both sides     T² KL(μ(t/T) ‖ μ(z/T))      (T² keeps its gradient's size as T grows)
         temperature on labels only    KL(μ(t/T) ‖ μ(z))           (as two-layer students have it)
    F    mean over examples and units of (φ_k − f_k)²: Rahbar's privileged knowledge, of named layers

z are the student's logits, t the teacher's, μ the softmax, s the `soft_share`: 0 is hard labels alone, 1 soft alone.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from softlabel.errors import require, unknown
from softlabel.networks.softening import Softening
from softlabel.ranges import LARGEST, TEMPERATURES, check_positive

SIDES = ("both", "labels")


@dataclass(frozen=True)
class Objective:
    """Shares and temperatures of the loss.

    soft_share      s, the weight of the soft term; the hard term has 1 − s
    temperature_on  "both" sides with its factor T², or "labels" only
    smoothing       of the hard labels
    feature_weight  λ of matched features; 0 without
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
            raise unknown("temperature_on", self.temperature_on, SIDES)
        require(0 <= self.smoothing < 1, f"smoothing must lie in [0, 1), got {self.smoothing}")
        require(
            0 <= self.feature_weight <= LARGEST,
            f"feature_weight must lie between 0 and {LARGEST:g}, got {self.feature_weight}",
        )

    @property
    def softening(self) -> Softening:
        """Of the labels that a student's outputs imitate; a temperature on both sides leaves no trace in them."""
        softened = self.soft_share > 0 and self.temperature_on == "labels"
        return Softening(self.temperature if softened else 1.0, self.smoothing if self.soft_share < 1 else 0.0)

    def __str__(self) -> str:
        sides = "on both sides" if self.temperature_on == "both" else "on the labels alone"
        parts = [f"soft labels (share {self.soft_share:g}), temperature {self.temperature:g} {sides}"]
        parts = parts if self.soft_share > 0 else ["hard labels"]
        return ", ".join(parts + ([f"label smoothing {self.smoothing:g}"] if self.smoothing > 0 else []))

    @property
    def needs_logits(self) -> bool:
        return self.soft_share > 0

    def loss(self, logits: Tensor, labels: Tensor, taught: Tensor | None = None) -> Tensor:
        """Mean loss of a batch, without the term of features."""
        total = torch.zeros((), dtype=logits.dtype, device=logits.device)
        if self.soft_share < 1:
            hard = functional.cross_entropy(logits, labels, label_smoothing=self.smoothing)
            total = total + (1 - self.soft_share) * hard
        if self.soft_share > 0:
            require(taught is not None, "a soft share needs a teacher's logits")
            assert taught is not None
            total = total + self.soft_share * self.soft(logits, taught)
        return total

    def soft(self, logits: Tensor, taught: Tensor) -> Tensor:
        """D, the mean over the batch."""
        t = self.temperature
        own, factor = (logits / t, t * t) if self.temperature_on == "both" else (logits, 1.0)
        divergence = functional.kl_div(
            functional.log_softmax(own, 1),
            functional.log_softmax(taught / t, 1),
            reduction="batchmean",
            log_target=True,
        )
        return factor * divergence


HARD = Objective()


def two_columns(logits: Tensor) -> Tensor:
    """Logits of at least two classes: a single output is the log-odds of class 1."""
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.shape[1] == 1:
        return torch.cat([torch.zeros_like(logits), logits], dim=1)
    return logits
