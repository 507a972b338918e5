"""Sources of a deep student's soft labels during training, always for exactly the images that the student sees.

cached      logits of the images without augmentation, computed once
views       logits of a fixed number of augmented views of every image, each computed once
online      the teacher is evaluated on every batch
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from softlabel.errors import require
from softlabel.networks.deep.evaluation import network_logits
from softlabel.networks.deep.images import Images, augment
from softlabel.networks.deep.settings import DeepTraining

LogitFunction = Callable[[Tensor], Tensor]
"""Maps images (n, c, h, w) to logits (n, classes)."""

CHUNK = 512
PROBE = 8  # number of images whose logits identify a teacher


@dataclass(frozen=True, eq=False)
class CachedLogits:
    """Logits (n, classes) of the images with this fingerprint."""

    logits: Tensor
    fingerprint: str

    @property
    def identity(self) -> str:
        """Hash of the logits; a resumed training must have the same."""
        return _digest(self.logits)

    def check(self, images: Images, training: DeepTraining) -> None:
        """Raise unless these logits can be used in this training."""
        require(
            not training.augment,
            "cached logits belong to images without augmentation; with augmentation use `views` or `online`",
        )
        self.check_images(images)

    def check_images(self, images: Images) -> None:
        """Raise unless these are logits of these images."""
        require(
            self.logits.shape == (len(images), images.classes),
            f"logits have shape {tuple(self.logits.shape)}, there are {len(images)} images of {images.classes} classes",
        )
        require(
            self.fingerprint == images.fingerprint,
            f"logits were computed on other images or in another order (fingerprint {self.fingerprint}, the images "
            f"have {images.fingerprint})",
        )

    def for_batch(self, indices: Tensor, pixels: Tensor, view: int) -> Tensor:
        """Logits of the images with these indices."""
        return self.logits[indices]


@dataclass(eq=False)
class ViewLogits:
    """Logits of augmented views, computed when a view is first used."""

    teacher: LogitFunction
    images: Images
    seed: int
    computed: dict[int, Tensor] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Hash of the teacher's logits of the first images."""
        return "views " + _digest(batch_logits(self.teacher, self.images.pixels[:PROBE]))

    def check(self, images: Images, training: DeepTraining) -> None:
        """Raise unless these views can be used in this training."""
        require(training.augment, "views belong to augmented images; without augmentation use cached logits")
        require(
            training.seed == self.seed,
            f"views were drawn with seed {self.seed}, the training has seed {training.seed}; they must be equal",
        )
        require(images.fingerprint == self.images.fingerprint, "views belong to other images than these")
        _check_logits(self.teacher, images)

    def for_batch(self, indices: Tensor, pixels: Tensor, view: int) -> Tensor:
        """Logits of this view of the images with these indices."""
        if view not in self.computed:
            rows = torch.arange(len(self.images))
            parts = [
                batch_logits(self.teacher, augment(self.images.pixels[part], part, len(rows), self.seed, view))
                for part in rows.split(CHUNK)
            ]
            self.computed[view] = torch.cat(parts)
        return self.computed[view][indices]


@dataclass(eq=False)
class OnlineTeacher:
    """A teacher that is evaluated on every batch."""

    teacher: LogitFunction
    identity: str = ""

    def check(self, images: Images, training: DeepTraining) -> None:
        """Raise unless the teacher can label these images; set its identity."""
        _check_logits(self.teacher, images)
        self.identity = "online " + _digest(batch_logits(self.teacher, images.pixels[:PROBE]))

    def for_batch(self, indices: Tensor, pixels: Tensor, view: int) -> Tensor:
        """Logits of these pixels."""
        return batch_logits(self.teacher, pixels)


SoftLabels = CachedLogits | ViewLogits | OnlineTeacher


@torch.no_grad()
def batch_logits(teacher: LogitFunction, pixels: Tensor) -> Tensor:
    """A teacher's logits in float32 on the CPU, without gradients."""
    return teacher(pixels).detach().float().cpu()


def _check_logits(teacher: LogitFunction, images: Images) -> None:
    few = images.pixels[:2]
    shape = tuple(batch_logits(teacher, few).shape)
    require(
        shape == (len(few), images.classes),
        f"the teacher's logits have shape {shape} for {len(few)} images of {images.classes} classes",
    )


def _digest(table: Tensor) -> str:
    return hashlib.sha256(table.contiguous().numpy().tobytes()).hexdigest()[:20]


def module_logits(teacher: nn.Module, device: str = "cpu") -> LogitFunction:
    """The logits of a network as a function: on a device, in evaluation mode, without gradients."""
    teacher.to(device)
    return lambda pixels: network_logits(teacher, pixels, device)


def cached_logits(teacher: nn.Module | LogitFunction, images: Images, device: str = "cpu") -> CachedLogits:
    """Compute a teacher's logits on images once."""
    function = module_logits(teacher, device) if isinstance(teacher, nn.Module) else teacher
    parts = [batch_logits(function, part) for part in images.pixels.split(CHUNK)]
    return CachedLogits(torch.cat(parts), images.fingerprint)
