"""Whether probabilities rank rows: rows of a class get higher ones than other rows, beyond chance."""

import numpy as np
from scipy.stats import mannwhitneyu

LEVEL = 0.01


def ranking(probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, bool]:
    """Mean AUC of the classes, each against all others, and whether one of them is above 0.5 beyond chance.

    probabilities   (n, K)
    labels          (n,) class numbers; a class without rows, or without other rows, is left out
    """
    columns = range(1, 2) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    areas, chances = [], []
    for column in columns:
        own = labels == column
        if own.all() or not own.any():
            continue
        test = mannwhitneyu(probabilities[own, column], probabilities[~own, column], alternative="greater")
        areas.append(float(test.statistic) / (own.sum() * (~own).sum()))
        chances.append(float(test.pvalue))
    if not areas:
        return 0.5, False
    return float(np.mean(areas)), len(areas) * float(np.min(chances)) < LEVEL
