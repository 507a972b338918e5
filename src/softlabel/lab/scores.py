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
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from softlabel.errors import unknown
from softlabel.lab.statistics import Estimate

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


def unseen(metric: str, class_rows: Sequence[int], failure: float, farthest: float | None = None) -> float:
    """What kinds of test examples that were not met may hide, in points.

    A kind of examples with shares p_c of the classes was met by none of n_c examples each with probability
    Π (1 − p_c)^n_c ≤ exp(−Σ n_c p_c). If an example of class c costs w_c points of a class's share, the kind hides
    Σ w_c p_c, and with probability 1 − α no more than

        ln(1/α) max_c w_c/n_c

    accuracy            w_c = n_c/n: a kind may be predicted rightly by one arm and wrongly by the other
    balanced accuracy   w_c = 1/K, the same in each of K classes
    auc                 scores are continuous, so that differences of the usual size are always met; a kind that was
                        not met is taken to lie no farther from the gap than the farthest example that was (`farthest`,
                        in points): w_c = farthest n_c/n. Without `farthest`, one arm may rank the kind perfectly and
                        the other one at the wrong end
    log loss            no bound: a single example may cost any amount
    """
    counts = [count for count in class_rows if count > 0]
    rows, classes = sum(counts), len(counts)
    if metric == "accuracy":
        return 100 * math.log(1 / failure) / rows
    rare = math.log(1 / failure)
    if metric == "balanced accuracy":
        return 100 * rare / (classes * min(counts))
    if metric == "auc" and farthest is not None:
        return rare * farthest / rows
    if metric == "auc":
        others = sum(1 / (rows - count) for count in counts)
        return 100 * rare * max((1 / count + others - 1 / (rows - count)) / classes for count in counts)
    return 0.0


@dataclass(frozen=True)
class Unmet:
    """Kinds of test examples that were not met: by how much they widen an interval over examples.

    What they hide (`unseen`) is the least half-width over examples. Of the AUC it is joined to the half-width that was
    measured, in quadrature: few rows of a class have skewed scores, which Student's interval covers too seldom.
    Where classes are nearly separated (areas of 0.97 and above that differ), the far end of the interval still misses
    the gap more often than it should (`python -m benchmarks.cross_test`).
    """

    metric: str
    class_rows: tuple[int, ...]

    @property
    def joined(self) -> bool:
        return self.metric == "auc"

    def points(self, estimate: Estimate, failure: float, unit: float = 1.0) -> float:
        """Points that they may hide; `unit`: points per unit of the estimate."""
        return unseen(self.metric, self.class_rows, failure, unit * estimate.farthest)

    def widen(self, estimate: Estimate, failure: float, unit: float = 1.0) -> Estimate:
        """The estimate with the variance of examples raised accordingly."""
        half = self.points(estimate, failure, unit) / unit
        return estimate.joined_with(half, failure) if self.joined else estimate.at_least(half, failure)


def find_metric(name: str) -> str:
    """The metric of this name, however it is spelled (log-loss, balanced_accuracy, AUC)."""
    plain = name.strip().lower().replace("-", " ").replace("_", " ")
    if plain not in METRICS:
        raise unknown("metric", name, [metric.replace(" ", "-") for metric in METRICS])
    return plain


def example_scores(metric: str, probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Every example's score (n,); their mean is the metric (of the log loss: its negative)."""
    return METRICS[metric](np.asarray(probabilities, dtype=np.float64), np.asarray(truth))
