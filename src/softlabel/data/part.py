"""Rows of a problem: inputs, classes, signs and images."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from softlabel.data.scaling import Scaler, norms
from softlabel.errors import InputError, counted, few, require

if TYPE_CHECKING:
    from softlabel.data.problem import Problem

ROUNDING = 1e-6  # by which the norm of a float32 row of norm 1 may exceed 1


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Some rows of a problem, as `problem.train`, `problem.validation`, `problem.test` and `problem.full_train`.

    Attributes
    ----------
    rows : array of shape (n,)
        Row numbers in `problem.X`.
    X : float32 array of shape (n, d)
        Inputs as they were passed.
    y : int64 array of shape (n,)
        Class numbers, positions in `problem.classes`.

    Examples
    --------
    >>> from softlabel.data import load
    >>> part = load("digits").train
    >>> part.X.shape, part.images.shape
    ((1078, 64), (1078, 1, 8, 8))
    """

    problem: "Problem"
    name: str
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{self.name} part of {self.problem.name}: {len(self):,} rows>"

    @cached_property
    def X(self) -> np.ndarray:
        """Inputs as they were passed, float32 (n, d)."""
        return self.problem.X[_slice_if_possible(self.rows)]

    @cached_property
    def y(self) -> np.ndarray:
        """Class numbers, int64 (n,)."""
        return self.problem.y[_slice_if_possible(self.rows)]

    @cached_property
    def scaled(self) -> np.ndarray:
        """Inputs as students see them: scaled by the problem's scaler, float32 (n, d)."""
        return self.problem.scaler.apply(self.X)

    @cached_property
    def in_unit_ball(self) -> np.ndarray:
        """Scaled inputs divided by the largest norm of the `full_train` rows where that exceeds 1, float32 (n, d).

        This is what theory assumes: ‖x‖ ≤ 1 for every row that a certificate is about.
        """
        scaler, full_train = self.problem.scaler, self.problem.full_train
        if scaler.how == "max":  # one division instead of two
            return Scaler("max", full_train.largest_norm(scaled=False)).apply(self.X)
        largest = full_train.largest_norm(scaled=True)
        return self.scaled if largest <= 1 + ROUNDING else np.divide(self.scaled, largest, dtype=np.float32)

    def largest_norm(self, scaled: bool) -> float:
        """Largest Euclidean norm of a row, scaled or as it was passed."""
        return float(norms(self.scaled if scaled else self.X).max())

    @cached_property
    def signs(self) -> np.ndarray:
        """−1 for the first class and +1 for the second, float32 (n,); only for problems of two classes."""
        problem = self.problem
        require(
            len(problem.classes) == 2,
            f"'{problem.name}' has {len(problem.classes)} classes ({few(problem.classes, 10)}), and signs need two: "
            f"choose them with `classes` or `task`, e.g. 'label>1'",
        )
        return np.where(self.y == 1, np.float32(1), np.float32(-1))

    @property
    def images(self) -> np.ndarray:
        """Images with pixels in [0, 1], float32 (n, channels, height, width)."""
        return self.problem.pixels(self.X)


def usable_part(problem: "Problem", name: str) -> Part:
    """A part of the split, if students can be trained and compared: every class must be in every part."""
    everything = np.arange(len(problem.classes))
    absent = {other: np.setdiff1d(everything, problem.y[rows]) for other, rows in problem.parts.items()}
    if any(len(classes) for classes in absent.values()):
        raise _absent_classes(problem, absent)
    part = Part(problem, name, problem.parts[name])
    varies = name != "train" or bool((part.X.min(axis=0) < part.X.max(axis=0)).any())
    require(varies, f"'{problem.name}' has only constant input columns: nothing can be learned from them")
    return part


def _absent_classes(problem: "Problem", absent: dict[str, np.ndarray]) -> InputError:
    """The error for classes that parts lack; `absent` has their numbers by part."""
    rare = [problem.classes[k] for k in np.unique(np.concatenate(list(absent.values()))).tolist()]
    part, classes = next((part, classes) for part, classes in absent.items() if len(classes))
    first, count = problem.classes[classes[0]], int(np.count_nonzero(problem.y == classes[0]))
    others = [name for name in rare if name != first]
    why = f"too few for one in each part ({part} has none)"
    remedy = "collect more"
    if problem.times is not None or problem.groups is not None:
        why = f"none of which {'`time`' if problem.times is not None else '`group`'} puts into the {part} part"
        remedy = "split at random"
    if others:
        why += f", and parts lack rows of {few(others)}, too"
    if len(problem.classes) - len(rare) >= 2:
        remedy += f", or leave {'them' if others else 'it'} out with `leave_out` '{','.join(rare)}'"
    return InputError(f"'{problem.name}': class '{first}' has {counted(count, 'row')}, {why}; {remedy}")


def _slice_if_possible(rows: np.ndarray) -> np.ndarray | slice:
    """Consecutive row numbers as a slice, which copies nothing."""
    consecutive = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if consecutive else rows
