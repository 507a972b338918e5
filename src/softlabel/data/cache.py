"""The cache folder of raw files; a file is in it completely or not at all.

A file gets into `<folder>/<set>/` only by an atomic rename after its checksum was verified; everything before happens
in a temporary folder beside it. A killed download therefore leaves at most a temporary folder, which the next fetch
removes.
"""

import errno
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from softlabel.data import sources
from softlabel.data.catalogue import NamedSet, RawFile, find
from softlabel.data.progress import FetchProgress, fetch_progress
from softlabel.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from filelock import FileLock

_PATIENCE_SECONDS = 2


@dataclass(frozen=True)
class Fetched:
    """Folder of a fetched data set; `source` is None when nothing had to be fetched."""

    name: str
    folder: Path | None
    source: str | None


@dataclass(frozen=True)
class FileState:
    """State of one raw file: 'right', 'missing' or 'corrupted'."""

    name: str
    state: str


def cache_folder() -> Path:
    """The folder in the environment variable `SOFTLABEL_DATA`, by default in the user's cache folder."""
    path = os.environ.get("SOFTLABEL_DATA")
    if path:
        return Path(path).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("softlabel", appauthor=False)) / "data"


def state(name: str) -> str:
    """'embedded', 'cached', 'not fetched' or 'corrupted', by file sizes only, which is quick."""
    entry = find(name)
    if not entry.files:
        return "embedded"
    sizes = [_size(cache_folder() / name / file.name) for file in entry.files]
    if all(size is None for size in sizes):
        return "not fetched"
    return "cached" if sizes == [file.size for file in entry.files] else "corrupted"


def verify(name: str) -> list[FileState]:
    """The state of every raw file of a named data set, by its checksum; an empty list for embedded data sets.

    Examples
    --------
    >>> verify("digits")
    []
    """
    return [FileState(file.name, _check(cache_folder() / name / file.name, file)) for file in find(name).files]


def fetch(name: str) -> Fetched:
    """Download a named data set into the cache unless it is there already.

    The sources are tried in order until one provides files with the pinned checksums; an `UnavailableError` is raised
    if none does. A corrupted file in the cache is kept beside the new one as `<file>.corrupted`.

    Examples
    --------
    >>> fetch("digits").source is None
    True
    """
    entry = find(name)
    if not entry.files:
        return Fetched(name, None, None)
    folder = cache_folder()
    if _complete(entry, folder):
        return Fetched(name, folder / name, None)
    lock = _lock(folder, name)
    try:
        if _complete(entry, folder):
            return Fetched(name, folder / name, None)
        for leftover in folder.glob(f".{name}-*.part"):
            shutil.rmtree(leftover, ignore_errors=True)
        with fetch_progress(f"fetching {name} ({entry.size / 1e6:.0f} MB)") as progress:
            return Fetched(name, folder / name, _fetch_from_any(entry, folder, progress))
    finally:
        lock.release()


def _fetch_from_any(entry: NamedSet, folder: Path, progress: FetchProgress) -> str:
    failures = []
    for source in entry.sources:
        with _writable(folder):
            temporary = tempfile.TemporaryDirectory(
                prefix=f".{entry.name}-", suffix=".part", dir=folder, ignore_cleanup_errors=True
            )
        with temporary as path:
            work = Path(path)
            try:
                sources.PLACERS[source.kind](source.at, entry, work, progress)
            except (sources.SourceFailed, OSError) as error:
                if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                    with _writable(folder):
                        raise
                failures.append(f"{source}: {error}")
                continue
            wrong = [file.name for file in entry.files if _check(work / file.name, file) != "right"]
            if not wrong:
                _move_in(entry, work, folder / entry.name)
                return str(source)
            failures.append(f"{source}: {', '.join(wrong)} missing or with a wrong checksum")
    raise UnavailableError(
        f"no source provided '{entry.name}' ({'; '.join(failures)}); try again later, "
        f"or put {', '.join(file.name for file in entry.files)} into '{folder / entry.name}' by hand"
    )


def _move_in(entry: NamedSet, work: Path, home: Path) -> None:
    """Move the verified files into the cache by atomic renames; correct files that are there already stay."""
    with _writable(home):
        home.mkdir(exist_ok=True)
        for file in entry.files:
            state_before = _check(home / file.name, file)
            if state_before == "corrupted":
                (home / file.name).replace(home / f"{file.name}.corrupted")
                print(
                    f"softlabel: '{home / file.name}' was corrupted: renamed to {file.name}.corrupted and replaced",
                    file=sys.stderr,
                )
            if state_before != "right":
                (work / file.name).replace(home / file.name)


def _lock(folder: Path, name: str) -> "FileLock":
    """The acquired lock of a data set; a second process waits here and then uses the files of the first."""
    from filelock import FileLock, Timeout

    with _writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f".{name}.lock")
        try:
            lock.acquire(timeout=_PATIENCE_SECONDS)
        except Timeout:
            print(f"another process is fetching {name}; waiting for it ...", file=sys.stderr)
            lock.acquire()
    return lock


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Turn failures to write into an `InputError` with its remedy."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write the data folder '{folder}' ({error.strerror or error}): "
            f"set SOFTLABEL_DATA to a writable folder with enough space"
        ) from None


def _complete(entry: NamedSet, folder: Path) -> bool:
    return all(_check(folder / entry.name / file.name, file) == "right" for file in entry.files)


def _check(path: Path, file: RawFile) -> str:
    size = _size(path)
    if size is None:
        return "missing"
    if size != file.size:
        return "corrupted"
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"cannot read '{path}' ({error.strerror or error}): make it readable or set SOFTLABEL_DATA"
        ) from None
    return "right" if digest == file.sha256 else "corrupted"


def _size(path: Path) -> int | None:
    """Bytes of a regular file, None where there is none."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None
