"""An ONNX file opened by onnxruntime: asked batch by batch, whatever its inputs and outputs are."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import InputError, require

BATCH = 512
OURS = "softlabel-student-onnx"  # how the format of files that softlabel exports begins
FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
TYPES = FLOATS | {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class OnnxSession:
    """A model opened by onnxruntime. It has outputs `names`; `chosen` are the one to take, or all.

    who     what errors call it
    """

    def __init__(self, path: str | Path, output: str | None = None, who: str | None = None) -> None:
        import onnxruntime

        self.who = who or f"'{path}'"
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as problem:
            reason = _first_line(problem)
            raise InputError(f"{self.who} cannot be read as an ONNX model: {reason}") from None
        self.path, self.inputs = Path(path), self.session.get_inputs()
        self.names = [found.name for found in self.session.get_outputs()]
        require(
            output is None or output in self.names,
            f"{self.who} has no output '{output}'; there are {', '.join(self.names)}",
        )
        self.chosen = [output] if output is not None else self.names

    def told(self, what: str) -> list[str] | None:
        """Names of its "columns" or "classes", where the file says them, as those that softlabel exports do."""
        about = self.session.get_modelmeta().custom_metadata_map
        if not about.get("format", "").startswith(OURS):
            return None
        names = json.loads(about.get(what, "null"))
        return None if names is None or (all(name.isdigit() for name in names) and what == "columns") else names

    @property
    def parameters(self) -> int:
        """Numbers in the model's initialisers, and in classic models' nodes (coefficients, splits and leaves)."""
        import onnx

        graph = onnx.load(str(self.path)).graph
        count = sum(np.prod(tensor.dims, dtype=np.int64) for tensor in graph.initializer)
        for node in graph.node:
            if node.domain == "ai.onnx.ml":
                held = [attribute for attribute in node.attribute if "hitrates" not in attribute.name]
                count += sum(len(attribute.floats) for attribute in held)
                count += sum(np.prod(one.t.dims, dtype=np.int64) for one in held if one.t.data_type in (1, 11))
        return int(count)

    def ask(self, feeds: dict[str, np.ndarray], outputs: Sequence[str]) -> list[Any]:
        """Outputs for inputs by name, batch by batch: arrays (n, …) and lists of n; None for what is neither.

        A model of fixed batch gets its last one filled up.
        """
        rows = len(next(iter(feeds.values())))
        first = self.inputs[0].shape[0] if self.inputs[0].shape else None
        batch = first if isinstance(first, int) and first > 0 else None
        missing = 0 if batch is None else -rows % batch
        if missing:
            feeds = {name: np.concatenate([t, np.repeat(t[-1:], missing, axis=0)]) for name, t in feeds.items()}
        parts = []
        for begin in range(0, rows, batch or BATCH):
            piece = {name: table[begin : begin + (batch or BATCH)] for name, table in feeds.items()}
            try:
                answers: Any = self.session.run(outputs, piece)
            except Exception as problem:
                raise InputError(f"{self.who} fails on the data: {_first_line(problem)}") from None
            parts.append([_by_row(answer, len(next(iter(piece.values())))) for answer in answers])
        return [_joined(answers, rows) for answers in zip(*parts, strict=True)]


def _by_row(answer: Any, rows: int) -> Any:
    """An answer, (rows, …) or a list of so many, if it has something for every row, else None."""
    if isinstance(answer, list):
        return answer if len(answer) == rows and all(isinstance(row, dict) for row in answer) else None
    fits = isinstance(answer, np.ndarray) and answer.size and not answer.size % rows
    return answer.reshape(rows, -1) if fits else None


def _joined(parts: Sequence[Any], rows: int) -> Any:
    """Batches of one output as one, (rows, …)."""
    if any(part is None for part in parts):
        return None
    if isinstance(parts[0], list):
        return [row for part in parts for row in part][:rows]
    return np.concatenate(parts)[:rows]


def as_table(answer: Any, rows: int) -> np.ndarray | None:
    """An answer as (n, K) float64 if it is a table of real numbers, or a list of {class: probability}."""
    if isinstance(answer, list) and len(answer) == rows and all(isinstance(row, dict) for row in answer):
        keys = sorted(answer[0])
        return np.array([[row[key] for key in keys] for row in answer], dtype=np.float64)
    if not isinstance(answer, np.ndarray) or answer.dtype.kind != "f" or not answer.size or answer.size % rows:
        return None
    return answer.astype(np.float64).reshape(rows, -1)


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
