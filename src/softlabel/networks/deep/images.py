"""Images in memory and their augmentation by shifts and flips, which depend on the seed and the epoch only."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from softlabel.data.images import as_pixels, channels_first
from softlabel.errors import require

LAYOUTS = ("auto", "channels_first", "channels_last")
SHIFT = 4  # largest shift of an augmented image in pixels


@dataclass(frozen=True, eq=False)
class Images:
    """Images with their classes, in memory.

    Use `Images.from_arrays` to create checked images.

    Parameters
    ----------
    pixels : Tensor of shape (n, channels, height, width)
        Pixels in float32, in the memory format channels last.
    labels : Tensor of shape (n,)
        Class indices 0 … classes − 1.
    classes : int
        Number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> pixels = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 3), dtype=np.uint8)
    >>> images = sl.Images.from_arrays(pixels, np.arange(10) % 2)
    >>> len(images), images.shape, images.classes
    (10, (3, 8, 8), 2)
    """

    pixels: Tensor
    labels: Tensor
    classes: int

    @classmethod
    def from_arrays(cls, pixels: Any, labels: Any, classes: int | None = None, layout: str = "auto") -> "Images":
        """Create images from arrays, which are checked.

        Parameters
        ----------
        pixels : array-like of shape (n, height, width), (n, channels, height, width) or (n, height, width, channels)
            Integers are divided by 255; floating-point values are not changed.
        labels : array-like of shape (n,)
            Class indices from 0.
        classes : int, optional
            Number of classes. Default: the largest label plus 1.
        layout : {"auto", "channels_first", "channels_last"}, default="auto"
            Layout of images with four dimensions; "auto" detects the dimension of the channels, which has size 1, 3
            or 4.

        Returns
        -------
        Images
            The images.

        Raises
        ------
        InputError
            If the arrays are inconsistent, or the layout is ambiguous.
        """
        require(layout in LAYOUTS, f"layout must be one of {', '.join(LAYOUTS)}, got '{layout}'")
        table = np.asarray(pixels)
        require(table.dtype.kind in "biuf", f"images must be numeric, got values of type {table.dtype}")
        require(table.size > 0, f"images must not be empty, got shape {table.shape}")
        if layout == "auto" or table.ndim != 4:
            table = channels_first(table, "images")
        elif layout == "channels_last":
            table = table.transpose(0, 3, 1, 2)
        if table.dtype.kind in "iu":
            table = as_pixels(table, "images")
        tensor = torch.as_tensor(np.ascontiguousarray(table, dtype=np.float32))
        require(bool(torch.isfinite(tensor).all()), "images must be finite, got missing or infinite values")
        indices, count = _class_indices(np.asarray(labels), len(tensor), classes)
        return cls(tensor.contiguous(memory_format=torch.channels_last), indices, count)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width)."""
        return tuple(self.pixels.shape[1:])  # type: ignore[return-value]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the pixels and their order; labels are not included."""
        digest = hashlib.sha256(str(tuple(self.pixels.shape)).encode())
        digest.update(self.pixels.permute(0, 2, 3, 1).contiguous().numpy().data)
        return digest.hexdigest()[:20]

    def rows(self, indices: Any) -> "Images":
        """The images with these indices."""
        chosen = torch.as_tensor(np.asarray(indices))
        pixels = self.pixels[chosen].contiguous(memory_format=torch.channels_last)
        return Images(pixels, self.labels[chosen], self.classes)

    def order(self, seed: int, epoch: int) -> Tensor:
        """The order of the images in an epoch."""
        return torch.randperm(len(self), generator=stream(seed, epoch, 0))


def _class_indices(labels: np.ndarray, rows: int, classes: int | None) -> tuple[Tensor, int]:
    """Checked labels, and the number of classes."""
    require(labels.shape == (rows,), f"labels have shape {labels.shape}, there are {rows} images")
    integral = labels.dtype.kind == "f" and bool((np.isfinite(labels) & (labels == np.round(labels))).all())
    require(labels.dtype.kind in "iub" or integral, "labels must be integers, the indices of their classes")
    indices = torch.as_tensor(labels.astype(np.int64))
    count = int(indices.max()) + 1 if classes is None else classes
    require(
        int(indices.min()) >= 0 and int(indices.max()) < count,
        f"labels must lie in 0 … {count - 1} ({count} classes), got {int(indices.min())} to {int(indices.max())}",
    )
    return indices, count


def stream(*key: int) -> torch.Generator:
    """A separate generator for every key (seed, epoch, purpose)."""
    text = ",".join(str(part) for part in key)
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
    return torch.Generator().manual_seed(number)


def augment(pixels: Tensor, indices: Tensor, total: int, seed: int, view: int) -> Tensor:
    """Shift every image by up to four pixels and flip half of them; equal views give equal images.

    indices     (n,) indices of these images among all `total` images, so that a view does not depend on the batch
    """
    generator = stream(seed, view, 1)
    draws = torch.randint(0, 2 * SHIFT + 1, (2, total), generator=generator)
    flips = torch.randint(0, 2, (total,), generator=generator).bool()[indices]
    down, right = draws[0][indices], draws[1][indices]
    n, _, rows, columns = pixels.shape
    padded = functional.pad(pixels, (SHIFT, SHIFT, SHIFT, SHIFT))
    flipped = torch.where(flips[:, None], torch.arange(columns - 1, -1, -1), torch.arange(columns))
    i, j = torch.arange(rows) + down[:, None], flipped + right[:, None]
    moved = padded.permute(0, 2, 3, 1)[torch.arange(n)[:, None, None], i[:, :, None], j[:, None, :]]
    return moved.permute(0, 3, 1, 2)
