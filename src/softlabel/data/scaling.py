"""The scale of the inputs. Theory wants ‖x‖ ≤ 1 for every training input."""

from dataclasses import dataclass

import numpy as np

from softlabel.errors import InputError, require, unknown

SCALES = ("none", "max", "unit")
_BLOCK = 4096


@dataclass(frozen=True)
class Scaler:
    """A scale learned from training inputs, to be applied to any inputs.

    'none' leaves inputs as they are, 'max' divides by `factor`, the largest norm of the training inputs (so a
    test input may still be longer than 1), and 'unit' divides every input by its own norm.
    """

    how: str
    factor: float = 1.0

    @classmethod
    def fit(cls, inputs: np.ndarray, how: str) -> "Scaler":
        """Learn the scale from training inputs (n, d)."""
        if how not in SCALES:
            raise unknown("scale", how, SCALES)
        if how != "max":
            return cls(how)
        require(len(inputs) > 0, "scale 'max' needs at least one training input, got none")
        largest = float(norms(inputs).max())
        require(
            0 < largest < np.inf,
            f"scale 'max' divides by the largest norm, which is {largest}: mend the inputs or use --scale none",
        )
        return cls(how, largest)

    def apply(self, inputs: np.ndarray) -> np.ndarray:
        """Scaled inputs, float32 (n, d). 'none' gives back the same array."""
        if self.how == "none":
            return inputs
        if self.how == "max":
            return np.divide(inputs, self.factor, dtype=np.float32)
        lengths = norms(inputs)
        zero = np.flatnonzero(lengths == 0)
        if len(zero):
            some = ", ".join(str(row + 1) for row in zero[:5]) + (", ..." if len(zero) > 5 else "")
            raise InputError(
                f"scale 'unit' cannot bring zero inputs to unit norm: {len(zero)} of {len(inputs)} are zero "
                f"(rows {some}, counted from 1); remove them or use --scale max"
            )
        return np.divide(inputs, lengths[:, None], dtype=np.float32)

    def __str__(self) -> str:
        return {
            "none": "inputs as they are",
            "max": f"inputs divided by the largest norm ({self.factor:.4g})",
            "unit": "inputs brought to unit norm",
        }[self.how]


def scale(inputs: np.ndarray, how: str) -> tuple[np.ndarray, Scaler]:
    """Training inputs scaled, and the scaler that does the same to others."""
    scaler = Scaler.fit(inputs, how)
    return scaler.apply(inputs), scaler


def norms(inputs: np.ndarray) -> np.ndarray:
    """The Euclidean norm of every row, in float64 (n,), block by block so that a mapped file is streamed."""
    lengths = np.empty(len(inputs))
    for start in range(0, len(inputs), _BLOCK):
        block = np.asarray(inputs[start : start + _BLOCK], dtype=np.float64)
        lengths[start : start + _BLOCK] = np.linalg.norm(block, axis=1)
    return lengths
