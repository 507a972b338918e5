"""A data set with a large margin: two opposite clusters, one per class."""

import numpy as np

from softlabel.teachers import KernelLimitTeacher
from softlabel.theory.margin import margin


def clusters(n: int = 50, d: int = 5, spread: float = 0.25, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = y[:, None] * (np.eye(d)[0] + spread * rng.standard_normal((n, d)))
    return x / np.linalg.norm(x, axis=1, keepdims=True), y


def easy_teacher(kappa: float = 1.0, **shape) -> tuple[np.ndarray, np.ndarray, KernelLimitTeacher]:
    x, y = clusters(**shape)
    return x, y, KernelLimitTeacher.from_margin(margin(x, y, time_limit=20, rtol=0.05), x, y, kappa)
