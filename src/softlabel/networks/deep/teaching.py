"""Where a deep student's soft labels come from during training, always for the very images it sees.

cached      logits of the unaugmented images, computed once, by row; refused where images are augmented
views       logits of a fixed number of augmented views of every image, each computed once
online      the teacher runs on every batch
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from softlabel.errors import require
from softlabel.networks.deep.evaluation import network_logits
from softlabel.networks.deep.images import Images, augment

Answer = Callable[[Tensor], Tensor]
"""Images (n, c, h, w) to logits (n, classes)."""


@dataclass(frozen=True, eq=False)
class CachedLogits:
    """Logits (n, classes) of the images with this fingerprint, by row."""

    logits: Tensor
    fingerprint: str

    @property
    def identity(self) -> str:
        """Of the logits: a training that goes on must have the same."""
        return hashlib.sha256(self.logits.contiguous().numpy().tobytes()).hexdigest()[:20]

    def check(self, images: Images, augmented: bool) -> None:
        require(not augmented, "cached logits belong to images as they are; with augmentation use views or online=True")
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
    identity: str = "views"

    def check(self, images: Images, augmented: bool) -> None:
        require(augmented, "views are of augmented images; without augmentation use cached logits")
        require(images.fingerprint == self.images.fingerprint, "views are of other images than these")

    def for_batch(self, places: Tensor, pixels: Tensor, view: int) -> Tensor:
        if view not in self.held:
            rows = torch.arange(len(self.images))
            parts = [
                self.answer(augment(self.images.pixels[part], part, len(rows), self.seed, view))
                for part in rows.split(512)
            ]
            self.held[view] = torch.cat(parts)
        return self.held[view][places]


@dataclass(frozen=True, eq=False)
class OnlineTeacher:
    """A teacher that runs on every batch."""

    answer: Answer
    identity: str = "online"

    def check(self, images: Images, augmented: bool) -> None:
        with torch.no_grad():
            shape = tuple(self.answer(images.pixels[:2]).shape)
        require(
            shape == (min(2, len(images)), images.classes),
            f"the teacher answers with shape {shape} to {min(2, len(images))} images of {images.classes} classes",
        )

    def for_batch(self, places: Tensor, pixels: Tensor, view: int) -> Tensor:
        with torch.no_grad():
            return self.answer(pixels)


SoftLabels = CachedLogits | ViewLogits | OnlineTeacher


def module_answer(teacher: nn.Module, device: str = "cpu") -> Answer:
    """A network as a teacher: in evaluation mode, without gradients."""
    return lambda pixels: network_logits(teacher, pixels, device)


def cached_logits(teacher: nn.Module | Answer, images: Images, device: str = "cpu") -> CachedLogits:
    """A teacher's logits on images, computed once."""
    answer = module_answer(teacher, device) if isinstance(teacher, nn.Module) else teacher
    parts = [answer(part) for part in images.pixels.split(512)]
    return CachedLogits(torch.cat(parts).float(), images.fingerprint)
