"""A cache folder of its own for every test, and a small named set with sources made of functions."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from softlabel.data import catalogue, fetch, sources
from softlabel.data.catalogue import NamedSet, RawFile, Source
from softlabel.data.formats import format_cifar
from softlabel.errors import UnavailableError

CONTENT = {"one.bin": b"first file", "two.bin": b"second file, longer"}


@pytest.fixture
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "cache"
    monkeypatch.setenv("SOFTLABEL_DATA", str(home))
    return home


@dataclass
class Tiny:
    """The set 'tiny', whose sources a test chooses; `tried` records which were asked."""

    entry: NamedSet
    monkeypatch: pytest.MonkeyPatch
    tried: list[str]

    def comes_from(self, **placers: Callable[[Path], None]) -> None:
        def recorded(kind, place):
            def run(at, entry, folder, progress):
                self.tried.append(kind)
                place(folder)

            return run

        for kind, place in placers.items():
            self.monkeypatch.setitem(sources.PLACERS, kind, recorded(kind, place))
        entry = replace(self.entry, sources=tuple(Source(kind, "here") for kind in placers))
        self.monkeypatch.setitem(catalogue.CATALOGUE, "tiny", entry)


def good(folder: Path) -> None:
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)


@pytest.fixture
def tiny(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    files = tuple(RawFile(name, len(raw), hashlib.sha256(raw).hexdigest()) for name, raw in CONTENT.items())
    entry = replace(catalogue.MNIST, name="tiny", files=files, sources=())
    made = Tiny(entry, monkeypatch, [])
    made.comes_from(good=good)
    return made


@pytest.fixture
def named_cifar(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """The set 'tiny-cifar': CIFAR's format with ten images of 2x2 pixels a batch, one of each class."""
    drawn = np.random.default_rng(0).integers(0, 256, (3, 10, 3, 2, 2), dtype=np.uint8)
    names = ["data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"]
    labels = np.arange(10, dtype=np.uint8)
    raws = [format_cifar(planes.reshape(10, 3, 4).transpose(0, 2, 1), labels) for planes in drawn]

    def place(at, entry, folder, progress):
        for name, raw in zip(names, raws, strict=True):
            (folder / name).write_bytes(raw)

    files = tuple(
        RawFile(name, len(raw), hashlib.sha256(raw).hexdigest()) for name, raw in zip(names, raws, strict=True)
    )
    entry = replace(
        catalogue.CIFAR10,
        name="tiny-cifar",
        image_shape=(3, 2, 2),
        examples={"train": 20, "test": 10},
        files=files,
        sources=(Source("batches", "here"),),
    )
    monkeypatch.setitem(sources.PLACERS, "batches", place)
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny-cifar", entry)
    return {"test": drawn[2]}


@pytest.fixture
def real() -> Callable[[str], None]:
    """Fetch a real set into the user's own cache, or skip with the reason."""

    def have(name: str) -> None:
        try:
            fetch(name)
        except UnavailableError as error:
            pytest.skip(str(error))

    return have
