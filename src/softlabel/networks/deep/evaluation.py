"""What a network says about images, and how good that is."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from softlabel.networks.deep.images import Images
from softlabel.networks.deep.objective import two_columns

BATCH = 512


@torch.no_grad()
def network_logits(network: nn.Module, pixels: Tensor, device: str = "cpu") -> Tensor:
    """(n, classes) float32 on the processor, the network in evaluation mode while it is asked."""
    was_training = network.training
    network.eval()
    try:
        parts = [two_columns(network(batch.to(device))).float().cpu() for batch in pixels.split(BATCH)]
    finally:
        network.train(was_training)
    return torch.cat(parts)


@dataclass(frozen=True)
class Scores:
    """Accuracy, mean cross-entropy, and the expected calibration error over 15 bins of confidence."""

    accuracy: float
    loss: float
    calibration_error: float


def score_logits(logits: Tensor, labels: Tensor) -> Scores:
    """Scores of logits (n, classes) against classes (n,)."""
    loss = float(functional.cross_entropy(logits, labels))
    confidence, said = logits.softmax(1).max(1)
    right = (said == labels).double()
    return Scores(float(right.mean()), loss, calibration_error(confidence.double().numpy(), right.numpy()))


def calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int = 15) -> float:
    """Σ share of a bin × |accuracy − mean confidence| in it."""
    places = np.minimum((confidence * bins).astype(int), bins - 1)
    total = 0.0
    for place in np.unique(places):
        held = places == place
        total += held.mean() * abs(right[held].mean() - confidence[held].mean())
    return float(total)


def agreement(logits: Tensor, taught: Tensor) -> dict[str, float]:
    """How often a student says what its teacher says, and mean KL(teacher ‖ student)."""
    same = (logits.argmax(1) == taught.argmax(1)).double().mean()
    divergence = functional.kl_div(logits.log_softmax(1), taught.log_softmax(1), reduction="batchmean", log_target=True)
    return {"agreement": float(same), "kl": float(divergence)}


def score_network(network: nn.Module, images: Images, device: str = "cpu") -> tuple[Scores, Tensor]:
    """Scores on images, and the logits they come from."""
    logits = network_logits(network, images.pixels, device)
    return score_logits(logits, images.labels), logits
