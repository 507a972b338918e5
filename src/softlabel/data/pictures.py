"""Pixels from files of arrays and from pictures: float32 in [0, 1], channels first."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.errors import InputError, few, require
from softlabel.numerics import array_files
from softlabel.numerics.local_files import reason_of, require_regular_file

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"}
CHANNELS = (1, 3, 4)  # gray, color, color with transparency


def read_arrays(path: Path, needed: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """`images` (n, height, width[, channels]) or (n, channels, height, width) of an NPZ file, and its `labels`, if any.

    needed  names of the arrays that it must hold
    """
    names = array_files.array_names(path)
    missing = sorted(set(needed) - set(names))
    require(not missing, f"'{path}' has no array '{', '.join(missing)}'; it holds {few(names, 20) or 'none'}")
    wanted = ["images", *(["labels"] if "labels" in names else [])]
    images, *rest = array_files.read_arrays(path, wanted)
    labels = rest[0] if rest else None
    require(
        images.ndim in (3, 4) and images.dtype.kind in "uif",
        f"'{path}': images must be numbers, (n, height, width[, channels]) or (n, channels, height, width), got "
        f"{images.dtype} {images.shape}",
    )
    require(images.size > 0, f"'{path}' holds no images")
    if labels is not None:
        require(labels.shape == (len(images),), f"'{path}': {len(images)} images, but labels have shape {labels.shape}")
        _check_labels(path, labels)
    return images, labels


def _check_labels(path: Path, labels: np.ndarray) -> None:
    """Labels are names, or whole numbers; a missing one is an error."""
    require(
        labels.dtype.kind in "biufU",
        f"'{path}': labels must be whole numbers or text, got values of type {labels.dtype}",
    )
    if labels.dtype.kind == "f":
        wrong = ~np.isfinite(labels) | (labels != np.round(labels))
        fault = "missing, infinite or not whole numbers"
    else:
        wrong, fault = labels == "" if labels.dtype.kind == "U" else np.zeros(len(labels), dtype=bool), "missing"
    require(
        not wrong.any(),
        f"'{path}': {wrong.sum():,} labels are {fault} (first: '{labels[wrong.argmax()]}', image "
        f"{wrong.argmax() + 1}); every image needs the name or number of its class",
    )


def channels_first(images: np.ndarray, what: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Images (n, channels, height, width), whatever their layout.

    Arrays with three axes are gray images. Of four axes the channels are the second or the last, whichever has 1, 3 or
    4 entries; where both or neither have, nothing is guessed.

    what    whom messages speak of
    shape   (channels, height, width) that is wanted, where it is known: it decides instead
    """
    require(
        images.ndim in (3, 4),
        f"{what} must have shape (n, height, width), (n, channels, height, width) or (n, height, width, channels), got "
        f"{images.shape}",
    )
    if images.ndim == 3:
        return images[:, None]
    first, last = images.shape[1] in CHANNELS, images.shape[3] in CHANNELS
    if shape is not None:
        fits = images.shape[1:] == shape, (images.shape[3], *images.shape[1:3]) == shape
        first, last = fits if any(fits) else (first, last)
    if first == last:
        known = " or ".join(map(str, CHANNELS))
        found = f"both the second and the last axis have {known}" if first else f"no axis of channels has {known}"
        raise InputError(
            f"{what} have shape {images.shape}: channels cannot be told from height and width ({found} entries); save "
            "gray images as (n, height, width), and others as (n, channels, height, width) with more than 4 pixels a "
            "side, e.g. by images.transpose(0, 3, 1, 2)"
        )
    return images if first else images.transpose(0, 3, 1, 2)


def as_pixels(images: np.ndarray, what: str) -> np.ndarray:
    """Whole numbers up to 255 (16-bit ones too), or fractions from 0 to 1, as fractions; others are an error."""
    pixels = images.astype(np.float32)
    require(bool(np.isfinite(pixels).all()), f"{what} hold values that are not finite")
    if images.dtype.kind in "ui":
        pixels = pixels / np.float32(np.iinfo(images.dtype).max if images.dtype.itemsize == 1 else 255)
    low, high = float(pixels.min()), float(pixels.max())
    require(
        low >= 0 and high <= 1,
        f"{what}: pixels must be whole numbers up to 255, or fractions from 0 to 1, got {low:g} to {high:g}; "
        "networks standardise by themselves",
    )
    return pixels


def open_picture(file: Path, channels: int = 3) -> "Image":
    """One picture, in colour or (one channel) grey."""
    from PIL import Image

    require_regular_file(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                return image.convert("L" if channels == 1 else "RGB")
    except Exception as problem:  # decoders raise whatever they like
        raise InputError(f"'{file}' cannot be read as an image: {reason_of(problem)}") from None


def picture_pixels(picture: "Image", size: tuple[int, int] | None = None) -> np.ndarray:
    """Its pixels (channels, height, width), brought to `size` = (width, height) where that is given."""
    if size is not None and picture.size != size:
        from PIL import Image

        picture = picture.resize(size, Image.Resampling.BILINEAR)
    array = np.asarray(picture, dtype=np.float32) / np.float32(255)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def picture_files(folder: Path) -> list[Path]:
    """The pictures that lie in a folder, by name."""
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in ENDINGS)
