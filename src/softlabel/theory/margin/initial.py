"""γ_m, the margin of a student at initialization."""

from typing import Any

import numpy as np
import torch

from softlabel.errors import require
from softlabel.theory.margin.points import checked_points
from softlabel.theory.margin.sample import SampleProblem, solve_sample


def init_margin(inputs: Any, y: Any, weights: Any) -> float:
    """The margin γ_m of a student at initialization (Lemma 6).

    It is the separation margin with the student's hidden weights in place of Gaussian directions.

    Parameters
    ----------
    inputs, y : array-like of shape (n, d) and (n,)
        Examples with norms ‖x‖ ≤ 1, and their labels −1 and +1.
    weights : array-like of shape (m, d)
        Initial hidden weights. Equal rows (the pairs of a symmetric initialization) count once.

    Returns
    -------
    float
        A lower bound on γ_m, to a relative accuracy of 1e-4; 0 if no teacher on these directions fits every label.

    Examples
    --------
    >>> import softlabel as sl
    >>> round(sl.init_margin([[1.0, 0.0], [0.0, 1.0]], [1, -1], [[1.0, 1.0], [1.0, -1.0]]), 3)
    0.5
    """
    x, y = checked_points(inputs, y)
    directions = np.asarray(weights, dtype=np.float64)
    require(
        directions.ndim == 2 and len(directions) > 0 and directions.shape[1] == x.shape[1],
        f"`weights` must have {x.shape[1]} columns like the inputs, got shape {directions.shape}",
    )
    require(bool(np.isfinite(directions).all()), "`weights` must be finite")
    directions = np.unique(directions, axis=0)
    problem = SampleProblem(torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(directions), single=True)
    solution = solve_sample(problem, np.ones(len(x)), tolerance=1e-4, evaluations=3000)
    return max(0.0, solution.lower)
