"""The scale of the inputs. Theory wants ‖x‖ ≤ 1 for every training input."""

from dataclasses import dataclass

import numpy as np

from softlabel.errors import InputError, require, unknown

SCALES = ("none", "max", "unit", "standard")
_BLOCK = 4096


@dataclass(frozen=True)
class Scaler:
    """A scale learned from training inputs, to be applied to any inputs.

    'none' leaves inputs as they are, 'max' divides by `factor`, the largest norm of the training inputs (so a
    test input may still be longer than 1), 'unit' divides every input by its own norm, and 'standard' brings every
    column to mean 0 and standard deviation 1 (`shift`, `spread`), and a typical input to norm 1 (`factor` = √d).
    """

    how: str
    factor: float = 1.0
    shift: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()

    @classmethod
    def fit(cls, inputs: np.ndarray, how: str, weights: np.ndarray | None = None) -> "Scaler":
        """Learn the scale from training inputs (n, d); `weights` (n,) count rows in means and deviations."""
        if how not in SCALES:
            raise unknown("scale", how, SCALES)
        if how in ("none", "unit"):
            return cls(how)
        require(len(inputs) > 0, f"scale '{how}' needs at least one training input, got none")
        if how == "standard":
            return cls._standard(np.asarray(inputs, dtype=np.float64), weights)
        largest = float(norms(inputs).max())
        require(
            0 < largest < np.inf,
            f"scale 'max' divides by the largest norm, which is {largest}: mend the inputs or use --scale none",
        )
        return cls(how, largest)

    @classmethod
    def _standard(cls, inputs: np.ndarray, weights: np.ndarray | None) -> "Scaler":
        mean = np.average(inputs, axis=0, weights=weights)
        deviation = np.sqrt(np.average((inputs - mean) ** 2, axis=0, weights=weights))
        constant = deviation <= 1e-9 * np.maximum(np.abs(mean), 1e-300)
        spread = np.where(constant, 1.0, deviation)
        return cls("standard", float(np.sqrt(inputs.shape[1])), tuple(mean.tolist()), tuple(spread.tolist()))

    def apply(self, inputs: np.ndarray, dtype: type[np.floating] = np.float32) -> np.ndarray:
        """Scaled inputs (n, d). 'none' gives back the same array."""
        if self.how == "none":
            return inputs
        if self.how == "max":
            return np.divide(inputs, self.factor, dtype=dtype)
        if self.how == "standard":
            away = np.asarray(inputs, dtype=np.float64) - np.array(self.shift)
            return (away / (np.array(self.spread) * self.factor)).astype(dtype)
        lengths = norms(inputs)
        zero = np.flatnonzero(lengths == 0)
        if len(zero):
            some = ", ".join(str(row + 1) for row in zero[:5]) + (", ..." if len(zero) > 5 else "")
            raise InputError(
                f"scale 'unit' cannot bring zero inputs to unit norm: {len(zero)} of {len(inputs)} are zero "
                f"(rows {some}, counted from 1); remove them or use --scale max"
            )
        return np.divide(inputs, lengths[:, None], dtype=dtype)

    def checked(self) -> "Scaler":
        """The scale itself, if it is one that can be applied."""
        if self.how not in SCALES:
            raise unknown("scale", str(self.how), SCALES)
        require(
            isinstance(self.factor, int | float) and 0 < self.factor < np.inf,
            f"the factor of a scale must be a positive number, got {self.factor!r}",
        )
        count = len(self.shift)
        require(
            len(self.spread) == count and (count > 0) == (self.how == "standard"),
            f"scale '{self.how}' does not go with {count} means and {len(self.spread)} deviations",
        )
        require(all(0 < value < np.inf for value in self.spread), "deviations of a scale must be positive numbers")
        return self

    def __str__(self) -> str:
        return {
            "none": "inputs as they are",
            "max": f"inputs divided by the largest norm ({self.factor:.4g})",
            "unit": "inputs brought to unit norm",
            "standard": "columns brought to mean 0 and deviation 1, typical norm 1",
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
