"""Small problems whose truth is known: Gaussian classes, labels drawn from the true probabilities."""

import numpy as np
from scipy.special import expit

from softlabel.data.problem import Problem


class Toy:
    """Two classes in a few dimensions; the label of x is 1 with probability 1/(1 + e^(−sharp·x·w))."""

    def __init__(self, rows: int = 1200, sharp: float = 1.5, seed: int = 0, columns: int = 4) -> None:
        rng = np.random.default_rng(seed)
        self.direction = np.ones(columns) / np.sqrt(columns)
        self.sharp = sharp
        self.inputs = rng.standard_normal((rows, columns)).astype(np.float32)
        self.labels = (rng.random(rows) < self.truth(self.inputs)).astype(int)

    def truth(self, inputs) -> np.ndarray:
        """The true probability of class 1."""
        return expit(self.sharp * np.asarray(inputs) @ self.direction * 2)

    def wrong(self, inputs) -> np.ndarray:
        """A teacher that is sure of the opposite in half of the space."""
        inputs = np.asarray(inputs)
        p = self.truth(inputs)
        return np.where(inputs[:, 0] > 0, 1 - p, p)

    def problem(self, **more) -> Problem:
        return Problem.from_arrays(self.inputs, self.labels, **more)
