"""The test rows of a study of the papers, and which of them a network gets right."""

import numpy as np

from softlabel.data import Part, Problem, split
from softlabel.lab.cells import CellResult


def known_and_test(problem: Problem, test_share: float = 0.2) -> tuple[Part, Part]:
    """All rows for training and validation, and the test rows, which are the same for all seeds.

    Test rows are those that came with the data; where none did, a share of all rows, and the scale of the inputs is
    learned again without them.
    """
    if not problem.official_test:
        _, cut = split(len(problem), (1 - test_share, test_share), seed=1, stratify=problem.y, salt=0)
        problem = problem.with_split(problem.scaler.how, test=cut)
    return problem.full_train, problem.test


def right_rows(result: CellResult, examples: int) -> np.ndarray:
    """Which test rows the network of a cell gets right, (examples,); eight are stored in a byte."""
    return np.unpackbits(result.arrays["correct"], count=examples).astype(bool)
