"""Unlabeled rows for a problem: read as its inputs are, and none of them a row that results are measured on."""

import numpy as np

from softlabel.data.joining import meets
from softlabel.data.problem import Problem
from softlabel.errors import require


def without_evaluation_rows(problem: Problem, rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Unlabeled rows (u, d) that are not validation or test rows of the problem, and how many were removed."""
    new = ~meets(rows, np.concatenate([problem.validation.X, problem.test.X]))
    require(bool(new.any()), "every unlabeled row is a validation or test row of the data: provide other rows")
    return rows[new], int((~new).sum())
