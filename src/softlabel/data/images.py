"""Images as arrays (n, channels, height, width): from arrays, NPZ files and folders of image files."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.class_names import class_name
from softlabel.data.frames import NAMED_FILES
from softlabel.errors import InputError, few, require
from softlabel.numerics import array_files
from softlabel.numerics.local_files import reason_of, require_regular_file

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"}
CHANNELS = (1, 3, 4)  # gray, color, color with transparency
LabeledImages = tuple[np.ndarray, np.ndarray, tuple[str, ...]]  # images, class numbers (n,), names of the classes


def read_image_file(path: Path) -> LabeledImages:
    """Images in [0, 1] of an NPZ file with arrays `images` and `labels`."""
    images, labels = read_image_arrays(path, ("images", "labels"))
    assert labels is not None
    what = f"'{path}': images"
    names, codes = np.unique(labels, return_inverse=True)
    _require_two_classes(path, names)
    return as_pixels(channels_first(images, what), what), codes, tuple(class_name(name) for name in names.tolist())


def refuse_table(data: str) -> None:
    """Raise where `data` names a CSV or Parquet file, which has no images."""
    require(
        Path(data).suffix.lower() not in NAMED_FILES,
        f"'{data}' is a table and has no images: use a data set of images, an NPZ file with images and labels, or a "
        "folder of class folders; for tables there are verdict and plan",
    )


def read_image_folder(path: Path, size: int | None = None) -> LabeledImages:
    """Images in [0, 1] of a folder with one subfolder per class, resized to `size` × `size` pixels."""
    names = sorted(child.name for child in path.iterdir() if child.is_dir())
    _require_two_classes(path, names)
    images: list[np.ndarray] = []
    labels: list[int] = []
    for code, name in enumerate(names):
        files = image_files(path / name)
        require(len(files) > 0, f"class folder '{path / name}' contains no images ({', '.join(sorted(ENDINGS))})")
        for file in files:
            images.append(image_pixels(open_image(file), None if size is None else (size, size)))
            require(
                images[-1].shape == images[0].shape,
                f"'{file}' has {images[-1].shape[2]} × {images[-1].shape[1]} pixels, other images have "
                f"{images[0].shape[2]} × {images[0].shape[1]}; pass `size` to resize all images",
            )
            labels.append(code)
    return np.stack(images), np.array(labels), tuple(names)


def read_image_arrays(path: Path, required: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Array `images` of an NPZ file in any layout, and its `labels` or None; `required` names must be there."""
    names = array_files.array_names(path)
    missing = sorted(set(required) - set(names))
    require(not missing, f"'{path}' has no array '{', '.join(missing)}'; it contains {few(names, 20) or 'none'}")
    images, *rest = array_files.read_arrays(path, ["images", *(["labels"] if "labels" in names else [])])
    labels = rest[0] if rest else None
    require(
        images.ndim in (3, 4) and images.dtype.kind in "uif",
        f"'{path}': images must be numbers of shape (n, height, width[, channels]) or (n, channels, height, width), "
        f"got {images.dtype} {images.shape}",
    )
    require(images.size > 0, f"'{path}' contains no images")
    if labels is not None:
        require(labels.shape == (len(images),), f"'{path}': {len(images)} images, but labels have shape {labels.shape}")
        _check_labels(path, labels)
    return images, labels


def _check_labels(path: Path, labels: np.ndarray) -> None:
    """Labels are names or integers; a missing one is an error."""
    require(
        labels.dtype.kind in "biufU",
        f"'{path}': labels must be integers or text, got values of type {labels.dtype}",
    )
    if labels.dtype.kind == "U":
        wrong, fault = labels == "", "missing"
    else:
        wrong = ~np.isfinite(labels) | (labels != np.round(labels))
        fault = "missing, infinite or not integers"
    require(
        not wrong.any(),
        f"'{path}': {wrong.sum():,} labels are {fault} (first: '{labels[wrong.argmax()]}', image "
        f"{wrong.argmax() + 1}); every image needs the name or number of its class",
    )


def _require_two_classes(path: Path, names: Sequence[str] | np.ndarray) -> None:
    require(len(names) >= 2, f"'{path}' has {len(names)} class(es); at least two are needed")


def image_layout(shape: tuple[int, ...] | None) -> tuple[tuple[int, int, int] | None, bool]:
    """Shape (channels, height, width) of images whose arrays have this shape, and whether channels come last.

    The shape is None where the array is no image, or where it is not clear which axis has the channels.
    """
    if shape is None or len(shape) not in (2, 3):
        return None, False
    if len(shape) == 2:
        return (1, *shape), False
    first, last = shape[0] in CHANNELS, shape[2] in CHANNELS
    if first == last:
        return None, False
    return (shape, False) if first else ((shape[2], *shape[:2]), True)  # pyright: ignore[reportReturnType]


def channels_first(images: np.ndarray, what: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Images (n, channels, height, width) from any layout.

    Arrays with three axes are gray images. Of four axes the channels are the second or the last, whichever has 1, 3 or
    4 entries. Where both or neither have, the images are refused rather than guessed.

    what    what messages call the images
    shape   (channels, height, width) if it is known, which then decides
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
        reason = f"both the second and the last axis have {known}" if first else f"neither end has {known}"
        raise InputError(
            f"{what} have shape {images.shape}: the axis of channels is not clear ({reason} entries); pass gray images "
            "as (n, height, width), and others channels first, as (n, channels, height, width), with more than 4 "
            "pixels a side, e.g. by images.transpose(0, 3, 1, 2)"
        )
    return images if first else images.transpose(0, 3, 1, 2)


def as_pixels(images: np.ndarray, what: str) -> np.ndarray:
    """Pixels in [0, 1] from integers up to 255 (of any integer type) or from fractions; others are an error."""
    pixels = images.astype(np.float32)
    require(bool(np.isfinite(pixels).all()), f"{what} contain values that are not finite")
    if images.dtype.kind in "ui":
        pixels = pixels / np.float32(np.iinfo(images.dtype).max if images.dtype.itemsize == 1 else 255)
    low, high = float(pixels.min()), float(pixels.max())
    require(
        low >= 0 and high <= 1,
        f"{what}: pixels must be of an integer type (0 to 255) or fractions from 0 to 1, got {low:g} to {high:g}; "
        "do not standardize them, networks do that themselves",
    )
    return pixels


def open_image(file: Path, channels: int = 3) -> "Image":
    """One image file, in color, or in gray for one channel."""
    from PIL import Image

    require_regular_file(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                return image.convert("L" if channels == 1 else "RGB")
    except Exception as problem:  # decoders raise exceptions of many kinds
        raise InputError(f"'{file}' cannot be read as an image: {reason_of(problem)}") from None


def image_pixels(image: "Image", size: tuple[int, int] | None = None) -> np.ndarray:
    """Pixels (channels, height, width) of an image, resized to `size` = (width, height)."""
    if size is not None and image.size != size:
        from PIL import Image

        image = image.resize(size, Image.Resampling.BILINEAR)
    array = np.asarray(image, dtype=np.float32) / np.float32(255)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def image_files(folder: Path) -> list[Path]:
    """The image files in a folder, sorted by name."""
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in ENDINGS)
