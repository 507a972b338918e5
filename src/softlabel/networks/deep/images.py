"""Images in memory, and what is done to a batch of them: shifts and flips, drawn by seed, epoch and nothing else."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from softlabel.data.pictures import as_pixels, channels_first
from softlabel.errors import require

LAYOUTS = ("auto", "channels_first", "channels_last")
SHIFT = 4  # pixels that an augmented image is moved by at most


@dataclass(frozen=True, eq=False)
class Images:
    """Images (n, channels, height, width), float32, channels last in memory; with their classes (n,).

    classes     how many there are; labels are 0 … classes − 1
    """

    pixels: Tensor
    labels: Tensor
    classes: int

    @classmethod
    def of(cls, pixels: Any, labels: Any, classes: int | None = None, layout: str = "auto") -> "Images":
        """From arrays, which are checked.

        pixels  (n, height, width) for gray images, (n, channels, height, width) or (n, height, width, channels); whole
                numbers are divided by 255, fractions are taken as they are
        labels  whole numbers from 0
        layout  "channels_first", "channels_last", or "auto": the channels are the axis that has 1, 3 or 4 entries
        """
        require(layout in LAYOUTS, f"layout must be one of {', '.join(LAYOUTS)}, got '{layout}'")
        table = np.asarray(pixels)
        require(table.dtype.kind in "biuf", f"images must be numbers, got values of type {table.dtype}")
        require(table.size > 0, f"images must not be empty, got shape {table.shape}")
        if layout == "auto" or table.ndim != 4:
            table = channels_first(table, "images")
        elif layout == "channels_last":
            table = table.transpose(0, 3, 1, 2)
        if table.dtype.kind in "iu":
            table = as_pixels(table, "images")
        held = torch.as_tensor(np.ascontiguousarray(table, dtype=np.float32))
        require(bool(torch.isfinite(held).all()), "images hold values that are not finite")
        given = np.asarray(labels)
        require(given.shape == (len(held),), f"labels have shape {given.shape}, there are {len(held)} images")
        whole = given.dtype.kind == "f" and bool((np.isfinite(given) & (given == np.round(given))).all())
        require(
            given.dtype.kind in "iub" or whole,
            "labels must be whole numbers, the places of their classes",
        )
        found = torch.as_tensor(given.astype(np.int64))
        count = int(found.max()) + 1 if classes is None else classes
        require(
            int(found.min()) >= 0 and int(found.max()) < count,
            f"labels must lie in 0 … {count - 1} ({count} classes), got {int(found.min())} to {int(found.max())}",
        )
        return cls(held.contiguous(memory_format=torch.channels_last), found, count)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width)."""
        return tuple(self.pixels.shape[1:])  # type: ignore[return-value]

    @cached_property
    def fingerprint(self) -> str:
        """Identity of pixels and order, not of labels."""
        digest = hashlib.sha256(str(tuple(self.pixels.shape)).encode())
        digest.update(self.pixels.permute(0, 2, 3, 1).contiguous().numpy().data)
        return digest.hexdigest()[:20]

    def rows(self, places: Any) -> "Images":
        """Some of them."""
        chosen = torch.as_tensor(np.asarray(places))
        held = self.pixels[chosen].contiguous(memory_format=torch.channels_last)
        return Images(held, self.labels[chosen], self.classes)

    def order(self, seed: int, epoch: int) -> Tensor:
        """The order in which an epoch sees them."""
        return torch.randperm(len(self), generator=stream(seed, epoch, 0))


def stream(*place: int) -> torch.Generator:
    """A generator of its own for every seed, epoch and use."""
    text = ",".join(str(part) for part in place)
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
    return torch.Generator().manual_seed(number)


def augment(pixels: Tensor, places: Tensor, total: int, seed: int, view: int) -> Tensor:
    """Every image moved by up to four pixels and perhaps mirrored, as `view` has it; the same again for the same view.

    places  (n,) which of the `total` images these are: an image's view does not depend on its batch
    """
    generator = stream(seed, view, 1)
    draws = torch.randint(0, 2 * SHIFT + 1, (2, total), generator=generator)
    flips = torch.randint(0, 2, (total,), generator=generator).bool()[places]
    down, right = draws[0][places], draws[1][places]
    n, _, height, width = pixels.shape
    padded = functional.pad(pixels, (SHIFT, SHIFT, SHIFT, SHIFT))
    columns = torch.where(flips[:, None], torch.arange(width - 1, -1, -1), torch.arange(width)) + right[:, None]
    lines = torch.arange(height) + down[:, None]
    moved = padded.permute(0, 2, 3, 1)[torch.arange(n)[:, None, None], lines[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)
