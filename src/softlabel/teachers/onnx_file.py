"""A teacher in an ONNX file, asked through onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import InputError, require

BATCH = 512


class OnnxTeacher:
    """Logits of a model in an ONNX file for images (n, channels, height, width).

    output      name of the output to take; by default the first table of numbers with a column for every class
    scale       what pixels in [0, 1] are multiplied by for it
    Probabilities are told from logits by their values (not negative, rows adding up to 1) and become their logarithms.
    """

    def __init__(self, path: str | Path, classes: int, output: str | None = None, scale: float = 1.0) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as problem:
            reason = str(problem).splitlines()[0]
            raise InputError(f"teacher '{path}' cannot be read as an ONNX model: {reason}") from None
        self.path, self.classes, self.scale = Path(path), classes, scale
        given = self.session.get_inputs()
        require(len(given) == 1, f"teacher '{path}' takes {len(given)} inputs; one is needed")
        self.given = given[0]
        names = [found.name for found in self.session.get_outputs()]
        require(
            output is None or output in names,
            f"teacher '{path}' has no output '{output}'; there are {', '.join(names)}",
        )
        self.names = [output] if output is not None else names
        self.probabilities: bool | None = None

    def __call__(self, pixels: Tensor) -> Tensor:
        """Logits (n, classes)."""
        prepared = self._prepared(pixels)
        fixed = self.given.shape[0] if isinstance(self.given.shape[0], int) else None
        batch = fixed or BATCH
        require(
            fixed is None or len(prepared) % fixed == 0 or fixed == 1,
            f"teacher '{self.path}' takes batches of exactly {fixed} images; export it with a batch of any size",
        )
        parts = [self._ask(prepared[begin : begin + batch]) for begin in range(0, len(prepared), batch)]
        return torch.from_numpy(np.concatenate(parts))

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
        tables = [
            np.asarray(answer, dtype=np.float32) for answer in answers
            if isinstance(answer, np.ndarray) and answer.dtype.kind == "f"
        ]  # fmt: skip
        tables = [table.reshape(len(images), -1) for table in tables if table.size % len(images) == 0]
        columns = [table.shape[1] for table in tables]
        found = next((table for table in tables if table.shape[1] == self.classes), None)
        if found is None and self.classes == 2:
            one = next((table for table in tables if table.shape[1] == 1), None)
            found = None if one is None else self._two(one)
        if found is None:
            raise InputError(
                f"teacher '{self.path}' answers with {columns or 'no'} columns, the data have {self.classes} classes"
            )
        require(bool(np.isfinite(found).all()), f"teacher '{self.path}' answers with values that are not finite")
        return self._logits(found)

    def _two(self, one: np.ndarray) -> np.ndarray:
        """Two columns from one: a probability of class 1, or its log-odds."""
        if one.min() >= 0 and one.max() <= 1:
            return np.concatenate([1 - one, one], axis=1)
        return np.concatenate([np.zeros_like(one), one], axis=1)

    def _logits(self, table: np.ndarray) -> np.ndarray:
        if self.probabilities is None:
            self.probabilities = bool(table.min() >= 0 and np.abs(table.sum(1) - 1).max() < 1e-3)
        return np.log(np.maximum(table, 1e-12)) if self.probabilities else table
