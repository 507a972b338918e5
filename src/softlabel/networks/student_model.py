"""A student ready for use: the scaling of its inputs, the network, and the names of classes and columns."""

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

from softlabel.data.encoding import TableEncoder
from softlabel.data.encoding.raw import checked_encoder, encoded_rows, has_columns, is_raw_array
from softlabel.data.scaling import Scaler
from softlabel.data.user_frames import as_polars
from softlabel.errors import InputError, few, require
from softlabel.networks.softening import UNCHANGED, Softening
from softlabel.networks.two_layer import TENSORS, TwoLayer
from softlabel.numerics.tensor_files import read_tensors, save_tensors

FORMAT = "softlabel-student-1"


@dataclass(frozen=True, eq=False)
class StudentModel:
    """A trained two-layer student that takes raw inputs.

    Parameters
    ----------
    network : TwoLayer
        The trained network, for scaled inputs.
    scaler : Scaler
        The scaling that is applied to raw inputs first.
    classes : tuple of str
        Names of the classes, in the order of the columns of `probabilities`.
    columns : tuple of str, optional
        Names of the input columns, if they have names. With an encoder they are the names of its raw columns.
    softening : Softening, optional
        Temperature and smoothing of the training labels. They decide whether the outputs can be read as probabilities,
        see `softening.note`.
    encoder : TableEncoder, optional
        Turns raw columns (numbers, categories, dates, text, missing values) into the numbers that the scaler takes.
        The inputs of `logits`, `probabilities` and `predict` are then frames with these columns.

    See Also
    --------
    export_student : Write a student as ONNX, safetensors and NumPy files.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> from softlabel.data.scaling import Scaler
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> y = np.where(x[:, 0] > 0, 1, -1)
    >>> scaler = Scaler.fit(x, "standard")
    >>> run = sl.train_students(scaler.apply(x), [sl.Student(width=8)], y, iterations=100)
    >>> model = sl.StudentModel(run[0].network, scaler, ("no", "yes"))
    >>> model.probabilities(x).shape
    (100, 2)
    >>> bool((model.predict(x) == (y > 0)).mean() > 0.9)
    True

    A student of a table with text and missing values:

    >>> import polars as pl
    >>> from softlabel.data.encoding import TableEncoder, plan_columns
    >>> table = pl.DataFrame({"color": ["red", "blue", "red", "blue"], "size": [1.5, None, 2.5, 3.5]})
    >>> encoder = TableEncoder.fit(plan_columns(table), table)
    >>> network = sl.TwoLayer.initialized("symmetric", width=4, inputs=len(encoder.features))
    >>> model = sl.StudentModel(network, Scaler("none"), ("no", "yes"), encoder=encoder)
    >>> model.columns, model.probabilities({"size": [2.0], "color": ["green"]})
    (('color', 'size'), array([[0.5, 0.5]]))
    """

    network: TwoLayer
    scaler: Scaler
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    softening: Softening = UNCHANGED
    encoder: TableEncoder | None = None

    def __post_init__(self) -> None:
        if self.encoder is not None:
            self._take_encoder(self.encoder)
        outputs = 1 if len(self.classes) == 2 else len(self.classes)
        require(
            len(self.classes) >= 2 and self.network.outputs == outputs,
            f"{len(self.classes)} classes need a network with {outputs} outputs, got {self.network.outputs}",
        )
        require(len(set(self.classes)) == len(self.classes), f"classes must have different names, got {self.classes}")
        require(
            self.columns is None or self.encoder is not None or len(self.columns) == self.network.inputs,
            f"the network takes {self.network.inputs} columns, {len(self.columns or ())} are named",
        )
        require(
            len(self.scaler.shift) in (0, self.network.inputs),
            f"the network takes {self.network.inputs} columns, the scaler has {len(self.scaler.shift)}",
        )

    def _take_encoder(self, encoder: TableEncoder) -> None:
        """Check that the encoder fits, and name the raw columns."""
        require(
            len(encoder.features) == self.network.inputs,
            f"the network takes {self.network.inputs} columns, the encoder makes {len(encoder.features)}",
        )
        require(
            self.columns in (None, encoder.columns, encoder.features),
            f"columns must be those of the encoder, got {few(self.columns or ())}",
        )
        object.__setattr__(self, "columns", encoder.columns)

    def logits(self, inputs: Any) -> np.ndarray:
        """The network's outputs for raw inputs.

        Parameters
        ----------
        inputs : array-like of shape (n, d), or frame
            Raw inputs. With an encoder: a polars or pandas frame or a dictionary with the raw columns, in any order
            (other columns are ignored), an array of them in their order, or an array of rows that are encoded.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            One logit per row for two classes (positive for the second class), K logits for more.
        """
        if self.encoder is not None and is_raw_array(self.encoder, inputs):
            inputs = as_polars(inputs, self.encoder.columns)
        table = encoded_rows(self.encoder, inputs) if self.encoder and has_columns(inputs) else np.asarray(inputs)
        expected, numbers = f"{self.network.inputs} input columns", True
        if self.encoder is not None:
            expected = f"a frame with the columns {few(self.encoder.columns)}, or {expected} of encoded numbers"
            numbers = table.dtype.kind in "biuf"
        require(
            numbers and table.ndim == 2 and table.shape[1] == self.network.inputs,
            f"the student takes {expected}, got shape {table.shape}",
        )
        dtype = np.float64 if self.network.hidden.dtype == torch.float64 else np.float32
        return self.network.logits(np.ascontiguousarray(self.scaler.apply(table, dtype), dtype=dtype))

    def probabilities(self, inputs: Any) -> np.ndarray:
        """Probabilities of the classes for raw inputs as in `logits`, as an array of shape (n, K) whose rows sum to 1.

        They imitate the training labels: if `softening.note` is not None, they are softened or sharpened and should not
        be used as probabilities.
        """
        z = self.logits(inputs).astype(np.float64)
        if z.ndim == 1:
            return np.stack([expit(-z), expit(z)], axis=1)
        return softmax(z, axis=1)

    def predict(self, inputs: Any) -> np.ndarray:
        """Index of the predicted class in `classes`, for each row of the raw inputs."""
        z = self.logits(inputs)
        return (z > 0).astype(np.int64) if z.ndim == 1 else z.argmax(axis=1)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all weights, settings and names."""
        return _fingerprint(self._about(), self._tensors())

    def _tensors(self) -> dict[str, Tensor]:
        weights = {name: getattr(self.network, name) for name in TENSORS}
        tensors = {name: tensor.detach().cpu().clone() for name, tensor in weights.items() if tensor is not None}
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
            **({} if self.encoder is None else {"encoder": self.encoder.to_dict()}),
        }
        return json.dumps(about)

    def save(self, path: str | Path) -> None:
        """Write the student to one safetensors file."""
        save_tensors(path, self._tensors(), FORMAT, {"about": self._about(), "fingerprint": self.fingerprint})

    @classmethod
    def load(cls, path: str | Path) -> "StudentModel":
        """Read a student written by `save`; a file that was modified afterwards is rejected."""
        tensors, metadata = read_tensors(path, FORMAT, "student", finite=True)
        about_text = metadata.get("about", "")
        require(
            metadata.get("fingerprint") == _fingerprint(about_text, tensors),
            f"'{path}' was modified after it was saved: export it again",
        )
        try:
            about = json.loads(about_text)
            network = TwoLayer(*(tensors.get(name) for name in TENSORS), activation=about["activation"])  # type: ignore[arg-type]
            network = network.checked("the network")
            shift, spread = (tuple(tensors[name].tolist()) if name in tensors else () for name in ("shift", "spread"))
            scaler = Scaler(about["scale"], about["factor"], shift, spread).checked()
            require(
                all(isinstance(name, str) for name in (*about["classes"], *(about["columns"] or ()))),
                "classes and columns must be names",
            )
            columns = None if about["columns"] is None else tuple(about["columns"])
            encoder = checked_encoder(about["encoder"]) if "encoder" in about else None
            return cls(network, scaler, tuple(about["classes"]), columns, Softening.from_dict(about), encoder)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as problem:
            raise InputError(f"'{path}' is not a complete student ({problem}): export it again") from None


def _fingerprint(about: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(about.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:20]
