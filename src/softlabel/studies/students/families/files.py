"""Files of students that are ONNX classifiers of scaled inputs, with preprocessing in front and a parity check."""

from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import SoftlabelError
from softlabel.networks.softening import Softening
from softlabel.numerics.files import replacing
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.teachers.predictions import call_milliseconds

TOLERANCE = 1e-4


def onnx_probabilities(content: bytes, inputs: np.ndarray) -> np.ndarray:
    """The output "probabilities" (n, K) of an ONNX model for its one input (n, d)."""
    from softlabel.teachers.onnx_runtime import Runtime

    runtime = Runtime(content, "the student")
    feeds = {runtime.inputs[0].name: np.ascontiguousarray(inputs, dtype=np.float32)}
    return np.asarray(runtime.run(["probabilities"], feeds)[0], dtype=np.float64)


def write_classifier(
    problem: TaughtProblem, content: bytes, path: Path, softening: Softening, line: str
) -> dict[str, Any]:
    """Write the ONNX file of a student that takes raw rows, and compare it with its model of scaled inputs.

    line    a description of the student for the file's metadata
    """
    import onnx

    from softlabel.export import load_model, preprocessed_onnx

    encoder = problem.encoder
    example: Any = problem.example  # rows, or a frame of raw columns
    columns = problem.train.X.shape[1]
    built = preprocessed_onnx(
        onnx.load_from_string(content), problem.scaler, encoder, problem.columns, problem.classes, softening, columns,
        student=line,
    )  # fmt: skip
    encoded = example if encoder is None else encoder.transform(example)
    truth = onnx_probabilities(content, problem.scaler.apply(encoded))
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_bytes(built.SerializeToString())
    model = load_model(path)
    difference = float(np.abs(model.probabilities(example) - truth).max())
    if not difference <= TOLERANCE:
        path.unlink()
        raise SoftlabelError(
            f"the exported file of '{path.stem}' differs from the student by {difference:.2g} in a probability "
            f"({TOLERANCE:g} is allowed) and was removed"
        )
    return {"files": [str(path)], "bytes": path.stat().st_size, **file_latency(path, example)}


def file_latency(path: Path, example: Any) -> dict[str, float]:
    """Median milliseconds of an ONNX file in onnxruntime, for one row and for a thousand of raw rows in memory."""
    from softlabel.export.onnx_model import OnnxModel

    model = OnnxModel(path)
    names, rows = model.session.names, example[:1000]
    one, many = model.feeds(example[:1]), model.feeds(rows)
    return {
        "milliseconds": call_milliseconds(lambda: model.session.run(one, names)),
        "milliseconds_thousand": call_milliseconds(lambda: model.session.run(many, names)) * 1000 / len(rows),
    }
