"""Artifacts: arrays that a run works on, stored in its directory under a hash, and read by every worker.

Each artifact is one safetensors file with a checksum, written completely or not at all. `ArtifactStore.put` stores data
under a hash of their content; workers map the file into memory, so that those of one machine share its pages. `Pieces`
stores the finished parts of a long computation under a hash of what it is computed from, so that an interrupted one
goes on from them, and another run on the same data finds them.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.errors import InputError, SoftlabelError
from softlabel.lab.cells import identity
from softlabel.numerics.files import replacing
from softlabel.numerics.tensor_files import read_tensors

if TYPE_CHECKING:
    from softlabel.teachers.pieces import Piece

ARTIFACTS = "artifacts"
KIND = "softlabel artifact"
log = logging.getLogger("softlabel")
Arrays = Mapping[str, np.ndarray]


class ArtifactStore:
    """The artifacts of one run directory; arrays that were read stay open as long as the store."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._open: dict[str, Arrays] = {}

    def path(self, key: str) -> Path:
        """File of one artifact."""
        return self.run_dir / ARTIFACTS / f"{key}.safetensors"

    def put(self, arrays: Arrays) -> str:
        """Store arrays under a hash of their content, and return it; an intact file of that name is left alone."""
        key = content_hash(arrays)
        if self._read(key) is None:
            self._write(key, arrays, {})
        return key

    def arrays(self, key: str) -> Arrays:
        """The arrays stored under a key, mapped into memory."""
        if key not in self._open:
            try:
                tensors, _ = read_tensors(self.path(key), KIND, "artifact")
            except InputError as problem:
                raise SoftlabelError(f"{problem}; rerun the original command") from problem
            self._open[key] = {name: tensor.numpy() for name, tensor in tensors.items()}
        return self._open[key]

    def keep(self, key: str, make: Callable[[], "Piece"]) -> "Piece":
        """The piece stored under this key here or in a neighboring run; else it is made and stored."""
        piece = self._read(key)
        if piece is None and not self.path(key).exists():
            piece = self._borrow(key)
        if piece is None:
            piece = make()
            self._write(key, piece.arrays, piece.facts)
        return piece

    def _borrow(self, key: str) -> "Piece | None":
        """Copy the piece from a run directory beside this one."""
        for path in sorted(self.run_dir.absolute().parent.glob(f"*/{ARTIFACTS}/{key}.safetensors")):
            if ArtifactStore(path.parents[key.count("/") + 1])._read(key, warn=False) is not None:
                with replacing(self.path(key)) as copy:
                    shutil.copyfile(path, copy)
                return self._read(key)
        return None

    def _read(self, key: str, warn: bool = True) -> "Piece | None":
        """The piece as it was written; None where there is none, or where it was changed since."""
        from softlabel.teachers.pieces import Piece  # here, because workers do not need it and start faster without

        path = self.path(key)
        if not path.exists():
            return None
        try:
            tensors, metadata = read_tensors(path, KIND, "artifact of a run")
            piece = Piece({name: tensor.numpy() for name, tensor in tensors.items()}, json.loads(metadata["facts"]))
            if metadata["checksum"] != content_hash(piece.arrays, [key, piece.facts]):
                raise ValueError("the content differs from what was written")
        except (InputError, KeyError, TypeError, ValueError):
            if warn:
                log.warning("'%s' is damaged: it is computed again", path)
            return None
        return piece

    def _write(self, key: str, arrays: Arrays, facts: dict[str, Any]) -> None:
        from safetensors.numpy import save_file

        checksum = content_hash(arrays, [key, facts])
        metadata = {"format": KIND, "facts": json.dumps(facts, allow_nan=False), "checksum": checksum}
        with replacing(self.path(key)) as part:
            save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, part, metadata)


class Pieces:
    """Finished parts of one long computation in a store.

    made_from   everything that the parts depend on, as JSON values: other values have other parts
    """

    def __init__(self, store: ArtifactStore, made_from: Any) -> None:
        self.store, self.key = store, identity(made_from)
        self.directory = store.run_dir / ARTIFACTS / self.key

    def keep(self, name: str, make: Callable[[], "Piece"]) -> "Piece":
        """The part of this name: as it was stored, or else made now and stored."""
        return self.store.keep(f"{self.key}/{name}", make)


def content_hash(arrays: Arrays, facts: Any = None) -> str:
    """Hash of arrays by name, and of facts."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()[:20]
