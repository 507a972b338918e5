"""Training of deep networks: Adam with weight decay, early stopping on validation data, best weights restored.

Fast on a CPU: images in memory with channels last, augmentation of entire batches, products in bfloat16 if the
processor supports it (weights, moments and losses stay float32), fused updates of Adam. The order, augmentation and
dropout of an epoch depend on the seed and the epoch's number only.
"""

import hashlib
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softlabel.errors import DivergedError, InputError, require
from softlabel.networks.deep.building import network_fingerprint
from softlabel.networks.deep.checkpoint import read_checkpoint, restore_moments, write_checkpoint
from softlabel.networks.deep.evaluation import network_logits, score_logits
from softlabel.networks.deep.features import FeatureMatch, Tap, feature_loss
from softlabel.networks.deep.images import Images, augment, stream
from softlabel.networks.deep.objective import HARD, Objective, two_columns
from softlabel.networks.deep.settings import DeepTraining
from softlabel.networks.deep.teaching import SoftLabels


@dataclass(frozen=True)
class Epoch:
    """Records of one epoch: mean training loss, validation accuracy and validation loss."""

    loss: float
    accuracy: float
    validation_loss: float


@dataclass(frozen=True, eq=False)
class DeepRun:
    """Result of `train_network`.

    Attributes
    ----------
    network : torch.nn.Module
        The network in evaluation mode, with the weights of the best epoch.
    epochs : list of Epoch
        Training loss, validation accuracy and validation loss of every epoch.
    best : int
        The best epoch, counted from 1.
    accuracy : float
        Validation accuracy of the best epoch.
    stopped_early : bool
        Whether the training stopped before the last epoch.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> y = np.arange(40) % 2
    >>> pixels = np.random.default_rng(0).random((40, 1, 8, 8)) + y[:, None, None, None]
    >>> images = sl.Images.from_arrays(pixels, y)
    >>> network = sl.build_network("vgg1+3", classes=2, image=(1, 8, 8), width_multiplier=0.1)
    >>> run = sl.train_network(network, images, images, sl.DeepTraining(epochs=2, precision="float32"))
    >>> len(run.epochs), run.best in (1, 2), run.stopped_early
    (2, True, False)
    """

    network: nn.Module
    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    accuracy: float = 0.0
    stopped_early: bool = False


def train_network(
    network: nn.Module,
    images: Images,
    validation: Images,
    training: DeepTraining | None = None,
    objective: Objective = HARD,
    *,
    soft: SoftLabels | None = None,
    teacher: nn.Module | None = None,
    match: FeatureMatch | None = None,
    checkpoint: str | Path | None = None,
    callback: Callable[[int, Epoch], None] | None = None,
) -> DeepRun:
    """Train a deep network in place, with early stopping.

    Parameters
    ----------
    network : torch.nn.Module
        The network, see `build_network`. Its outputs are one logit per class, or one logit for two classes.
    images : Images
        Training images.
    validation : Images
        Validation images; the weights of the epoch with the best validation accuracy are kept.
    training : DeepTraining, optional
        Settings of the training.
    objective : Objective, optional
        Training objective. Default: hard labels.
    soft : CachedLogits, ViewLogits or OnlineTeacher, optional
        Source of soft labels, needed if `objective.soft_share` is positive; see `cached_logits`.
    teacher : torch.nn.Module, optional
        A network whose features are matched.
    match : FeatureMatch, optional
        The matched layers, needed if `objective.feature_weight` is positive.
    checkpoint : str or Path, optional
        File that stores the state after every epoch. If it exists, the training resumes from it.
    callback : callable, optional
        Called as `callback(epoch, record)` after every epoch.

    Returns
    -------
    DeepRun
        The network and the records of all epochs.

    Raises
    ------
    InputError
        If the arguments are inconsistent, or the checkpoint belongs to another training.
    DivergedError
        If the loss or the weights become infinite or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> y = np.arange(40) % 2
    >>> pixels = np.random.default_rng(0).random((40, 1, 8, 8)) + y[:, None, None, None]
    >>> images = sl.Images.from_arrays(pixels, y)
    >>> network = sl.build_network("vgg1+3", classes=2, image=(1, 8, 8), width_multiplier=0.1)
    >>> training = sl.DeepTraining(epochs=5, batch_size=8, precision="float32")
    >>> run = sl.train_network(network, images.rows(range(30)), images.rows(range(30, 40)), training)
    >>> len(run.epochs)
    5
    """
    setup = TrainingSetup(images, validation, training or DeepTraining(), objective, soft, teacher, match)
    if teacher is not None:
        teacher.to(setup.training.device)
    setup.check(network.to(setup.training.device))
    return Trainer(network, setup).run(None if checkpoint is None else Path(checkpoint), callback)


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """The data, settings and teacher of a training; the arguments of `train_network`."""

    images: Images
    validation: Images
    training: DeepTraining
    objective: Objective = HARD
    soft: SoftLabels | None = None
    teacher: nn.Module | None = None
    match: FeatureMatch | None = None

    def check(self, network: nn.Module) -> None:
        """Raise if the arguments are inconsistent, before anything is trained."""
        images, validation, objective = self.images, self.validation, self.objective
        require(
            validation.shape == images.shape and validation.classes == images.classes,
            f"validation images are {validation.shape} of {validation.classes} classes, training images {images.shape} "
            f"of {images.classes}",
        )
        require(
            not objective.needs_logits or self.soft is not None,
            f"`soft_share` {objective.soft_share} needs soft labels; pass a teacher's logits, or use 0",
        )
        require(
            (objective.feature_weight > 0) == (self.match is not None)
            and (self.match is None or self.teacher is not None),
            "matched features need `feature_weight` > 0, a teacher network, and the names of both layers",
        )
        if self.soft is not None:
            self.soft.check(images, self.training)
        few = images.pixels[:2]
        try:
            shape = tuple(network_logits(network, few, self.training.device).shape)
        except RuntimeError as problem:
            raise InputError(
                f"the network cannot take images of {images.shape}: {str(problem).splitlines()[0]}"
            ) from problem
        require(
            shape == (len(few), images.classes),
            f"the network's outputs have shape {shape} for {len(few)} images of {images.classes} classes",
        )


class Trainer:
    """The state of one training."""

    def __init__(self, network: nn.Module, setup: TrainingSetup) -> None:
        training, match, teacher = setup.training, setup.match, setup.teacher
        self.network = network.to(training.device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.setup, self.training, self.images = setup, training, setup.images
        self.taps = (
            [] if match is None or teacher is None
            else [Tap(network, match.student_layer), Tap(teacher, match.teacher_layer)]
        )  # fmt: skip
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), training.learning_rate, weight_decay=training.weight_decay, fused=True
        )
        self.epochs: list[Epoch] = []
        self.best = 0
        self.best_weights = self._copy()

    def run(self, checkpoint: Path | None, callback: Callable[[int, Epoch], None] | None) -> DeepRun:
        """Train until the last epoch or until the patience is exhausted."""
        belongs_to = {} if checkpoint is None else self._belongs_to()
        if checkpoint is not None:
            self._resume(checkpoint, belongs_to)
        try:
            while len(self.epochs) < min(self.training.epochs, self.best + self.training.patience):
                self._epoch(len(self.epochs))
                if checkpoint is not None:
                    state = {"belongs_to": belongs_to, "best": self.best, "epochs": [asdict(e) for e in self.epochs]}
                    write_checkpoint(checkpoint, self.network, self.best_weights, self.optimizer, state)
                if callback is not None:
                    callback(len(self.epochs), self.epochs[-1])
        finally:
            for tap in self.taps:
                tap.close()
        self.network.load_state_dict(self.best_weights)
        self.network.eval()
        stopped = len(self.epochs) < self.training.epochs
        return DeepRun(self.network, self.epochs, self.best, self.epochs[self.best - 1].accuracy, stopped)

    def _epoch(self, number: int) -> None:
        self.network.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.training.rate(number)
        total = torch.zeros((), dtype=torch.float64)
        view = number if self.training.views is None else number % self.training.views
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stream(self.training.seed, number, 3).initial_seed())
            for indices in self._batches(number):
                total += self.step(indices, view) * len(indices)
        mean = float(total) / len(self.images)
        logits = network_logits(self.network, self.setup.validation.pixels, self.training.device)
        if not (math.isfinite(mean) and bool(torch.isfinite(logits).all())):
            raise DivergedError(f"training diverged in epoch {number + 1}: use a smaller `learning_rate`")
        scores = score_logits(logits, self.setup.validation.labels)
        self.epochs.append(Epoch(mean, scores.accuracy, scores.loss))
        if self._is_best():
            self.best, self.best_weights = len(self.epochs), self._copy()

    def _batches(self, number: int) -> list[Tensor]:
        """The batches of an epoch; a last batch of one image joins the previous one (batch normalization needs two)."""
        batches = list(self.images.order(self.training.seed, number).split(self.training.batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            batches[-2:] = [torch.cat(batches[-2:])]
        return batches

    def step(self, indices: Tensor, view: int) -> Tensor:
        """One step on the images with these indices; returns the loss."""
        training = self.training
        pixels = self.images.pixels[indices]
        if training.augment:
            pixels = augment(pixels, indices, len(self.images), training.seed, view)
        teacher_logits = None
        if self.setup.objective.needs_logits and self.setup.soft is not None:
            teacher_logits = self.setup.soft.for_batch(indices, pixels, view).to(training.device)
        pixels = pixels.to(training.device, memory_format=torch.channels_last)
        labels = self.images.labels[indices].to(training.device)
        rounding = torch.autocast(training.device.split(":")[0], torch.bfloat16) if training.rounded else nullcontext()
        with rounding:
            logits = self.network(pixels)
        loss = self.setup.objective.loss(two_columns(logits.float()), labels, teacher_logits)
        if self.setup.match is not None:
            loss = loss + self.setup.objective.feature_weight * self._features(pixels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), training.clip)
        self.optimizer.step()
        return loss.detach().double().cpu()

    def _features(self, pixels: Tensor) -> Tensor:
        assert self.setup.teacher is not None
        assert self.setup.match is not None
        teacher, was_training = self.setup.teacher, self.setup.teacher.training
        teacher.eval()
        with torch.no_grad():
            teacher(pixels)
        teacher.train(was_training)
        own, target = (tap.take() for tap in self.taps)
        return feature_loss(own, target, self.setup.match.seed)

    def _is_best(self) -> bool:
        if self.best == 0:
            return True
        now, then = self.epochs[-1], self.epochs[self.best - 1]
        return (now.accuracy, -now.validation_loss) > (then.accuracy, -then.validation_loss)

    def _copy(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.network.state_dict().items()}

    def _belongs_to(self) -> dict[str, Any]:
        """What a checkpoint and this training must have in common."""
        labels = torch.cat([self.images.labels, self.setup.validation.labels]).numpy()
        constant = self.training.schedule == "constant"  # then a training may go on for more epochs
        return {
            "settings": asdict(self.training) | ({"epochs": None} if constant else {}) | {"patience": None},
            "objective": asdict(self.setup.objective),
            "images": [self.images.fingerprint, self.setup.validation.fingerprint],
            "labels": hashlib.sha256(labels.data).hexdigest()[:20],
            "init": network_fingerprint(self.network),
            "soft": None if self.setup.soft is None else self.setup.soft.identity,
            "match": None if self.setup.match is None else asdict(self.setup.match),
            "matched": None if self.setup.teacher is None else network_fingerprint(self.setup.teacher),
        }

    def _resume(self, checkpoint: Path, belongs_to: dict[str, Any]) -> None:
        stored = read_checkpoint(checkpoint, belongs_to)
        if stored is None:
            return
        self.network.load_state_dict(stored.network)
        restore_moments(self.optimizer, stored.moments)
        self.best_weights = {name: value.to(self.training.device) for name, value in stored.best.items()}
        self.best = stored.state["best"]
        self.epochs = [Epoch(**epoch) for epoch in stored.state["epochs"]]
