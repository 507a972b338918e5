"""Reads the NPZ file of a NumPy predictor as a student, without loading pickles or running code."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.data.encoding.raw import checked_encoder
from softlabel.data.scaling import SCALES, Scaler
from softlabel.errors import InputError, require
from softlabel.export.numpy_code import NPZ_FORMAT
from softlabel.networks.softening import RECORDED, Softening
from softlabel.networks.student_model import StudentModel
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics.array_files import array_names, read_arrays


def read_numpy_student(path: Path) -> StudentModel:
    """Read a student from an NPZ file written by `export_student`; other files are rejected."""
    names = array_names(path)
    arrays = dict(zip(names, read_arrays(path, names), strict=True))
    require(
        str(arrays.get("format")) == NPZ_FORMAT,
        f"'{path}' is an NPZ file, but not one of a student exported by this version of softlabel: export it again, or "
        "use its .safetensors or .onnx file",
    )
    try:
        return _student(arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError, RecursionError) as problem:
        raise InputError(f"'{path}' is not a complete student ({problem}): export it again") from None


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
    network = TwoLayer(
        _tensor(hidden), _tensor(output * np.sqrt(len(hidden)).astype(output.dtype)), _tensor(arrays["hidden_bias"]),
        _tensor(output_bias), activation=str(arrays["activation"]),
    ).checked("the network")  # fmt: skip
    columns = tuple(str(name) for name in arrays["columns"].tolist()) if "columns" in arrays else None
    about = {name: _number(arrays[name]) for name in RECORDED if name in (*RECORDED[:2], *arrays)}
    encoder = checked_encoder(json.loads(str(arrays["encoder"]))) if "encoder" in arrays else None
    return StudentModel(network, scaler, classes, columns, Softening.from_dict(about), encoder)


def _number(array: np.ndarray) -> float | None:
    """A number, or None if the file contains NaN."""
    value = float(array)
    return None if np.isnan(value) else value


def _tensor(array: Any) -> torch.Tensor:
    require(
        array.dtype in (np.float32, np.float64) and bool(np.isfinite(array).all()), "weights must be finite numbers"
    )
    return torch.from_numpy(np.ascontiguousarray(array))
