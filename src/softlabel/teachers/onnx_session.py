"""An ONNX file opened by onnxruntime: asked batch by batch, whatever its inputs and outputs are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import InputError, require
from softlabel.memory import readable_bytes
from softlabel.numerics.local_files import reason_of
from softlabel.teachers.onnx_content import read_onnx
from softlabel.teachers.onnx_runtime import Runtime

BATCH = 512
LARGEST_BATCH = 2**30  # bytes that the inputs of one call may take
FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
TYPES = FLOATS | {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class OnnxSession:
    """A model opened by onnxruntime. It has outputs `names`; `chosen` are the one to take, or all.

    who     what errors call it
    """

    def __init__(self, path: str | Path, output: str | None = None, who: str | None = None) -> None:
        self.who, self.path = who or f"'{path}'", Path(path)
        self.held = read_onnx(self.path, self.who)
        self.runtime = Runtime(self.held.content, self.who)
        self.inputs = self.runtime.inputs
        self.names = [found.name for found in self.runtime.outputs]
        require(
            output is None or output in self.names,
            f"{self.who} has no output '{output}'; there are {', '.join(self.names)}",
        )
        self.chosen = [output] if output is not None else self.names

    def told(self, what: str) -> list[str] | None:
        """Names of its "columns" or "classes", where the file says them, as those that softlabel exports do."""
        names = self.held.names(what)
        return None if names is None or (all(name.isdigit() for name in names) and what == "columns") else names

    @property
    def parameters(self) -> int:
        """Numbers in the model."""
        return self.held.parameters

    def ask(self, feeds: dict[str, np.ndarray], outputs: Sequence[str]) -> list[Any]:
        """Outputs for inputs by name, batch by batch: arrays (n, …) and lists of n; None for what is neither.

        A model of fixed batch gets its last one filled up.
        """
        rows = len(next(iter(feeds.values())))
        batch = self._fixed_batch(sum(table[:1].nbytes for table in feeds.values()))
        missing = 0 if batch is None else -rows % batch
        if missing:
            feeds = {name: np.concatenate([t, np.repeat(t[-1:], missing, axis=0)]) for name, t in feeds.items()}
        parts = []
        for begin in range(0, rows, batch or BATCH):
            piece = {name: table[begin : begin + (batch or BATCH)] for name, table in feeds.items()}
            try:
                answers: Any = self.runtime.run(outputs, piece)
            except Exception as problem:
                raise InputError(f"{self.who} fails on the data: {reason_of(problem)}") from None
            parts.append([_by_row(answer, len(next(iter(piece.values())))) for answer in answers])
        return [_joined(answers, rows) for answers in zip(*parts, strict=True)]

    def _fixed_batch(self, row_bytes: int) -> int | None:
        """How many rows every call must have, None where any number will do."""
        first = self.inputs[0].shape[0] if self.inputs[0].shape else None
        if not isinstance(first, int) or first < 1:
            return None
        require(
            first * row_bytes <= LARGEST_BATCH,
            f"{self.who} takes batches of {first:,} rows, {readable_bytes(first * row_bytes)} each "
            f"({readable_bytes(LARGEST_BATCH)} is possible): export it for batches of any size",
        )
        return first


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
        found = [row for part in parts for row in part][:rows]
        return found if found[0] and all(row.keys() == found[0].keys() for row in found) else None
    if any(part.shape[1:] != parts[0].shape[1:] for part in parts):
        return None
    return np.concatenate(parts)[:rows]


def as_table(answer: Any, rows: int) -> np.ndarray | None:
    """An answer as (n, K) float64 if it is a table of real numbers, or a list of {class: probability}."""
    if isinstance(answer, list) and len(answer) == rows and all(isinstance(row, dict) for row in answer):
        keys = sorted(answer[0])
        try:
            return np.array([[row[key] for key in keys] for row in answer], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            return None
    if not isinstance(answer, np.ndarray) or answer.dtype.kind != "f" or not answer.size or answer.size % rows:
        return None
    return answer.astype(np.float64).reshape(rows, -1)
