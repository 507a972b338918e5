"""An ONNX file opened by onnxruntime and run batch by batch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import InputError, require
from softlabel.memory import readable_bytes
from softlabel.numerics.local_files import reason_of
from softlabel.teachers.onnx_content import read_onnx
from softlabel.teachers.onnx_runtime import Runtime

BATCH_SIZE = 512
LARGEST_BATCH = 2**30  # bytes of the inputs of one call
FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
TYPES = FLOATS | {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class OnnxSession:
    """A model opened by onnxruntime. Its outputs are `names`; `chosen` is the one to use, or all of them.

    who     how messages call the model
    """

    def __init__(self, path: str | Path, output: str | None = None, who: str | None = None) -> None:
        self.who, self.path = who or f"'{path}'", Path(path)
        self.file = read_onnx(self.path, self.who)
        self.runtime = Runtime(self.file.content, self.who)
        self.inputs = self.runtime.inputs
        self.names = [output.name for output in self.runtime.outputs]
        require(
            output is None or output in self.names,
            f"{self.who} has no output '{output}'; there are {', '.join(self.names)}",
        )
        self.chosen = [output] if output is not None else self.names

    def declared(self, what: str) -> list[str] | None:
        """Names of its "columns" or "classes" if the file declares them, as those exported by softlabel do."""
        names = self.file.names(what)
        return None if names is None or (all(name.isdigit() for name in names) and what == "columns") else names

    @property
    def parameters(self) -> int:
        """Number of parameters of the model."""
        return self.file.parameters

    def run(self, feeds: dict[str, np.ndarray], outputs: Sequence[str]) -> list[Any]:
        """Outputs for inputs by name, computed batch by batch: arrays (n, …) or lists of n; None for anything else.

        For a model with a fixed batch size the last batch is padded.
        """
        rows = len(next(iter(feeds.values())))
        fixed = self._fixed_batch_size(sum(table[:1].nbytes for table in feeds.values()))
        batch_size = fixed or BATCH_SIZE
        missing = 0 if fixed is None else -rows % fixed
        if missing:
            feeds = {name: np.concatenate([t, np.repeat(t[-1:], missing, axis=0)]) for name, t in feeds.items()}
        parts = []
        for begin in range(0, rows, batch_size):
            block = {name: table[begin : begin + batch_size] for name, table in feeds.items()}
            try:
                results: Any = self.runtime.run(outputs, block)
            except Exception as error:
                raise InputError(f"{self.who} fails on the data: {reason_of(error)}") from None
            parts.append([_by_row(result, len(next(iter(block.values())))) for result in results])
        return [_joined(results, rows) for results in zip(*parts, strict=True)]

    def _fixed_batch_size(self, row_bytes: int) -> int | None:
        """Number of rows that every call must have, None if any number will do."""
        first = self.inputs[0].shape[0] if self.inputs[0].shape else None
        if not isinstance(first, int) or first < 1:
            return None
        require(
            first * row_bytes <= LARGEST_BATCH,
            f"{self.who} takes batches of {first:,} rows, {readable_bytes(first * row_bytes)} each (the limit is "
            f"{readable_bytes(LARGEST_BATCH)}): export it for batches of any size",
        )
        return first


def _by_row(result: Any, rows: int) -> Any:
    """A result as an array (rows, …) or a list of one dictionary per row; None if it is neither."""
    if isinstance(result, list):
        return result if len(result) == rows and all(isinstance(row, dict) for row in result) else None
    fits = isinstance(result, np.ndarray) and result.size and not result.size % rows
    return result.reshape(rows, -1) if fits else None


def _joined(parts: Sequence[Any], rows: int) -> Any:
    """Batches of one output as one, (rows, …)."""
    if any(part is None for part in parts):
        return None
    if isinstance(parts[0], list):
        joined = [row for part in parts for row in part][:rows]
        return joined if joined[0] and all(row.keys() == joined[0].keys() for row in joined) else None
    if any(part.shape[1:] != parts[0].shape[1:] for part in parts):
        return None
    return np.concatenate(parts)[:rows]


def as_table(result: Any, rows: int) -> np.ndarray | None:
    """A result as (n, K) float64 if it is a table of real numbers, or a list of {class: probability} (keys sorted)."""
    if isinstance(result, list) and len(result) == rows and all(isinstance(row, dict) for row in result):
        keys = sorted(result[0])
        try:
            return np.array([[row[key] for key in keys] for row in result], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            return None
    if not isinstance(result, np.ndarray) or result.dtype.kind != "f" or not result.size or result.size % rows:
        return None
    return result.astype(np.float64).reshape(rows, -1)
