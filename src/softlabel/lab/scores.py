"""Metrics as means over test examples, so that one statistics serves them all.

Each metric gives every example a score s_i with mean_i s_i = metric, larger is better:

    accuracy            1 where the most likely class is right
    balanced accuracy   A + n/(K n_c) (right_i − A_c), c the example's class, n_c how many it has, A_c their accuracy,
                        and A the mean of these
    log loss            ln p of the right class: the negative log loss
    auc                 pseudo-values of the area under the curve (DeLong's components): for an example of class c, with
                        V_i the share of the others that it is ranked rightly against,
                        s_i = AUC + n/n_side (V_i − AUC); several classes: the mean over one-against-rest curves

The variance of a mean of pseudo-values is that of DeLong, Var(AUC) = S_pos/n_pos + S_neg/n_neg, but for the factors
n/(n − 1) of its two sides.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import rankdata

from softlabel.errors import unknown

SMALLEST = 1e-12


def accuracy(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Scores (n,) of probabilities (n, K) for class numbers (n,); a tie with another class is a mistake."""
    own = probabilities[np.arange(len(truth)), truth]
    rivals = probabilities.copy()
    rivals[np.arange(len(truth)), truth] = -np.inf
    return (own > rivals.max(axis=1)).astype(np.float64)


def balanced_accuracy(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    present, places, counts = np.unique(truth, return_inverse=True, return_counts=True)
    right = accuracy(probabilities, truth)
    by_class = np.bincount(places, right) / counts
    return by_class.mean() + len(truth) / (len(present) * counts[places]) * (right - by_class[places])


def log_loss(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities[np.arange(len(truth)), truth], SMALLEST))


def auc(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    if probabilities.shape[1] == 2:
        return _pseudo_values(probabilities[:, 1], truth == 1)
    curves = [_pseudo_values(probabilities[:, k], truth == k) for k in np.unique(truth)]
    return np.mean(curves, axis=0)


def _pseudo_values(predicted: np.ndarray, positive: np.ndarray) -> np.ndarray:
    inside, outside = predicted[positive], predicted[~positive]
    ranks = rankdata(predicted)
    right = np.empty(len(predicted))  # share of the other side ranked rightly, ties count half
    right[positive] = (ranks[positive] - rankdata(inside)) / len(outside)
    right[~positive] = 1 - (ranks[~positive] - rankdata(outside)) / len(inside)
    area = float(right[positive].mean())
    side = np.where(positive, len(inside), len(outside))
    return area + len(predicted) / side * (right - area)


METRICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "accuracy": accuracy,
    "balanced accuracy": balanced_accuracy,
    "auc": auc,
    "log loss": log_loss,
}


def unseen(metric: str, class_rows: Sequence[int], failure: float) -> float:
    """What kinds of test examples that were not met may hide, in points: no interval over examples is narrower.

    A kind that none of n examples was has a share of at most ln(1/α)/n, with probability 1 − α. Of metrics that weigh
    classes the rows of each count, with α/K for each of K classes: balanced accuracy is their mean; of a curve both
    sides may hide some. The log loss has no such bound, since a single example may cost any amount.
    """
    rows, classes = sum(class_rows), len(class_rows)
    if metric == "accuracy":
        return 100 * math.log(1 / failure) / rows
    rare = 100 * math.log(classes / failure)
    if metric == "balanced accuracy":
        return sum(rare / count for count in class_rows) / classes
    if metric == "auc":
        return sum(rare / count + (classes - 1) * rare / (rows - count) for count in class_rows) / classes
    return 0.0


def find_metric(name: str) -> str:
    """The metric of this name, however it is spelled (log-loss, balanced_accuracy, AUC)."""
    plain = name.strip().lower().replace("-", " ").replace("_", " ")
    if plain not in METRICS:
        raise unknown("metric", name, [metric.replace(" ", "-") for metric in METRICS])
    return plain


def example_scores(metric: str, probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Every example's score (n,); their mean is the metric (of the log loss: its negative)."""
    return METRICS[metric](np.asarray(probabilities, dtype=np.float64), np.asarray(truth))
