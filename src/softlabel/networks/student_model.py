"""A student as it is used: what is done to an input first, the network, and the names of classes and columns."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import expit, softmax
from torch import Tensor

from softlabel.data.scaling import Scaler
from softlabel.errors import InputError, require
from softlabel.networks.softening import UNCHANGED, Softening
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics.tensor_files import read_tensors, save_tensors

FORMAT = "softlabel-student-1"
_TENSORS = ("hidden", "output", "hidden_bias", "output_bias")


@dataclass(frozen=True, eq=False)
class StudentModel:
    """A two-layer student for inputs as they stand in the user's table.

    classes     names of the classes, in the order of the columns of `probabilities`
    columns     names of the input columns, None where they have none
    softening   temperature and smoothing of the labels that it was trained on: they decide whether its outputs can be
                read as probabilities
    """

    network: TwoLayer
    scaler: Scaler
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    softening: Softening = UNCHANGED

    def __post_init__(self) -> None:
        outputs = 1 if len(self.classes) == 2 else len(self.classes)
        require(
            len(self.classes) >= 2 and self.network.outputs == outputs,
            f"{len(self.classes)} classes need a network with {outputs} outputs, it has {self.network.outputs}",
        )
        require(len(set(self.classes)) == len(self.classes), f"classes must have different names: {self.classes}")
        require(
            self.columns is None or len(self.columns) == self.network.inputs,
            f"the network takes {self.network.inputs} columns, {len(self.columns or ())} are named",
        )
        require(
            len(self.scaler.shift) in (0, self.network.inputs),
            f"the network takes {self.network.inputs} columns, the scale is of {len(self.scaler.shift)}",
        )

    def logits(self, inputs: Any) -> np.ndarray:
        """The network's outputs for raw inputs (n, d): (n,) for two classes, (n, K) for more."""
        table = np.asarray(inputs)
        require(
            table.ndim == 2 and table.shape[1] == self.network.inputs,
            f"the student takes {self.network.inputs} input columns, got shape {table.shape}",
        )
        dtype = np.float64 if self.network.hidden.dtype == torch.float64 else np.float32
        return self.network.logits(np.ascontiguousarray(self.scaler.apply(table, dtype), dtype=dtype))

    def probabilities(self, inputs: Any) -> np.ndarray:
        """(n, K), rows adding up to 1.

        These imitate the labels of the training: where `softening` says so, they are softened and not probabilities.
        """
        z = self.logits(inputs).astype(np.float64)
        if z.ndim == 1:
            return np.stack([expit(-z), expit(z)], axis=1)
        return softmax(z, axis=1)

    def predict(self, inputs: Any) -> np.ndarray:
        """The place of each row's class in `classes`."""
        z = self.logits(inputs)
        return (z > 0).astype(np.int64) if z.ndim == 1 else z.argmax(axis=1)

    @cached_property
    def fingerprint(self) -> str:
        """Identity of every number and name in it."""
        return _fingerprint(self._about(), self._tensors())

    def _tensors(self) -> dict[str, Tensor]:
        held = {name: getattr(self.network, name) for name in _TENSORS}
        tensors = {name: tensor.detach().cpu().clone() for name, tensor in held.items() if tensor is not None}
        if self.scaler.shift:
            tensors["shift"] = torch.tensor(self.scaler.shift, dtype=torch.float64)
            tensors["spread"] = torch.tensor(self.scaler.spread, dtype=torch.float64)
        return tensors

    def _about(self) -> str:
        about = {
            "activation": self.network.activation,
            "scale": self.scaler.how,
            "factor": self.scaler.factor,
            "classes": self.classes,
            "columns": self.columns,
            **self.softening.to_dict(),
        }
        return json.dumps(about)

    def save(self, path: str | Path) -> None:
        """Write everything into one safetensors file."""
        save_tensors(path, self._tensors(), FORMAT, {"about": self._about(), "fingerprint": self.fingerprint})

    @classmethod
    def load(cls, path: str | Path) -> "StudentModel":
        """Read what `save` wrote; a file that was changed since is refused."""
        tensors, metadata = read_tensors(path, FORMAT, "student", finite=True)
        about_text = metadata.get("about", "")
        require(
            metadata.get("fingerprint") == _fingerprint(about_text, tensors),
            f"'{path}' was changed after it was saved: export it again",
        )
        try:
            about = json.loads(about_text)
            network = TwoLayer(*(tensors.get(name) for name in _TENSORS), activation=about["activation"])  # type: ignore[arg-type]
            network = network.checked("its network")
            shift, spread = (_numbers(tensors.get(name)) for name in ("shift", "spread"))
            scaler = Scaler(about["scale"], about["factor"], shift, spread).checked()
            require(
                all(isinstance(name, str) for name in (*about["classes"], *(about["columns"] or ()))),
                "its classes and columns must be names",
            )
            columns = None if about["columns"] is None else tuple(about["columns"])
            return cls(network, scaler, tuple(about["classes"]), columns, Softening.from_dict(about))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as problem:
            raise InputError(f"'{path}' is not a complete student ({problem}): export it again") from None


def _fingerprint(about: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(about.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:20]


def _numbers(tensor: Tensor | None) -> tuple[float, ...]:
    return () if tensor is None else tuple(tensor.tolist())
