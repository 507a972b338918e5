"""The scale of the inputs. Theory assumes ‖x‖ ≤ 1 for every training input."""

from dataclasses import dataclass

import numpy as np

from softlabel.errors import InputError, require, unknown

SCALES = ("none", "max", "unit", "standard")
_BLOCK = 4096


@dataclass(frozen=True)
class Scaler:
    """A scale that is learned from training inputs and applied to any inputs.

    Attributes
    ----------
    how : {'none', 'max', 'unit', 'standard'}
        'none' leaves inputs unchanged. 'max' divides by `factor`, the largest norm of the training inputs (the norm of
        a test input may still exceed 1). 'unit' divides every input by its norm. 'standard' brings every column to
        mean 0 and standard deviation 1 (`shift`, `spread`) and a typical input to norm 1 (`factor` = √d).
    factor : float
        Divisor of all inputs.
    shift, spread : tuple of float
        Mean and standard deviation of each column, for 'standard'.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> sl.Scaler.fit(np.array([[3.0, 4.0], [0.0, 1.0]]), "max").factor
    5.0
    """

    how: str
    factor: float = 1.0
    shift: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()

    @classmethod
    def fit(cls, inputs: np.ndarray, how: str, weights: np.ndarray | None = None) -> "Scaler":
        """Learn the scale from training inputs (n, d); `weights` (n,) weight the rows in means and deviations."""
        if how not in SCALES:
            raise unknown("scale", how, SCALES)
        if how in ("none", "unit"):
            return cls(how)
        require(len(inputs) > 0, f"`scale` '{how}' needs at least one training input, got none")
        if how == "standard":
            return cls._standard(np.asarray(inputs, dtype=np.float64), weights)
        largest = float(norms(inputs).max())
        require(
            0 < largest < np.inf,
            f"`scale` 'max' divides by the largest norm, which is {largest}: fix the inputs or use `scale` 'none'",
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
        """Scaled inputs (n, d); 'none' returns the same array."""
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
                f"`scale` 'unit' cannot bring zero inputs to unit norm: {len(zero)} of {len(inputs)} rows are zero "
                f"(rows {some}, counted from 1); remove them or use `scale` 'max'"
            )
        return np.divide(inputs, lengths[:, None], dtype=dtype)

    def checked(self) -> "Scaler":
        """The scale itself, if it can be applied; otherwise an error."""
        if self.how not in SCALES:
            raise unknown("scale", str(self.how), SCALES)
        require(
            isinstance(self.factor, int | float) and 0 < self.factor < np.inf,
            f"the factor of a scale must be a positive number, got {self.factor!r}",
        )
        count = len(self.shift)
        require(
            len(self.spread) == count and (count > 0) == (self.how == "standard"),
            f"`scale` '{self.how}' cannot have {count} means and {len(self.spread)} deviations",
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


def norms(inputs: np.ndarray) -> np.ndarray:
    """Euclidean norm of every row, float64 (n,), block by block so that a memory-mapped file is streamed."""
    lengths = np.empty(len(inputs))
    for start in range(0, len(inputs), _BLOCK):
        block = np.asarray(inputs[start : start + _BLOCK], dtype=np.float64)
        lengths[start : start + _BLOCK] = np.linalg.norm(block, axis=1)
    return lengths
