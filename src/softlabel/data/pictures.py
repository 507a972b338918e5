"""Pixels from files of arrays and from pictures: float32 in [0, 1], channels first."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.npyio import NpzFile

from softlabel.errors import InputError, require

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"}


def read_arrays(path: Path, needed: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """`images` (n, height, width[, channels]) or (n, channels, height, width) of an NPZ file, and its `labels`, if any.

    needed  names of the arrays that it must hold
    """
    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            require(isinstance(held, NpzFile), f"'{path}' is one array, not an NPZ file with {' and '.join(needed)}")
            missing = sorted(set(needed) - set(held.files))
            require(not missing, f"'{path}' has no array '{', '.join(missing)}'; it holds {', '.join(held.files)}")
            images, labels = held["images"], held["labels"] if "labels" in held.files else None
    except InputError:
        raise
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        raise InputError(f"'{path}' cannot be read as an NPZ file: {problem}") from None
    require(
        images.ndim in (3, 4) and images.dtype.kind in "uif",
        f"'{path}': images must be numbers, (n, height, width[, channels]) or (n, channels, height, width), got "
        f"{images.dtype} {images.shape}",
    )
    require(images.size > 0, f"'{path}' holds no images")
    require(
        labels is None or labels.shape == (len(images),),
        f"'{path}': {len(images)} images, but labels have shape {None if labels is None else labels.shape}",
    )
    return images, labels


def as_pixels(path: Path, images: np.ndarray) -> np.ndarray:
    """Whole numbers up to 255 (16-bit ones too), or fractions from 0 to 1, as fractions; others are an error."""
    pixels = images.astype(np.float32)
    require(bool(np.isfinite(pixels).all()), f"'{path}': images hold values that are not finite")
    if images.dtype.kind in "ui":
        pixels = pixels / np.float32(np.iinfo(images.dtype).max if images.dtype.itemsize == 1 else 255)
    low, high = float(pixels.min()), float(pixels.max())
    require(
        low >= 0 and high <= 1,
        f"'{path}': pixels must be whole numbers up to 255, or fractions from 0 to 1, got {low:g} to {high:g}; "
        "networks standardise by themselves",
    )
    return pixels


def open_picture(file: Path, channels: int = 3) -> "Image":
    """One picture, in colour or (one channel) grey."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file) as image:
            return image.convert("L" if channels == 1 else "RGB")
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as problem:
        raise InputError(f"'{file}' cannot be read as an image: {problem}") from None


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
