"""Pictures for a model of images, with or without classes: a named set, an NPZ file, or a folder."""

from pathlib import Path

import numpy as np

from softlabel.data.class_names import class_name
from softlabel.data.image_sets import load_images
from softlabel.data.pictures import (
    ENDINGS,
    as_pixels,
    channels_first,
    open_picture,
    picture_files,
    picture_pixels,
    read_arrays,
)
from softlabel.errors import require

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
    images, labels = read_arrays(path, ("images",))
    what = f"'{path}': images"
    images = channels_first(images, what, shape)
    _check_shape(path, images, shape)
    return as_pixels(images, what), None if labels is None else [class_name(label) for label in labels.tolist()], ()


def _folder(path: Path, shape: tuple[int, ...]) -> Found:
    folders = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
    loose = picture_files(path)
    require(not (folders and loose), f"'{path}' holds pictures and folders: give a folder that holds one of both")
    files = loose or [file for folder in folders for file in picture_files(folder)]
    require(len(files) > 0, f"folder '{path}' holds no pictures ({', '.join(sorted(ENDINGS))})")
    channels, height, width = shape
    require(channels in (1, 3), f"the model takes {channels} channels: give an NPZ file, a folder has colours or grey")
    pixels, resized = [], 0
    for file in files:
        picture = open_picture(file, channels)
        resized += picture.size != (width, height)
        pixels.append(picture_pixels(picture, (width, height)))
    notes = (f"{resized} of {len(files)} pictures were brought to {width} × {height} pixels",) if resized else ()
    return np.stack(pixels), None if loose else [file.parent.name for file in files], notes


def _check_shape(source: str | Path, pixels: np.ndarray, shape: tuple[int, ...]) -> None:
    require(
        pixels.shape[1:] == shape,
        f"'{source}' holds images {pixels.shape[1:]} (channels, height, width), the model takes {shape}",
    )
