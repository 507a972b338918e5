"""Named data sets: from raw files to a `Dataset`."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from softlabel.data import cache
from softlabel.data.catalogue import NamedSet, find
from softlabel.data.dataset import Dataset
from softlabel.data.formats import parse_cifar, parse_idx
from softlabel.data.toys import TOYS

_Block = tuple[str, np.ndarray, np.ndarray]  # part, pixels (n, d), labels (n,)


def load_named(name: str, keep: Iterable[int] | None = None) -> Dataset:
    """A named data set, fetched first if it is not in the cache.

    Pixels are divided by their largest possible value, so inputs of images lie in [0, 1]. `keep` lists the labels of
    the examples to keep; the others are left out before pixels become floats, which saves most of the memory.
    """
    entry = find(name)
    read, top = {"digits": (_digits, 16), "toy": (_toy, 1)}.get(entry.format, (_raw, 255))
    wanted = range(len(entry.classes)) if keep is None else list(keep)
    blocks, labels, edge = [], [], 0
    for part, pixels, block_labels in read(entry):
        rows = np.isin(block_labels, wanted)
        blocks.append(pixels[rows])
        labels.append(block_labels[rows])
        edge += len(blocks[-1]) if part == "train" else 0
    inputs = np.empty((sum(map(len, blocks)), blocks[0].shape[1]), dtype=np.float32)
    filled = 0
    for pixels in blocks:
        np.divide(pixels, top, out=inputs[filled : filled + len(pixels)], dtype=np.float32)
        filled += len(pixels)
    parts = {"train": slice(0, edge), "test": slice(edge, len(inputs))}
    return Dataset(
        name=entry.name,
        inputs=inputs,
        labels=np.concatenate(labels).astype(np.int64),
        classes=entry.classes,
        parts={part: parts[part] for part in entry.examples},
        image_shape=entry.image_shape or None,
        columns=entry.columns or None,
    )


def _digits(entry: NamedSet) -> Iterator[_Block]:
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    yield "train", np.asarray(pixels), np.asarray(labels)


def _toy(entry: NamedSet) -> Iterator[_Block]:
    yield "train", *TOYS[entry.name]()


def _raw(entry: NamedSet) -> Iterator[_Block]:
    folder = cache.fetch(entry.name).folder
    assert folder is not None
    files = [folder / file.name for file in entry.files]
    if entry.format == "idx":
        yield "train", *_idx_pair(*files[:2])
        yield "test", *_idx_pair(*files[2:])
    else:
        for path in files:
            part = "test" if path.name.startswith("test") else "train"
            yield part, *parse_cifar(path.read_bytes(), math.prod(entry.image_shape))


def _idx_pair(images: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    pixels = parse_idx(images.read_bytes())
    return pixels.reshape(len(pixels), -1), parse_idx(labels.read_bytes())
