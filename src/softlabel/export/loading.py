"""`load_model`: the one door to a student or another classifier in a file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import InputError, require
from softlabel.export.deep import KIND as DEEP
from softlabel.export.deep import load_student
from softlabel.export.numpy_file import read_numpy_student
from softlabel.export.onnx_model import OnnxModel
from softlabel.networks.softening import UNCHANGED, Softening
from softlabel.networks.student_model import FORMAT as TWO_LAYER
from softlabel.networks.student_model import StudentModel
from softlabel.networks.two_layer import FORMAT as BARE
from softlabel.numerics.local_files import local_path
from softlabel.numerics.tensor_files import opened_tensors

ENDINGS = (".safetensors", ".npz", ".onnx")


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier that was read from a file.

    kind        "two-layer student", "deep student" or "ONNX model"
    softening   of the labels that it was trained on, where it is a student of ours: whether its outputs are
                probabilities
    classes     names of the classes, numbers where the file has none
    columns     names of the input columns of a table, None where they have none
    shape       of one input: (columns,), or (channels, height, width) for images with pixels in [0, 1]
    """

    path: Path
    kind: str
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None
    shape: tuple[int, ...]
    answer: Callable[[np.ndarray], np.ndarray]
    softening: Softening = UNCHANGED

    @property
    def takes_images(self) -> bool:
        return len(self.shape) == 3

    def probabilities(self, inputs: Any) -> np.ndarray:
        """(n, K), rows adding up to 1, for inputs (n, *shape) as they stand in the user's file.

        Of a student that was trained on softened labels they are softened too, see `softening`.
        """
        held = np.asarray(inputs)
        wanted = "(n, channels, height, width)" if self.takes_images else "(n, columns)"
        require(
            held.dtype.kind in "biuf" and held.shape[1:] == self.shape and len(held) > 0,
            f"'{self.path}' takes numbers {wanted} = {('n', *self.shape)}, got {held.dtype} of shape {held.shape}",
        )
        found = self.answer(held)
        lost = np.flatnonzero(~np.isfinite(found).all(axis=1))
        require(
            not len(lost),
            f"'{self.path}' has no finite answer for {len(lost)} of {len(found)} inputs (first in row "
            f"{lost[0] + 1 if len(lost) else 0}): look for missing, infinite or all-zero inputs",
        )
        require(
            found.shape == (len(held), len(self.classes)),
            f"'{self.path}' answers with shape {found.shape} for {len(held)} inputs and {len(self.classes)} classes",
        )
        return found


def load_model(path: str | Path) -> Model:
    """A student in a .safetensors file (two-layer or deep) or an exported .npz file, or a classifier in an .onnx file.

    The .py file of a NumPy predictor is refused: it is code, and no code is run from a file.
    """
    path = local_path(path)
    ending = path.suffix.lower()
    require(not path.is_dir(), f"'{path}' is a folder: name a model in it ({', '.join(ENDINGS)})")
    require(path.exists(), f"there is no model '{path}': check its path")
    if ending == ".py":
        beside = [path.with_suffix(other).name for other in ENDINGS if path.with_suffix(other).is_file()]
        remedy = f"name {' or '.join(beside)} beside it" if beside else f"name its {' or '.join(ENDINGS)} file"
        raise InputError(f"'{path}' is Python code, which is never run from here: {remedy}")
    require(ending in ENDINGS, f"'{path}' is no model: a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file is needed")
    if ending == ".onnx":
        model = OnnxModel(path)
        return Model(
            path, "ONNX model", model.classes, model.columns, model.shape, model.probabilities, model.softening
        )
    if ending == ".npz":
        return _two_layer(path, read_numpy_student(path))
    form = _format(path)
    if form == TWO_LAYER:
        return _two_layer(path, StudentModel.load(path))
    if form == DEEP:
        return _deep(path)
    if form == BARE:
        raise InputError(
            f"'{path}' holds a network alone, without scale and class names: put it into a StudentModel and save that"
        )
    raise InputError(f"'{path}' is a safetensors file, but not one of a student")


def _two_layer(path: Path, student: StudentModel) -> Model:
    return Model(
        path, "two-layer student", student.classes, student.columns, (student.network.inputs,), student.probabilities,
        student.softening,
    )  # fmt: skip


def _format(path: Path) -> str | None:
    with opened_tensors(path, "student") as file:
        return (file.metadata() or {}).get("format")


def _deep(path: Path) -> Model:
    import torch

    from softlabel.networks.deep import network_logits

    network, about = load_student(path)

    def answer(pixels: np.ndarray) -> np.ndarray:
        held = torch.from_numpy(np.ascontiguousarray(pixels, dtype=np.float32))
        return network_logits(network, held).double().softmax(1).numpy()

    return Model(
        path, "deep student", tuple(about["classes"]), None, tuple(about["image"]), answer, Softening.from_dict(about)
    )
