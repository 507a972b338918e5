"""Where a deep student's soft labels come from during training, always for the very images it sees.

cached      logits of the unaugmented images, computed once, by row; refused where images are augmented
views       logits of a fixed number of augmented views of every image, each computed once
online      the teacher runs on every batch
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn

from softlabel.errors import require
from softlabel.networks.deep.evaluation import network_logits
from softlabel.networks.deep.images import Images, augment

Answer = Callable[[Tensor], Tensor]
"""Images (n, c, h, w) to logits (n, classes)."""

CHUNK = 512
PROBE = 8  # images whose answers tell one teacher from another


class Seen(Protocol):
    """What of a training decides which images a student sees."""

    @property
    def augment(self) -> bool: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True, eq=False)
class CachedLogits:
    """Logits (n, classes) of the images with this fingerprint, by row."""

    logits: Tensor
    fingerprint: str

    @property
    def identity(self) -> str:
        """Of the logits: a training that goes on must have the same."""
        return _digest(self.logits)

    def check(self, images: Images, training: Seen) -> None:
        require(
            not training.augment,
            "cached logits belong to images as they are; with augmentation use views or online=True",
        )
        self.check_images(images)

    def check_images(self, images: Images) -> None:
        """Whether these are logits of these images."""
        require(
            self.logits.shape == (len(images), images.classes),
            f"logits have shape {tuple(self.logits.shape)}, there are {len(images)} images of {images.classes} classes",
        )
        require(
            self.fingerprint == images.fingerprint,
            f"logits were computed on other images, or in another order (fingerprint {self.fingerprint}, these have "
            f"{images.fingerprint})",
        )

    def for_batch(self, places: Tensor, pixels: Tensor, view: int) -> Tensor:
        return self.logits[places]


@dataclass(eq=False)
class ViewLogits:
    """Logits of augmented views, computed when a view is first seen."""

    answer: Answer
    images: Images
    seed: int
    held: dict[int, Tensor] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Of the teacher, by what it says to the first images."""
        return "views " + _digest(ask(self.answer, self.images.pixels[:PROBE]))

    def check(self, images: Images, training: Seen) -> None:
        require(training.augment, "views are of augmented images; without augmentation use cached logits")
        require(
            training.seed == self.seed,
            f"views were drawn by seed {self.seed}, the training draws by {training.seed}; they must be the same",
        )
        require(images.fingerprint == self.images.fingerprint, "views are of other images than these")
        _check_answer(self.answer, images)

    def for_batch(self, places: Tensor, pixels: Tensor, view: int) -> Tensor:
        if view not in self.held:
            rows = torch.arange(len(self.images))
            parts = [
                ask(self.answer, augment(self.images.pixels[part], part, len(rows), self.seed, view))
                for part in rows.split(CHUNK)
            ]
            self.held[view] = torch.cat(parts)
        return self.held[view][places]


@dataclass(eq=False)
class OnlineTeacher:
    """A teacher that runs on every batch."""

    answer: Answer
    identity: str = ""

    def check(self, images: Images, training: Seen) -> None:
        _check_answer(self.answer, images)
        self.identity = "online " + _digest(ask(self.answer, images.pixels[:PROBE]))

    def for_batch(self, places: Tensor, pixels: Tensor, view: int) -> Tensor:
        return ask(self.answer, pixels)


SoftLabels = CachedLogits | ViewLogits | OnlineTeacher


@torch.no_grad()
def ask(answer: Answer, pixels: Tensor) -> Tensor:
    """What a teacher says, outside of any graph."""
    return answer(pixels).detach().float().cpu()


def _check_answer(answer: Answer, images: Images) -> None:
    few = images.pixels[:2]
    shape = tuple(ask(answer, few).shape)
    require(
        shape == (len(few), images.classes),
        f"the teacher answers with shape {shape} to {len(few)} images of {images.classes} classes",
    )


def _digest(table: Tensor) -> str:
    return hashlib.sha256(table.contiguous().numpy().tobytes()).hexdigest()[:20]


def module_answer(teacher: nn.Module, device: str = "cpu") -> Answer:
    """A network as a teacher: on its device, in evaluation mode, without gradients."""
    teacher.to(device)
    return lambda pixels: network_logits(teacher, pixels, device)


def cached_logits(teacher: nn.Module | Answer, images: Images, device: str = "cpu") -> CachedLogits:
    """A teacher's logits on images, computed once."""
    answer = module_answer(teacher, device) if isinstance(teacher, nn.Module) else teacher
    parts = [ask(answer, part) for part in images.pixels.split(CHUNK)]
    return CachedLogits(torch.cat(parts), images.fingerprint)
