"""Small students with weights drawn by a seed, and inputs for them."""

import numpy as np
import torch

from softlabel.data.scaling import Scaler
from softlabel.networks.student_model import StudentModel
from softlabel.networks.two_layer import TwoLayer

COLUMNS = ("age", "weight", "height")
NAMES = ("no", "yes", "perhaps", "café", "[b]?")


def inputs(n: int = 40, centre: float = 0.0, seed: int = 0) -> np.ndarray:
    """Raw inputs (n, 3), float32."""
    return (centre + np.random.default_rng(seed).standard_normal((n, 3))).astype(np.float32)


def network(
    classes: int = 2,
    activation: str = "relu",
    dtype: torch.dtype = torch.float32,
    size: float = 2.0,
    width: int = 8,
    biases: bool = True,
    seed: int = 0,
) -> TwoLayer:
    rng = np.random.default_rng(seed)
    outputs = 1 if classes == 2 else classes
    shapes = [(width, 3), (outputs, width), *([(width,), (outputs,)] if biases else [])]
    tensors = [torch.tensor(size * rng.standard_normal(shape), dtype=dtype) for shape in shapes]
    return TwoLayer(*tensors, activation=activation)


def student(
    classes: int = 2, scale: str = "standard", columns: tuple[str, ...] | None = COLUMNS, centre: float = 0.0, **rest
) -> StudentModel:
    """A student whose scale comes from `inputs(centre=centre)`."""
    scaler = Scaler.fit(inputs(centre=centre), scale)
    return StudentModel(network(classes, **rest), scaler, NAMES[:classes], columns)
