"""Images as inputs of a model, with or without classes: a named data set, an NPZ file, or a folder."""

from pathlib import Path

import numpy as np

from softlabel.data.class_names import class_name
from softlabel.data.images import (
    ENDINGS,
    as_pixels,
    channels_first,
    image_files,
    image_pixels,
    open_image,
    read_image_arrays,
)
from softlabel.data.loader import load
from softlabel.errors import require

NamedImages = tuple[np.ndarray, list[str] | None, tuple[str, ...]]


def read_images(source: str | Path, shape: tuple[int, ...]) -> NamedImages:
    """Pixels (n, *shape) in [0, 1], the names of their classes or None, and remarks for the user.

    source  a named data set (str), an NPZ file with `images` and optionally `labels`, or a folder of images or of class
            folders. Images of a folder are resized to `shape` = (channels, height, width); others must have this shape.
    """
    if isinstance(source, str):
        problem = load(source)
        _check_shape(source, problem.images, shape)
        return problem.images, [problem.classes[index] for index in problem.y], ()
    require(source.exists(), f"there is no file or folder '{source}': check the path")
    if source.is_dir():
        return _read_folder(source, shape)
    require(
        source.suffix.lower() == ".npz",
        f"'{source}' contains no images, which the model takes: use an NPZ file with images, a folder, or a named data "
        "set",
    )
    images, labels = read_image_arrays(source, ("images",))
    what = f"'{source}': images"
    images = channels_first(images, what, shape)
    _check_shape(source, images, shape)
    return as_pixels(images, what), None if labels is None else [class_name(label) for label in labels.tolist()], ()


def _read_folder(path: Path, shape: tuple[int, ...]) -> NamedImages:
    folders = sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
    loose = image_files(path)
    require(not (folders and loose), f"'{path}' contains images and folders: use a folder that contains only one kind")
    files = loose or [file for folder in folders for file in image_files(folder)]
    require(len(files) > 0, f"folder '{path}' contains no images ({', '.join(sorted(ENDINGS))})")
    channels, rows, columns = shape
    require(channels in (1, 3), f"the model takes {channels} channels: use an NPZ file, image files have 1 or 3")
    pixels, resized = [], 0
    for file in files:
        image = open_image(file, channels)
        resized += image.size != (columns, rows)
        pixels.append(image_pixels(image, (columns, rows)))
    notes = (f"{resized} of {len(files)} images were resized to {columns} × {rows} pixels",) if resized else ()
    return np.stack(pixels), None if loose else [file.parent.name for file in files], notes


def _check_shape(source: str | Path, pixels: np.ndarray, shape: tuple[int, ...]) -> None:
    require(
        pixels.shape[1:] == shape,
        f"'{source}' contains images {pixels.shape[1:]} (channels, height, width), the model takes {shape}",
    )
