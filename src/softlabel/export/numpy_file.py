"""Reads the NPZ file of a NumPy predictor as a student, without loading pickles or running code."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy

from softlabel.data.scaling import SCALES, Scaler
from softlabel.errors import InputError, require
from softlabel.export.numpy_code import NPZ_FORMAT
from softlabel.networks.activations import activation
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.networks.two_layer import TwoLayer


def read_numpy_student(path: Path) -> StudentModel:
    """Read a student from an NPZ file written by `export_student`; other files are rejected."""
    arrays = _arrays(path)
    require(
        str(arrays.get("format")) == NPZ_FORMAT,
        f"'{path}' is an NPZ file, but not one of a student exported by this version of softlabel: export it again, or "
        "use its .safetensors or .onnx file",
    )
    try:
        return _student(arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as problem:
        raise InputError(f"'{path}' is not a complete student ({problem}): export it again") from None


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays by name. Members must be uncompressed, as `export_student` writes them, so that none exceeds the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {info.filename.removesuffix(".npy"): _array(archive, info) for info in archive.infolist()}
    except (OSError, ValueError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as problem:
        reason = (str(problem) or type(problem).__name__).splitlines()[0]
        raise InputError(f"'{path}' cannot be read as the NPZ file of a student: {reason}") from None


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"'{info.filename}' is compressed, which exported students are not")
    with archive.open(info) as member:
        if npy.read_magic(member) != (1, 0):
            raise ValueError(f"'{info.filename}' is not an array in NPY format 1.0")
        shape, _, dtype = npy.read_array_header_1_0(member)
        claimed = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if dtype.hasobject or claimed != info.file_size - member.tell():
            raise ValueError(f"'{info.filename}' does not match its header")
    with archive.open(info) as member:
        return npy.read_array(member, allow_pickle=False)


def _student(arrays: dict[str, np.ndarray]) -> StudentModel:
    hidden, output, output_bias = (arrays[name] for name in ("hidden", "output", "output_bias"))
    classes = tuple(str(name) for name in arrays["classes"].tolist())
    if len(classes) == 2:  # the first row consists of zeros, see `export.layers`
        output, output_bias = output[1:] - output[:1], output_bias[1:] - output_bias[:1]
    how = str(arrays["scale"])
    require(how in SCALES, f"scale must be one of {', '.join(SCALES)}, got '{how}'")
    scaler = Scaler(
        how,
        float(arrays["spread"]) if how == "max" else 1.0,
        tuple(arrays["shift"].tolist()) if how == "standard" else (),
        tuple(arrays["spread"].tolist()) if how == "standard" else (),
    )
    kind = str(arrays["activation"])
    activation(kind)
    network = TwoLayer(
        _tensor(hidden), _tensor(output * np.sqrt(len(hidden)).astype(output.dtype)), _tensor(arrays["hidden_bias"]),
        _tensor(output_bias), activation=kind,
    )  # fmt: skip
    columns = tuple(str(name) for name in arrays["columns"].tolist()) if "columns" in arrays else None
    about = {name: _number(arrays[name]) for name in ("label_temperature", "label_smoothing")}
    return StudentModel(network, scaler, classes, columns, Softening.from_dict(about))


def _number(array: np.ndarray) -> float | None:
    """A number, or None if the file contains NaN."""
    value = float(array)
    return None if np.isnan(value) else value


def _tensor(array: Any) -> torch.Tensor:
    require(
        array.dtype in (np.float32, np.float64) and bool(np.isfinite(array).all()), "weights must be finite numbers"
    )
    return torch.from_numpy(np.ascontiguousarray(array))
