"""A teacher in an ONNX file, asked through onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import InputError, require

BATCH = 512
KINDS = ("logits", "probabilities")


class OnnxTeacher:
    """Logits of a model in an ONNX file for images (n, channels, height, width).

    output      name of the output to take; by default the first table of numbers with a column for every class
    scale       what pixels in [0, 1] are multiplied by for it
    kind        "logits" or "probabilities" (which become their logarithms); by default `decide` tells them apart
    A single column stands for class 1 of two: its log-odds, or its probability.
    """

    def __init__(
        self, path: str | Path, classes: int, output: str | None = None, scale: float = 1.0, kind: str | None = None
    ) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as problem:
            reason = str(problem).splitlines()[0]
            raise InputError(f"teacher '{path}' cannot be read as an ONNX model: {reason}") from None
        require(kind is None or kind in KINDS, f"an ONNX teacher answers with logits or probabilities, not '{kind}'")
        self.path, self.classes, self.scale, self.kind = Path(path), classes, scale, kind
        given = self.session.get_inputs()
        require(len(given) == 1, f"teacher '{path}' takes {len(given)} inputs; one is needed")
        self.given = given[0]
        names = [found.name for found in self.session.get_outputs()]
        require(
            output is None or output in names,
            f"teacher '{path}' has no output '{output}'; there are {', '.join(names)}",
        )
        self.names = [output] if output is not None else names

    @property
    def parameters(self) -> int:
        """Numbers in the model's initialisers."""
        import onnx

        model = onnx.load(str(self.path))
        return int(sum(np.prod(tensor.dims, dtype=np.int64) for tensor in model.graph.initializer))

    def decide(self, pixels: Tensor) -> str:
        """Tell probabilities from logits by all these answers: none negative, and rows adding up to 1."""
        if self.kind is None:
            table = self.columns(pixels)
            sums = table.sum(1) if table.shape[1] > 1 else np.ones(len(table))
            self.kind = KINDS[bool(table.min() >= 0 and table.max() <= 1 and np.abs(sums - 1).max() < 1e-3)]
        return self.kind

    def __call__(self, pixels: Tensor) -> Tensor:
        """Logits (n, classes); what kind of answers these are must be known or is decided by these."""
        kind = self.decide(pixels)
        table = self.columns(pixels)
        if table.shape[1] == 1:
            table = np.concatenate([1 - table if kind == "probabilities" else np.zeros_like(table), table], axis=1)
        return torch.from_numpy(np.log(np.maximum(table, 1e-12)) if kind == "probabilities" else table)

    def columns(self, pixels: Tensor) -> np.ndarray:
        """The model's answers as they are, (n, classes) or (n, 1)."""
        prepared = self._prepared(pixels)
        fixed = self.given.shape[0] if isinstance(self.given.shape[0], int) else None
        batch = fixed or BATCH
        missing = 0 if fixed is None else -len(prepared) % fixed
        if missing:  # a model of fixed batch gets its last one filled up
            prepared = np.concatenate([prepared, np.repeat(prepared[-1:], missing, axis=0)])
        parts = [self._ask(prepared[begin : begin + batch]) for begin in range(0, len(prepared), batch)]
        return np.concatenate(parts)[: len(prepared) - missing]

    def _prepared(self, pixels: Tensor) -> np.ndarray:
        """Images as the model takes them: channels first or last, or flat."""
        shape, image = self.given.shape, tuple(pixels.shape[1:])
        wanted = tuple(side if isinstance(side, int) else None for side in shape[1:])

        def fits(candidate: tuple[int, ...]) -> bool:
            sides = zip(wanted, candidate, strict=True)
            return len(wanted) == len(candidate) and all(want in (None, have) for want, have in sides)

        held = pixels.detach().cpu().float().numpy() * np.float32(self.scale)
        if len(wanted) == 3 and fits(image):
            return np.ascontiguousarray(held)
        if len(wanted) == 3 and fits((*image[1:], image[0])):
            return np.ascontiguousarray(held.transpose(0, 2, 3, 1))
        if len(wanted) == 1 and fits((int(np.prod(image)),)):
            return held.reshape(len(held), -1)
        raise InputError(
            f"teacher '{self.path}' takes inputs of shape {tuple(shape)}, images are {image} (channels, height, width)"
        )

    def _ask(self, images: np.ndarray) -> np.ndarray:
        kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}.get(self.given.type)
        require(kind is not None, f"teacher '{self.path}' takes {self.given.type}; float or double is needed")
        try:
            answers: Any = self.session.run(self.names, {self.given.name: images.astype(kind)})
        except Exception as problem:
            raise InputError(f"teacher '{self.path}' fails on the images: {str(problem).splitlines()[0]}") from None
        tables = [table for answer in answers if (table := _table(answer, len(images))) is not None]
        found = next((table for table in tables if table.shape[1] == self.classes), None)
        if found is None and self.classes == 2:
            found = next((table for table in tables if table.shape[1] == 1), None)
        if found is None:
            columns = [table.shape[1] for table in tables]
            raise InputError(
                f"teacher '{self.path}' answers with {columns or 'no'} columns, the data have {self.classes} classes"
            )
        require(bool(np.isfinite(found).all()), f"teacher '{self.path}' answers with values that are not finite")
        return found


def _table(answer: Any, rows: int) -> np.ndarray | None:
    """An answer as a table of numbers, if it is one; a list of {class: probability} counts, classes in order."""
    if isinstance(answer, list) and len(answer) == rows and all(isinstance(row, dict) for row in answer):
        keys = sorted(answer[0])
        return np.array([[row[key] for key in keys] for row in answer], dtype=np.float32)
    if not isinstance(answer, np.ndarray) or answer.dtype.kind != "f" or answer.size % rows:
        return None
    return np.asarray(answer, dtype=np.float32).reshape(rows, -1)
