"""Settings of the training of a deep network."""

import math
import re
from dataclasses import dataclass

import torch

from softlabel.errors import InputError, require, unknown
from softlabel.numerics import has_bfloat16
from softlabel.ranges import LARGEST, check_count, check_positive, check_seed

PRECISIONS = ("auto", "float32", "bfloat16")
SCHEDULES = ("constant", "cosine")


@dataclass(frozen=True)
class DeepTraining:
    """Settings of the training of a deep network.

    Parameters
    ----------
    epochs : int, default=100
        Maximum number of epochs.
    patience : int, default=20
        Number of epochs without a better validation accuracy (or an equal accuracy with a smaller loss) after which the
        training stops.
    batch_size : int, default=128
        Batch size.
    learning_rate : float, default=1e-3
        Learning rate of Adam.
    schedule : {"constant", "cosine"}, default="constant"
        Schedule of the learning rate; "cosine" decreases it to 0 over the maximum number of epochs.
    weight_decay : float, default=5e-4
        Weight decay (L2 penalty), added to the gradient.
    clip : float, default=5.0
        Maximum norm of a gradient.
    augment : bool, default=False
        Whether training images are randomly shifted and flipped.
    views : int, optional
        Number of augmented views of each image. Default: a new view in every epoch.
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        Precision of products; "auto" is bfloat16 if the device supports it.
    device : str, default="cpu"
        "cpu", "cuda" or "cuda:N".
    seed : int, default=0
        Seed of order, augmentation and dropout.

    Examples
    --------
    >>> import softlabel as sl
    >>> training = sl.DeepTraining(epochs=10, learning_rate=3e-4)
    >>> training.batch_size, training.weight_decay
    (128, 0.0005)
    """

    epochs: int = 100
    patience: int = 20
    batch_size: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 5e-4
    clip: float = 5.0
    augment: bool = False
    views: int | None = None
    precision: str = "auto"
    device: str = "cpu"
    seed: int = 0
    schedule: str = "constant"

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "batch_size"):
            check_count(getattr(self, name), name)
        check_seed(self.seed)
        for name in ("learning_rate", "clip"):
            check_positive(getattr(self, name), name)
        require(
            0 <= self.weight_decay <= LARGEST,
            f"weight_decay must lie between 0 and {LARGEST:g}, got {self.weight_decay}",
        )
        if self.views is not None:
            check_count(self.views, "views")
            require(self.augment, "`views` need `augment`")
        if self.schedule not in SCHEDULES:
            raise unknown("schedule", self.schedule, SCHEDULES)
        if self.precision not in PRECISIONS:
            raise unknown("precision", self.precision, PRECISIONS)
        require(
            self.device == "cpu" or re.fullmatch(r"cuda(:\d+)?", self.device) is not None,
            f"device must be cpu, cuda or cuda:N, got '{self.device}'",
        )
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise InputError(f"`device` '{self.device}': no CUDA device is available; use cpu")

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * (1 + math.cos(math.pi * epoch / self.epochs)) / 2

    @property
    def rounded(self) -> bool:
        """Whether products are computed in bfloat16."""
        if self.precision == "auto":
            return torch.cuda.is_bf16_supported() if self.device.startswith("cuda") else has_bfloat16()
        return self.precision == "bfloat16"
