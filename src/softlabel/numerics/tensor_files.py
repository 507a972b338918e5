"""Named tensors in safetensors files, whose metadata name the kind of file."""

import math
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from softlabel.errors import InputError
from softlabel.memory import require_memory
from softlabel.numerics.files import replacing
from softlabel.numerics.local_files import reason_of, require_regular_file

if TYPE_CHECKING:
    from safetensors import safe_open

DTYPES = (torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
          torch.bool)  # fmt: skip


def save_tensors(path: Path | str, tensors: Mapping[str, Tensor], kind: str, metadata: Mapping[str, str]) -> None:
    """Write tensors and metadata atomically, marked as this kind of file."""
    from safetensors.torch import save_file

    with replacing(Path(path)) as part:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, part, {"format": kind, **metadata})


@contextmanager
def opened_tensors(path: Path | str, what: str, remedy: str = "") -> "Iterator[safe_open]":
    """Open a safetensors file; any error while it is open becomes an `InputError`."""
    from safetensors import SafetensorError, safe_open

    try:
        size = require_regular_file(Path(path)).stat().st_size
        require_memory(size, "it")
    except InputError as problem:
        raise InputError(f"{what} '{path}' cannot be read: {problem}{remedy}") from None
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except InputError:
        raise
    except (OSError, SafetensorError, ValueError, TypeError, KeyError, RuntimeError, MemoryError) as problem:
        raise InputError(f"{what} '{path}' cannot be read: {reason_of(problem)}{remedy}") from problem


def read_tensors(
    path: Path | str,
    kind: str,
    what: str,
    remedy: str = "",
    finite: bool = False,
    outdated: Mapping[str, str] | None = None,
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read tensors and metadata of a file of this kind.

    what        names the file in errors, e.g. "two-layer student"
    finite      whether values that are not finite are an error
    outdated    earlier formats that are no longer supported, each with the reason
    """
    with opened_tensors(path, what, remedy) as file:
        metadata = file.metadata() or {}
        reason = (outdated or {}).get(metadata.get("format", ""))
        if reason is not None:
            raise InputError(f"{what} '{path}' {reason}")
        if metadata.get("format") != kind:
            raise InputError(f"'{path}' is a safetensors file, but not one of a {what}")
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for name, tensor in tensors.items():
        if tensor.dtype not in DTYPES:
            raise InputError(f"{what} '{path}' cannot be read: '{name}' has values of type {tensor.dtype}{remedy}")
        if finite and tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{what} '{path}' cannot be used: '{name}' holds values that are not finite{remedy}")
    return tensors, metadata


def number(metadata: Mapping[str, str], key: str, path: Path | str) -> float:
    """A finite number from the metadata of a file."""
    try:
        value = float(metadata[key])
    except (KeyError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"'{path}' is not complete: its metadata have no number '{key}'")
    return value


def load_tensors(
    path: Path | str,
    kind: str,
    what: str,
    required: Set[str],
    optional: Set[str] = frozenset(),
    outdated: Mapping[str, str] | None = None,
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Like `read_tensors`, with required and optional tensor names; all values must be finite."""
    tensors, metadata = read_tensors(path, kind, what, finite=True, outdated=outdated)
    if not required <= set(tensors) <= required | optional:
        raise InputError(f"'{path}' is a safetensors file, but not one of a {what}")
    return tensors, metadata
