"""How a deep network is trained: Adam with L2, early stopping on validation data, the best weights restored.

Fast on a processor: images in memory and channels last, augmentation on whole batches, products in bfloat16 where the
processor has them (weights, moments and losses stay float32), Adam's update fused. An epoch's order, augmentation and
dropout are drawn from the seed and the epoch's number alone.
"""

import hashlib
import math
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softlabel.errors import DivergedError, InputError, require, unknown
from softlabel.networks.deep.building import network_fingerprint
from softlabel.networks.deep.checkpoint import read_checkpoint, restore_moments, write_checkpoint
from softlabel.networks.deep.evaluation import network_logits, score_logits
from softlabel.networks.deep.features import FeatureMatch, Tap, feature_loss
from softlabel.networks.deep.images import Images, augment, stream
from softlabel.networks.deep.objective import HARD, Objective, two_columns
from softlabel.networks.deep.teaching import SoftLabels
from softlabel.ranges import LARGEST, check_count, check_positive, check_seed

PRECISIONS = ("auto", "float32", "bfloat16")


@dataclass(frozen=True)
class Training:
    """How long, how fast, in which precision.

    patience    epochs without a better validation accuracy (or an equal one with smaller loss) after which it stops
    decay       L2 of all weights, as Adam adds it to the gradient
    clip        largest norm of a gradient
    augment     shifts and flips of training images
    views       how many augmented views of an image there are; None: another every epoch
    precision   "float32", "bfloat16" products, or "auto": bfloat16 where the processor multiplies it
    """

    epochs: int = 100
    patience: int = 20
    batch: int = 128
    rate: float = 1e-3
    decay: float = 5e-4
    clip: float = 5.0
    augment: bool = False
    views: int | None = None
    precision: str = "auto"
    device: str = "cpu"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "batch"):
            check_count(getattr(self, name), name)
        check_seed(self.seed)
        for name in ("rate", "clip"):
            check_positive(getattr(self, name), name)
        require(0 <= self.decay <= LARGEST, f"decay must lie between 0 and {LARGEST:g}, got {self.decay}")
        if self.views is not None:
            check_count(self.views, "views")
            require(self.augment, "views need augment=True")
        if self.precision not in PRECISIONS:
            raise unknown("precision", self.precision, PRECISIONS)
        require(
            self.device == "cpu" or re.fullmatch(r"cuda(:\d+)?", self.device) is not None,
            f"device must be cpu, cuda or cuda:N, got '{self.device}'",
        )
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise InputError(f"device '{self.device}': no CUDA device is available; use cpu")

    @property
    def rounded(self) -> bool:
        """Whether products are in bfloat16."""
        return self.precision == "bfloat16" or (self.precision == "auto" and has_bfloat16(self.device))


def has_bfloat16(device: str) -> bool:
    """Whether this device multiplies bfloat16 by itself."""
    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported()
    from torch.cpu import _is_avx512_bf16_supported

    return bool(_is_avx512_bf16_supported())


@dataclass(frozen=True)
class Epoch:
    """Records of one epoch: mean training loss, and accuracy and loss on validation data."""

    loss: float
    accuracy: float
    validation_loss: float


@dataclass(frozen=True, eq=False)
class DeepRun:
    """A finished training; the network holds the weights of epoch `best` (from 1) and is in evaluation mode."""

    network: nn.Module
    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    accuracy: float = 0.0
    stopped_early: bool = False


def train_network(
    network: nn.Module,
    images: Images,
    validation: Images,
    training: Training | None = None,
    objective: Objective = HARD,
    *,
    soft: SoftLabels | None = None,
    teacher: nn.Module | None = None,
    match: FeatureMatch | None = None,
    checkpoint: str | Path | None = None,
    observe: Callable[[int, Epoch], None] | None = None,
) -> DeepRun:
    """Train a network in place.

    soft        where soft labels come from; needed where the objective has a soft share
    teacher     a network whose features are matched, with `match` saying which
    checkpoint  a file that holds the state after every epoch; training goes on from it
    observe     called after every epoch
    """
    lesson = Lesson(images, validation, training or Training(), objective, soft, teacher, match)
    if teacher is not None:
        teacher.to(lesson.training.device)
    lesson.check(network.to(lesson.training.device))
    return Trainer(network, lesson).run(None if checkpoint is None else Path(checkpoint), observe)


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a network is trained on and how; the arguments of `train_network`."""

    images: Images
    validation: Images
    training: Training
    objective: Objective = HARD
    soft: SoftLabels | None = None
    teacher: nn.Module | None = None
    match: FeatureMatch | None = None

    def check(self, network: nn.Module) -> None:
        """Refuse what does not fit together, before anything is trained."""
        images, validation, objective = self.images, self.validation, self.objective
        require(
            validation.shape == images.shape and validation.classes == images.classes,
            f"validation images are {validation.shape} of {validation.classes} classes, training images {images.shape} "
            f"of {images.classes}",
        )
        require(
            not objective.needs_logits or self.soft is not None,
            f"soft_share {objective.soft_share} needs soft labels; give a teacher's logits, or soft_share=0",
        )
        require(
            (objective.feature_weight > 0) == (self.match is not None)
            and (self.match is None or self.teacher is not None),
            "matched features need feature_weight > 0, a teacher network, and the names of both layers",
        )
        if self.soft is not None:
            self.soft.check(images, self.training)
        try:
            shape = tuple(network_logits(network, images.pixels[:2], self.training.device).shape)
        except RuntimeError as problem:
            raise InputError(
                f"the network cannot take images of {images.shape}: {str(problem).splitlines()[0]}"
            ) from problem
        require(
            shape == (min(2, len(images)), images.classes),
            f"the network answers with shape {shape} to {min(2, len(images))} images of {images.classes} classes",
        )


class Trainer:
    """One training and its state."""

    def __init__(self, network: nn.Module, lesson: Lesson) -> None:
        training, match, teacher = lesson.training, lesson.match, lesson.teacher
        self.network = network.to(training.device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.lesson, self.training, self.images = lesson, training, lesson.images
        self.taps = (
            [] if match is None or teacher is None
            else [Tap(network, match.student_layer), Tap(teacher, match.teacher_layer)]
        )  # fmt: skip
        self.optimiser = torch.optim.Adam(
            self.network.parameters(), training.rate, weight_decay=training.decay, fused=True
        )
        self.epochs: list[Epoch] = []
        self.best = 0
        self.best_weights = self._copy()

    def run(self, checkpoint: Path | None, observe: Callable[[int, Epoch], None] | None) -> DeepRun:
        belongs_to = {} if checkpoint is None else self._belongs_to()
        if checkpoint is not None:
            self._resume(checkpoint, belongs_to)
        try:
            while len(self.epochs) < self.training.epochs and not self._patience_ended():
                self._epoch(len(self.epochs))
                if checkpoint is not None:
                    state = {"belongs_to": belongs_to, "best": self.best, "epochs": [asdict(e) for e in self.epochs]}
                    write_checkpoint(checkpoint, self.network, self.best_weights, self.optimiser, state)
                if observe is not None:
                    observe(len(self.epochs), self.epochs[-1])
        finally:
            for tap in self.taps:
                tap.close()
        self.network.load_state_dict(self.best_weights)
        self.network.eval()
        stopped = len(self.epochs) < self.training.epochs
        return DeepRun(self.network, self.epochs, self.best, self.epochs[self.best - 1].accuracy, stopped)

    def _patience_ended(self) -> bool:
        return len(self.epochs) - self.best >= self.training.patience

    def _epoch(self, number: int) -> None:
        self.network.train()
        total = torch.zeros((), dtype=torch.float64)
        view = number if self.training.views is None else number % self.training.views
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stream(self.training.seed, number, 3).initial_seed())
            for places in self._batches(number):
                total += self.step(places, view) * len(places)
        mean = float(total) / len(self.images)
        if not math.isfinite(mean):
            raise DivergedError(f"training left the finite numbers in epoch {number + 1}; take a smaller rate")
        logits = network_logits(self.network, self.lesson.validation.pixels, self.training.device)
        if not bool(torch.isfinite(logits).all()):
            raise DivergedError(f"the weights left the finite numbers in epoch {number + 1}; take a smaller rate")
        found = score_logits(logits, self.lesson.validation.labels)
        self.epochs.append(Epoch(mean, found.accuracy, found.loss))
        if self._is_best():
            self.best, self.best_weights = len(self.epochs), self._copy()

    def _batches(self, number: int) -> list[Tensor]:
        """An epoch's batches; a last one of a single image joins the one before, since normalisation needs two."""
        batches = list(self.images.order(self.training.seed, number).split(self.training.batch))
        if len(batches) > 1 and len(batches[-1]) == 1:
            batches[-2:] = [torch.cat(batches[-2:])]
        return batches

    def step(self, places: Tensor, view: int) -> Tensor:
        """One update; its loss."""
        training = self.training
        pixels = self.images.pixels[places]
        if training.augment:
            pixels = augment(pixels, places, len(self.images), training.seed, view)
        taught = None
        if self.lesson.objective.needs_logits:
            assert self.lesson.soft is not None
            taught = self.lesson.soft.for_batch(places, pixels, view).to(training.device)
        pixels = pixels.to(training.device, memory_format=torch.channels_last)
        labels = self.images.labels[places].to(training.device)
        rounding = torch.autocast(training.device.split(":")[0], torch.bfloat16) if training.rounded else nullcontext()
        with rounding:
            logits = self.network(pixels)
        loss = self.lesson.objective.loss(two_columns(logits.float()), labels, taught)
        if self.lesson.match is not None:
            loss = loss + self.lesson.objective.feature_weight * self._features(pixels)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), training.clip)
        self.optimiser.step()
        return loss.detach().double().cpu()

    def _features(self, pixels: Tensor) -> Tensor:
        assert self.lesson.teacher is not None
        assert self.lesson.match is not None
        teacher, was_training = self.lesson.teacher, self.lesson.teacher.training
        teacher.eval()
        with torch.no_grad():
            teacher(pixels)
        teacher.train(was_training)
        own, known = (tap.take() for tap in self.taps)
        return feature_loss(own, known, self.lesson.match.seed)

    def _is_best(self) -> bool:
        if self.best == 0:
            return True
        now, then = self.epochs[-1], self.epochs[self.best - 1]
        return (now.accuracy, -now.validation_loss) > (then.accuracy, -then.validation_loss)

    def _copy(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.network.state_dict().items()}

    def _belongs_to(self) -> dict[str, Any]:
        """What a checkpoint must share with this training."""
        labels = torch.cat([self.images.labels, self.lesson.validation.labels]).numpy()
        return {
            "settings": asdict(self.training) | {"epochs": None, "patience": None},
            "objective": asdict(self.lesson.objective),
            "images": [self.images.fingerprint, self.lesson.validation.fingerprint],
            "labels": hashlib.sha256(labels.data).hexdigest()[:20],
            "start": network_fingerprint(self.network),
            "soft": None if self.lesson.soft is None else self.lesson.soft.identity,
            "match": None if self.lesson.match is None else asdict(self.lesson.match),
            "matched": None if self.lesson.teacher is None else network_fingerprint(self.lesson.teacher),
        }

    def _resume(self, checkpoint: Path, belongs_to: dict[str, Any]) -> None:
        held = read_checkpoint(checkpoint, belongs_to)
        if held is None:
            return
        self.network.load_state_dict(held.network)
        restore_moments(self.optimiser, held.moments)
        self.best_weights = {name: value.to(self.training.device) for name, value in held.best.items()}
        self.best = held.state["best"]
        self.epochs = [Epoch(**epoch) for epoch in held.state["epochs"]]
