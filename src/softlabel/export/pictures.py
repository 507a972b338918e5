"""Pictures for a model of images, with or without classes: a named set, an NPZ file, or a folder."""

import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

from softlabel.data.image_sets import ENDINGS, load_images
from softlabel.errors import InputError, require

Found = tuple[np.ndarray, list[str] | None, tuple[str, ...]]


def read_pictures(source: str | Path, shape: tuple[int, ...]) -> Found:
    """Pixels (n, *shape) in [0, 1], names of their classes or None, and what was done to them.

    source  a named set (text), an NPZ file with `images` and perhaps `labels`, or a folder: of pictures, or of class
            folders. A folder's pictures are brought to `shape` = (channels, height, width); others must have it.
    """
    if isinstance(source, str):
        held = load_images(source)
        _check_shape(source, held.pixels, shape)
        return held.pixels, [held.classes[place] for place in held.labels], ()
    require(source.exists(), f"there is no file or folder '{source}': check its path")
    if source.is_dir():
        return _folder(source, shape)
    require(
        source.suffix.lower() == ".npz",
        f"'{source}' holds no pictures, which the model takes: give an NPZ file with images, a folder, or a named set",
    )
    return _arrays(source, shape)


def _arrays(path: Path, shape: tuple[int, ...]) -> Found:
    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            require(isinstance(held, NpzFile), f"'{path}' is one array, not an NPZ file with images")
            require("images" in held.files, f"'{path}' has no array 'images'; it holds {', '.join(held.files)}")
            images = held["images"]
            labels = held["labels"] if "labels" in held.files else None
    except InputError:
        raise
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        raise InputError(f"'{path}' cannot be read as an NPZ file: {problem}") from None
    require(
        images.ndim in (3, 4) and images.dtype.kind in "uif" and images.size > 0,
        f"'{path}': images must be numbers (n, height, width[, channels]) or (n, channels, height, width), got "
        f"{images.dtype} {images.shape}",
    )
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[1:] != shape and (images.shape[3], *images.shape[1:3]) == shape:
        images = images.transpose(0, 3, 1, 2)
    _check_shape(path, images, shape)
    pixels = images.astype(np.float32)
    if images.dtype.kind in "ui":
        pixels = pixels / np.float32(np.iinfo(images.dtype).max if images.dtype.itemsize == 1 else 255)
    require(
        bool(np.isfinite(pixels).all()) and pixels.min() >= 0 and pixels.max() <= 1,
        f"'{path}': pixels must be whole numbers up to 255, or fractions from 0 to 1, got {pixels.min():g} to "
        f"{pixels.max():g}",
    )
    require(
        labels is None or labels.shape == (len(images),),
        f"'{path}': {len(images)} images, but labels have shape {None if labels is None else labels.shape}",
    )
    return pixels, None if labels is None else [str(label) for label in labels.tolist()], ()


def _folder(path: Path, shape: tuple[int, ...]) -> Found:
    from PIL import Image, UnidentifiedImageError

    folders = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
    loose = _files(path)
    require(not (folders and loose), f"'{path}' holds pictures and folders: give a folder that holds one of both")
    files = loose or [file for folder in folders for file in _files(folder)]
    require(len(files) > 0, f"folder '{path}' holds no pictures ({', '.join(sorted(ENDINGS))})")
    channels, height, width = shape
    require(channels in (1, 3), f"the model takes {channels} channels: give an NPZ file, a folder has colours or grey")
    pixels, resized = [], 0
    for file in files:
        try:
            with Image.open(file) as image:
                held = image.convert("L" if channels == 1 else "RGB")
        except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as problem:
            raise InputError(f"'{file}' cannot be read as an image: {problem}") from None
        if held.size != (width, height):
            held, resized = held.resize((width, height), Image.Resampling.BILINEAR), resized + 1
        array = np.asarray(held, dtype=np.float32) / np.float32(255)
        pixels.append(array[None] if channels == 1 else array.transpose(2, 0, 1))
    notes = (f"{resized} of {len(files)} pictures were brought to {width} × {height} pixels",) if resized else ()
    return np.stack(pixels), None if loose else [file.parent.name for file in files], notes


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in ENDINGS)


def _check_shape(source: str | Path, pixels: np.ndarray, shape: tuple[int, ...]) -> None:
    require(
        pixels.shape[1:] == shape,
        f"'{source}' holds images {pixels.shape[1:]} (channels, height, width), the model takes {shape}",
    )
