"""A student as Python code that only needs NumPy, with its weights in an NPZ file beside it.

Ten lines are enough for a table of numbers. With an encoder, there are also the functions that encode raw columns.
"""

import io
import json
import textwrap
from typing import Any

import numpy as np
import torch

from softlabel.export.layers import Layers, student_layers
from softlabel.export.numpy_functions import encoder_code
from softlabel.networks.student_model import StudentModel

MARK = '"""A student written by softlabel'
NPZ_FORMAT = "softlabel-student-npz-1"
_ACTIVATIONS = {"relu": "np.maximum({}, 0)", "softplus": "np.logaddexp({}, 0)", "tanh": "np.tanh({})"}


def can_be_numpy(activation: str) -> bool:
    """Whether this activation can be computed with NumPy, which has no erf."""
    return activation in _ACTIVATIONS


def numpy_code(model: StudentModel) -> str:
    """The source code: `predict_proba(X)` for raw inputs (n, d), and `classes`, the names of its columns."""
    layers = student_layers(model)
    classes, inputs = layers.output.shape[0], layers.hidden.shape[1]
    active = _ACTIVATIONS[model.network.activation].format('x @ W["hidden"].T + W["hidden_bias"]')
    takes = f"raw inputs (n, {inputs})" if model.encoder is None else "raw columns"
    modules, constants, functions = ([], [], []) if model.encoder is None else encoder_code(model.encoder)
    lines = [
        f"{MARK}: predict_proba(X) takes {takes} and returns (n, {classes}), one column per class." + _remark(model),
        "",
        *(f"import {module}" for module in modules),
        *([""] if modules else []),
        "import numpy as np",
        "",
        'W = dict(np.load(__file__[:-3] + ".npz"))',
        'classes = W["classes"].tolist()',
        *([] if model.encoder is None else ['columns = W["columns"].tolist()']),
        *constants,
        *functions,
        "",
        "",
        "def predict_proba(X):",
        f"    x = np.asarray({'X' if model.encoder is None else 'encode(X)'}, dtype=np.float64)",
        *_scaled(layers),
        f"    h = {active}",
        '    z = h @ W["output"].T + W["output_bias"]',
        "    p = np.exp(z - z.max(axis=1, keepdims=True))",
        "    return p / p.sum(axis=1, keepdims=True)",
    ]
    return "\n".join(lines) + "\n"


def _remark(model: StudentModel) -> str:
    """The end of the docstring: the raw columns, and a warning if the outputs are not probabilities."""
    remarks = []
    if model.encoder is not None:
        remarks.append(
            "X is a dictionary of columns, a list of dictionaries, or a data frame; `columns` has the names."
        )
    if model.softening.note is not None:
        remarks.append(f"Note: {model.softening.note}.")
    return "".join("\n\n" + textwrap.fill(remark, 110) for remark in remarks) + ("\n" if remarks else "") + '"""'


def _scaled(layers: Layers) -> list[str]:
    if layers.unit:
        return ["    x = x / np.linalg.norm(x, axis=1, keepdims=True)"]
    shifted = "x" if layers.shift is None else '(x - W["shift"])'
    return [] if layers.spread is None else [f'    x = {shifted} / W["spread"]']


def numpy_weights(model: StudentModel) -> bytes:
    """The NPZ file: weights in the network's precision, the scaling in float64, and metadata for `load_model`."""
    layers = student_layers(model)
    dtype = np.float64 if model.network.hidden.dtype == torch.float64 else np.float32
    arrays = {name: getattr(layers, name).astype(dtype) for name in ("hidden", "hidden_bias", "output", "output_bias")}
    scale = {name: part for name in ("shift", "spread") if (part := getattr(layers, name)) is not None}
    about: dict[str, Any] = {"format": NPZ_FORMAT, "activation": model.network.activation, "scale": model.scaler.how}
    about |= {name: np.nan if value is None else value for name, value in model.softening.to_dict().items()}
    about |= {"classes": model.classes} | ({} if model.columns is None else {"columns": model.columns})
    about |= {} if model.encoder is None else {"encoder": json.dumps(model.encoder.to_dict())}
    written: dict[str, Any] = arrays | scale | {name: np.array(value) for name, value in about.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **written)
    return buffer.getvalue()
