"""Logits of a network on images, and their scores."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from softlabel.networks.deep.images import Images
from softlabel.networks.deep.objective import two_columns

CHUNK = 512


@torch.no_grad()
def network_logits(network: nn.Module, pixels: Tensor, device: str = "cpu") -> Tensor:
    """Logits (n, classes) in float32 on the CPU; the network is in evaluation mode during the call."""
    was_training = network.training
    network.eval()
    try:
        parts = [two_columns(network(batch.to(device))).float().cpu() for batch in pixels.split(CHUNK)]
    finally:
        network.train(was_training)
    return torch.cat(parts)


@dataclass(frozen=True)
class Scores:
    """Accuracy, mean cross-entropy, and expected calibration error with 15 bins."""

    accuracy: float
    loss: float
    calibration_error: float


def score_logits(logits: Tensor, labels: Tensor) -> Scores:
    """Scores of logits (n, classes) against classes (n,)."""
    loss = float(functional.cross_entropy(logits, labels))
    confidence, predicted = logits.softmax(1).max(1)
    correct = (predicted == labels).double()
    return Scores(float(correct.mean()), loss, calibration_error(confidence.double().numpy(), correct.numpy()))


def calibration_error(confidence: np.ndarray, correct: np.ndarray, bins: int = 15) -> float:
    """Expected calibration error: Σ over bins of (fraction of rows in the bin) × |accuracy − mean confidence|."""
    numbers = np.minimum((confidence * bins).astype(int), bins - 1)
    total = 0.0
    for number in np.unique(numbers):
        inside = numbers == number
        total += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    return float(total)


def agreement(logits: Tensor, teacher_logits: Tensor) -> dict[str, float]:
    """Fraction of rows with equal predictions of student and teacher, and mean KL(teacher ‖ student)."""
    same = (logits.argmax(1) == teacher_logits.argmax(1)).double().mean()
    own, target = logits.log_softmax(1), teacher_logits.log_softmax(1)
    divergence = functional.kl_div(own, target, reduction="batchmean", log_target=True)
    return {"agreement": float(same), "kl": float(divergence)}


def score_network(network: nn.Module, images: Images, device: str = "cpu") -> tuple[Scores, Tensor]:
    """Scores on images, and the logits."""
    logits = network_logits(network, images.pixels, device)
    return score_logits(logits, images.labels), logits
