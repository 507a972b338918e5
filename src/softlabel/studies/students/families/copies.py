"""Soft labels for learners that know hard labels and sample weights: weighted copies of rows.

A row with the label distribution p is repeated once for every class k with weight p_k, so that the weighted loss is the
cross-entropy of p. Copies with p_k < 0.001 are left out. Where all copies would be too many, a row has two: its most
probable class with weight p_max, and another class, drawn with probabilities p_k/(1 − p_max), with weight 1 − p_max:
right on average.
"""

import numpy as np

SMALLEST = 1e-3
LARGEST = 2**28  # numbers in the table of copies, beyond which each row has two


def weighted_copies(
    targets: np.ndarray, columns: int, seed: int = 0, most: int = LARGEST
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers, class numbers and weights of the copies, for label distributions (n, K).

    columns     of a row, by which the size of the table of copies is known
    """
    n, classes = targets.shape
    kept = targets >= SMALLEST
    for absent in np.flatnonzero(~kept.any(axis=0)):  # a class of which no row is left: keep its most probable one
        kept[targets[:, absent].argmax(), absent] = True
    rows, labels = np.nonzero(kept)
    if len(rows) * columns <= most or len(rows) <= 2 * n:
        return rows, labels, np.maximum(targets[rows, labels], 1e-12)
    best = targets.argmax(axis=1)
    rest = targets.copy()
    rest[np.arange(n), best] = 0
    share = rest.sum(axis=1)
    drawn = (rest.cumsum(axis=1) > (np.random.default_rng(seed).random(n) * share)[:, None]).argmax(axis=1)
    second = np.flatnonzero(share >= SMALLEST)
    rows = np.concatenate([np.arange(n), second])
    labels = np.concatenate([best, drawn[second]])
    weights = np.concatenate([1 - share, share[second]])
    missing = np.setdiff1d(np.arange(classes), labels)
    rows = np.concatenate([rows, targets[:, missing].argmax(axis=0)])
    weights = np.concatenate([weights, np.maximum(targets[:, missing].max(axis=0), 1e-12)])
    return rows, np.concatenate([labels, missing]), weights
