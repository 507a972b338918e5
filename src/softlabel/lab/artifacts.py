"""Artifacts: what a run works on and takes long to make, kept in its folder under a hash of what it was made from.

Each piece is one safetensors file with a checksum, written whole. A piece that was changed since is made again.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.errors import InputError
from softlabel.lab.cells import identity
from softlabel.numerics.tensor_files import read_tensors, save_tensors
from softlabel.teachers.pieces import Piece

FOLDER = "artifacts"
KIND = "softlabel artifact"
log = logging.getLogger("softlabel")


class Artifacts:
    """The pieces of one computation, in `folder` of their own.

    made_from   everything that the pieces depend on, as JSON values: other values have other pieces
    """

    def __init__(self, run_folder: Path, made_from: Any) -> None:
        self.key = identity(made_from)
        self.folder = run_folder / FOLDER / self.key

    def keep(self, name: str, make: Callable[[], Piece]) -> Piece:
        """The piece of this name: as it was kept, or else made now and kept."""
        path = self.folder / f"{name}.safetensors"
        if path.exists():
            try:
                return self._read(path)
            except (InputError, KeyError, TypeError, ValueError):
                log.warning("'%s' is damaged: it is made again", path)
        piece = make()
        tensors = {key: torch.from_numpy(np.ascontiguousarray(array)) for key, array in piece.arrays.items()}
        facts = json.dumps(piece.facts, allow_nan=False)
        metadata = {"facts": facts, "made_from": self.key, "checksum": _checksum(self.key, facts, piece.arrays)}
        save_tensors(path, tensors, KIND, metadata)
        return piece

    def _read(self, path: Path) -> Piece:
        tensors, metadata = read_tensors(path, KIND, "artifact of a run")
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        if metadata["checksum"] != _checksum(self.key, metadata["facts"], arrays):
            raise ValueError("it is not what was written")
        return Piece(arrays, json.loads(metadata["facts"]))


def _checksum(key: str, facts: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(f"{key} {facts}".encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
