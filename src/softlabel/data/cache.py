"""The folder that raw files live in, and how they get there whole or not at all.

A file enters `<folder>/<set>/` only by an atomic rename, after its checksum was found right; everything
before that happens in a temporary folder beside it. A killed download therefore leaves at most a temporary
folder, which the next fetch sweeps away.
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

from softlabel.data import sources
from softlabel.data.catalogue import NamedSet, RawFile, find
from softlabel.data.progress import Watch, watching
from softlabel.errors import InputError, UnavailableError

_PATIENCE_SECONDS = 2


@dataclass(frozen=True)
class Fetched:
    """Where a set lies now. `source` is None when nothing had to be fetched."""

    name: str
    folder: Path | None
    source: str | None


@dataclass(frozen=True)
class FileState:
    """What was found of one raw file: `state` is 'right', 'missing' or 'corrupted'."""

    name: str
    state: str


def cache_folder() -> Path:
    """`SOFTLABEL_DATA` where it is set, else the user's cache folder."""
    named = os.environ.get("SOFTLABEL_DATA")
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("softlabel", appauthor=False)) / "data"


def state(name: str) -> str:
    """'embedded', 'cached', 'not fetched' or 'corrupted', judged by sizes only, which is quick."""
    entry = find(name)
    if not entry.files:
        return "embedded"
    sizes = [_size(cache_folder() / name / file.name) for file in entry.files]
    if all(size is None for size in sizes):
        return "not fetched"
    return "cached" if sizes == [file.size for file in entry.files] else "corrupted"


def verify(name: str) -> list[FileState]:
    """The state of every raw file of a set, judged by its checksum. An embedded set has none."""
    return [FileState(file.name, _check(cache_folder() / name / file.name, file)) for file in find(name).files]


def fetch(name: str) -> Fetched:
    """Bring a set into the cache, unless every file of it is there and right.

    The sources are tried in their order until one gives files that have the pinned checksums. A corrupted
    file that was in the cache is kept beside the new one as `<file>.corrupted`.
    """
    entry = find(name)
    if not entry.files:
        return Fetched(name, None, None)
    folder = cache_folder()
    if _whole(entry, folder):
        return Fetched(name, folder / name, None)
    with _locked(folder, name):
        if _whole(entry, folder):
            return Fetched(name, folder / name, None)
        for leftover in folder.glob(f".{name}-*.part"):
            shutil.rmtree(leftover, ignore_errors=True)
        with watching(f"fetching {name} ({entry.size / 1e6:.0f} MB)") as watch:
            return Fetched(name, folder / name, _fetch_from_any(entry, folder, watch))


def _fetch_from_any(entry: NamedSet, folder: Path, watch: Watch) -> str:
    failures = []
    for source in entry.sources:
        with _temporary(folder, entry.name) as work:
            try:
                sources.PLACERS[source.kind](source.at, entry, work, watch)
            except sources.SourceFailed as error:
                failures.append(f"{source}: {error}")
                continue
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                    raise _unwritable(folder, error) from None
                failures.append(f"{source}: {error}")
                continue
            wrong = [file.name for file in entry.files if _check(work / file.name, file) != "right"]
            if wrong:
                failures.append(f"{source}: {', '.join(wrong)} missing or with a wrong checksum")
                continue
            _move_in(entry, work, folder / entry.name)
            return str(source)
    raise UnavailableError(
        f"no source gave '{entry.name}' ({'; '.join(failures)}); try again, "
        f"or put {', '.join(file.name for file in entry.files)} into '{folder / entry.name}' by hand"
    )


def _move_in(entry: NamedSet, work: Path, home: Path) -> None:
    """Rename the verified files into place, one atomic step each; right ones that are there stay."""
    try:
        home.mkdir(exist_ok=True)
        for file in entry.files:
            found = _check(home / file.name, file)
            if found == "corrupted":
                (home / file.name).replace(home / f"{file.name}.corrupted")
                print(
                    f"softlabel: '{home / file.name}' was corrupted, is now {file.name}.corrupted beside a new one",
                    file=sys.stderr,
                )
            if found != "right":
                (work / file.name).replace(home / file.name)
    except OSError as error:
        raise _unwritable(home, error) from None


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the set's lock; a second process waits here and then finds the files."""
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f".{name}.lock")
        try:
            lock.acquire(timeout=_PATIENCE_SECONDS)
        except Timeout:
            print(f"another process is fetching {name}; waiting for it ...", file=sys.stderr)
            lock.acquire()
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _temporary(folder: Path, name: str) -> Iterator[Path]:
    """A temporary folder in the cache's own file system, gone afterwards whatever happens."""
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{name}-", suffix=".part", dir=folder))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write the data folder '{folder}' ({error.strerror or error}): "
        f"set SOFTLABEL_DATA to a folder that can be written and has room"
    )


def _whole(entry: NamedSet, folder: Path) -> bool:
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
