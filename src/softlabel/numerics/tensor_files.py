"""Tensors by name in a safetensors file, with a format that says what they are."""

from collections.abc import Mapping, Set
from pathlib import Path

from torch import Tensor

from softlabel.errors import InputError
from softlabel.numerics.files import replacing


def save_tensors(path: Path | str, tensors: Mapping[str, Tensor], kind: str, metadata: Mapping[str, str]) -> None:
    """Write tensors and metadata, marked as this kind of file, whole or not at all."""
    from safetensors.torch import save_file

    with replacing(Path(path)) as part:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, part, {"format": kind, **metadata})


def read_tensors(path: Path | str, kind: str, what: str, remedy: str = "") -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file of this kind; `what` names it in errors, e.g. "two-layer student"."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as problem:
        raise InputError(f"{what} '{path}' cannot be read: {problem}{remedy}") from problem
    if metadata.get("format") != kind:
        raise InputError(f"'{path}' is a safetensors file, but not one of a {what}")
    return tensors, metadata


def load_tensors(
    path: Path | str, kind: str, what: str, required: Set[str], optional: Set[str] = frozenset()
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The same, where the names of its tensors are known."""
    tensors, metadata = read_tensors(path, kind, what)
    if not required <= set(tensors) <= required | optional:
        raise InputError(f"'{path}' is a safetensors file, but not one of a {what}")
    return tensors, metadata
