"""Images with classes, from a named set, a file of arrays, or a folder with one subfolder for each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softlabel.data.catalogue import CATALOGUE, find
from softlabel.data.class_names import class_name
from softlabel.data.loading import load
from softlabel.data.pictures import (
    ENDINGS,
    as_pixels,
    channels_first,
    open_picture,
    picture_files,
    picture_pixels,
    read_arrays,
)
from softlabel.errors import InputError, require
from softlabel.numerics.local_files import local_path


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images (n, channels, height, width) in [0, 1], float32; places of their classes (n,); names of the classes.

    test    rows of the official test part; None where there is none
    """

    name: str
    pixels: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    test: slice | None = None

    def __len__(self) -> int:
        return len(self.labels)


def load_images(source: str | Path, classes: str | Sequence[str] | None = None, size: int | None = None) -> ImageSet:
    """`source` is a name (`cifar10`), an NPZ file with `images` and `labels`, or a folder of class folders.

    classes     two of them to keep, of a named set
    size        height and width that a folder's images are brought to; without it they must agree
    """
    if isinstance(source, str) and source in CATALOGUE:
        return _named(source, classes)
    path = local_path(source)
    require(classes is None, "classes can be chosen from a named set only; leave others out of the file or folder")
    if path.is_dir():
        return _folder(path, size)
    if path.suffix == ".npz":
        return _arrays(path)
    if not path.exists() and not path.suffix and "/" not in str(source):
        find(str(source))
    require(path.exists(), f"'{source}' does not exist")
    raise InputError(f"'{source}' holds no images: give a named set, an NPZ file with images and labels, or a folder")


def _named(name: str, classes: str | Sequence[str] | None) -> ImageSet:
    held = load(name, classes=classes)
    shape = held.image_shape
    require(shape is not None, f"data set '{name}' has no images")
    assert shape is not None
    places, labels = np.unique(held.labels, return_inverse=True)
    pixels = held.inputs.reshape(len(held), *((1, *shape) if len(shape) == 2 else shape))
    largest = float(pixels.max())
    if largest > 1:
        pixels = pixels / np.float32(largest)
    names = tuple(held.classes[place] for place in places)
    return ImageSet(name, pixels, labels, names, held.parts.get("test"))


def _arrays(path: Path) -> ImageSet:
    images, labels = read_arrays(path, ("images", "labels"))
    assert labels is not None
    what = f"'{path}': images"
    pixels = as_pixels(channels_first(images, what), what)
    names, places = np.unique(labels, return_inverse=True)
    _enough(path, names)
    return ImageSet(path.name, pixels, places, tuple(class_name(name) for name in names.tolist()))


def _folder(path: Path, size: int | None) -> ImageSet:
    names = sorted(child.name for child in path.iterdir() if child.is_dir())
    _enough(path, names)
    pixels: list[np.ndarray] = []
    labels: list[int] = []
    for place, name in enumerate(names):
        files = picture_files(path / name)
        require(len(files) > 0, f"class folder '{path / name}' holds no images ({', '.join(sorted(ENDINGS))})")
        for file in files:
            pixels.append(picture_pixels(open_picture(file), None if size is None else (size, size)))
            require(
                pixels[-1].shape == pixels[0].shape,
                f"'{file}' has {pixels[-1].shape[2]} × {pixels[-1].shape[1]} pixels, others "
                f"{pixels[0].shape[2]} × {pixels[0].shape[1]}; give --size to bring all to one",
            )
            labels.append(place)
    return ImageSet(path.name, np.stack(pixels), np.array(labels), tuple(names))


def _enough(path: Path, names: Sequence[str] | np.ndarray) -> None:
    require(len(names) >= 2, f"'{path}' has {len(names)} class(es); at least two are needed")
