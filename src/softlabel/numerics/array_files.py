"""Readers for untrusted NPY and NPZ files: sizes are checked before memory is allocated, nothing is ever unpickled.

An NPY header may declare any shape, and a member of an NPZ archive may expand a thousandfold. The declared size must
therefore match the file and fit into memory, and a member that expands more than 200 times to more than a gibibyte is
refused as a decompression bomb.
"""

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tokenize import TokenError
from typing import IO

import numpy as np
from numpy.lib import format as npy

from softlabel.errors import InputError, few
from softlabel.memory import readable_bytes, require_memory
from softlabel.numerics.local_files import reason_of, require_regular_file

BOMB_SIZE = 2**30
BOMB_RATIO = 200
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_archive(path: Path) -> bool:
    """Whether a file is a ZIP archive, as NPZ files are."""
    return zipfile.is_zipfile(require_regular_file(path))


def read_array(path: Path, *, mmap: bool = False) -> np.ndarray:
    """Read the array of an NPY file; with `mmap`, map it into memory instead."""
    with _readable(path, "NPY"):
        if is_archive(path):
            raise InputError(f"'{path}' is an NPZ archive, not one array: rename it to '{path.stem}.npz'")
        with path.open("rb") as stream:
            shape, order, dtype = _header(stream, path.stat().st_size, f"'{path}'")
            if not mmap:
                return _values(stream, shape, order, dtype, f"'{path}'")
            begin = stream.tell()
        return np.memmap(path, dtype, "r", begin, shape, "F" if order else "C")


def array_names(path: Path) -> list[str]:
    """Names of the arrays in an NPZ file."""
    with _readable(path, "NPZ"), _opened(path) as archive:
        return list(_members(archive, path))


def array_headers(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of every array in an NPZ file that can be read; other members are left out."""
    headers = {}
    with _readable(path, "NPZ"), _opened(path) as archive:
        for name, member in _members(archive, path).items():
            with suppress(InputError):
                _check_sizes([member], path)
                with archive.open(member) as stream:
                    shape, _, dtype = _header(stream, member.file_size, f"'{path}': array '{name}'")
                headers[name] = (shape, dtype)
    return headers


def read_arrays(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Read the named arrays of an NPZ file."""
    with _readable(path, "NPZ"), _opened(path) as archive:
        members = _members(archive, path)
        for name in names:
            if name not in members:
                raise InputError(f"'{path}' has no array '{name}'; it holds {few(members, 20) or 'none'}")
        _check_sizes([members[name] for name in names], path)
        return [_read_member(archive, members[name], f"'{path}': array '{name}'") for name in names]


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    if not is_archive(path):
        with path.open("rb") as stream:
            if stream.read(6) == npy.MAGIC_PREFIX:
                _header(stream, path.stat().st_size, f"'{path}'")
                raise InputError(f"'{path}' holds one array, not an NPZ archive: rename it to '{path.stem}.npy'")
    with zipfile.ZipFile(path) as archive:
        yield archive


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The members of an archive that are arrays, by name."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in members:
            raise InputError(f"'{path}' holds two arrays called '{name}': save each once")
        members[name] = member
    return members


def _check_sizes(members: Sequence[zipfile.ZipInfo], path: Path) -> None:
    for member in members:
        if member.flag_bits & 1:
            raise InputError(f"'{path}': member '{member.filename}' is encrypted: save it without a password")
        if member.compress_type not in _METHODS:
            raise InputError(f"'{path}': member '{member.filename}' is packed in a way that NumPy does not write")
        if member.file_size > max(BOMB_SIZE, BOMB_RATIO * member.compress_size):
            raise InputError(
                f"'{path}': member '{member.filename}' unpacks from {readable_bytes(member.compress_size)} to "
                f"{readable_bytes(member.file_size)}, which looks like a decompression bomb: if it is not, save it "
                "uncompressed (numpy.savez)"
            )
    require_memory(sum(member.file_size for member in members), f"'{path}'")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, what: str) -> np.ndarray:
    with archive.open(member) as stream:
        if stream.read(6) != npy.MAGIC_PREFIX:
            raise InputError(f"{what} is no array: NumPy did not write it (numpy.savez does)")
    with archive.open(member) as stream:
        array = _values(stream, *_header(stream, member.file_size, what), what)
        stream.read(1)  # at its end the checksum is compared
        return array


def _header(stream: IO[bytes], size: int, what: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and dtype declared by an NPY header, checked against the number of bytes in the file."""
    stream.seek(0)
    if stream.read(6) != npy.MAGIC_PREFIX:
        raise InputError(f"{what} is not a readable NPY file: NumPy did not write it (numpy.save does)")
    stream.seek(0)
    version = npy.read_magic(stream)
    if version not in _READERS:
        raise InputError(f"{what} is an NPY file of version {version}: save it with NumPy again")
    shape, order, dtype = _READERS[version](stream)
    if dtype.hasobject:
        raise InputError(f"{what} holds Python objects, which softlabel never unpickles: save plain arrays")
    if dtype.names is not None or dtype.subdtype is not None or dtype.itemsize == 0:
        raise InputError(f"{what} holds values of type {dtype}: save plain arrays of numbers or text")
    if any(side < 0 for side in shape):
        raise InputError(f"{what} declares the shape {shape}: no side can be negative")
    declared, available = math.prod(shape, start=dtype.itemsize), size - stream.tell()
    if declared > available:
        raise InputError(
            f"{what} is not a readable NPY file: it declares {readable_bytes(declared)} (shape {shape}, {dtype}) and "
            f"holds {readable_bytes(available)}; was it written completely?"
        )
    if sum(side.bit_length() for side in shape) > 62:
        raise InputError(f"{what} declares the shape {shape}, which is no array")
    require_memory(declared, what)
    return shape, order, dtype


def _values(stream: IO[bytes], shape: tuple[int, ...], order: bool, dtype: np.dtype, what: str) -> np.ndarray:
    array = np.empty(shape[::-1] if order else shape, dtype)
    view, filled = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b""), 0
    while filled < len(view):
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            raise InputError(
                f"{what} ends after {readable_bytes(filled)} of {readable_bytes(len(view))}: it is cut off"
            )
        filled += count
    return (array.T if order else array).astype(dtype.newbyteorder("="), copy=False)


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turn any error raised while reading into an `InputError` of one line."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"'{path}' does not fit into memory: use a smaller file") from None
    except (
        OSError, ValueError, TypeError, KeyError, EOFError, NotImplementedError, RuntimeError, OverflowError,
        SyntaxError, RecursionError, TokenError, struct.error, zipfile.BadZipFile, zlib.error,
    ) as problem:  # fmt: skip
        raise InputError(
            f"'{path}' is not a readable {kind} file (truncated or of another kind?): {reason_of(problem)}"
        ) from None
