"""Whether a teacher was fitted on rows of the data: it predicts them better than other rows, beyond chance.

The parts of a random split are exchangeable for a teacher that saw none of their rows, so what it predicts for them has
the same distribution. Training rows are compared with the other rows, and training and validation rows with test rows,
each in two ways: whether rows are right (Fisher's exact test) and the log loss of each row (rank test of Mann and
Whitney). A difference counts if one of the four p-values is below LEVEL / 4, so that at most a share LEVEL of honest
teachers draws a false alarm, and if it is large enough to matter.

Rows of a group are not independent: the mean losses of groups are compared. Test rows that came with the data may be
different from the others, so only the parts made here are compared; parts in the order of time are not compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from scipy.stats import fisher_exact, mannwhitneyu

from softlabel.data.problem import Problem
from softlabel.teachers.predictions import TeacherPredictions

LEVEL = 0.01
FEWEST_ROWS = 10
ACCURACY_GAP, LOSS_SHARE = 0.01, 0.1  # smaller differences do not matter


@dataclass(frozen=True)
class InSample:
    """Parts that a teacher predicts better than others, with accuracy and log loss of both sides.

    p   p-value of the difference, corrected for the number of comparisons
    """

    better: tuple[str, ...]
    worse: tuple[str, ...]
    accuracy: tuple[float, float]
    loss: tuple[float, float]
    p: float

    def __str__(self) -> str:
        (right, wrong), (low, high) = self.accuracy, self.loss
        if set(self.better) == {"test"}:
            meaning = (
                "it was probably fitted on rows that are tested here, so its scores there are too good; fit it without "
                "them"
            )
        else:
            meaning = (
                "it was probably fitted on them, so part of its soft labels there is memorized; use out-of-fold "
                "predictions for these rows (teacher 'auto' makes them)"
            )
        return (
            f"the teacher is better on {_joined(self.better)} rows (accuracy {right:.1%}, log loss {low:.3f}) than on "
            f"{_joined(self.worse)} rows ({wrong:.1%}, {high:.3f}), beyond chance (p = {max(self.p, 1e-99):.1g}): "
            f"{meaning}"
        )


def in_sample(problem: Problem, predictions: TeacherPredictions) -> InSample | None:
    """Which rows of a problem a teacher was probably fitted on; None if nothing indicates that."""
    if predictions.out_of_fold or problem.times is not None:
        return None
    cuts = [(("train",), ("validation", "test")), (("train", "validation"), ("test",))]
    if problem.official_test:
        cuts = [(("train",), ("validation",))]
    differences = [_difference(problem, predictions, *cut) for cut in cuts]
    known = [difference for difference in differences if difference is not None]
    if not known:
        return None
    clearest = min(known, key=lambda difference: difference.p)
    corrected = min(1.0, len(cuts) * clearest.p)
    if corrected > LEVEL or not _matters(clearest):
        return None
    return InSample(clearest.better, clearest.worse, clearest.accuracy, clearest.loss, corrected)


def _difference(
    problem: Problem, predictions: TeacherPredictions, first: tuple[str, ...], second: tuple[str, ...]
) -> InSample | None:
    """The difference between two groups of parts with its p-value; None if one of them has too few rows."""
    sides = [_outcomes(problem, predictions, parts) for parts in (first, second)]
    (rights, losses, units), (other_rights, other_losses, other_units) = sides
    if min(len(rights), len(other_rights)) < FEWEST_ROWS:
        return None
    loss_test = mannwhitneyu(units, other_units)
    p = float(loss_test.pvalue)
    if problem.groups is None:
        table = [[int(side.sum()), int((~side).sum())] for side in (rights, other_rights)]
        exact: Any = fisher_exact(table)
        p = min(1.0, 2 * min(p, float(exact.pvalue)))
    accuracy = float(rights.mean()), float(other_rights.mean())
    loss = float(losses.mean()), float(other_losses.mean())
    ahead = 2 * loss_test.statistic <= len(units) * len(other_units)
    if ahead:
        return InSample(first, second, accuracy, loss, p)
    return InSample(second, first, (accuracy[1], accuracy[0]), (loss[1], loss[0]), p)


def _outcomes(
    problem: Problem, predictions: TeacherPredictions, parts: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the rows of some parts: whether each is right, its log loss, and the losses of independent units."""
    rows = np.concatenate([problem.parts[part] for part in parts])
    rows = rows[predictions.known[rows]]
    logits, labels = predictions.logits[rows], problem.y[rows]
    losses = -log_softmax(logits, axis=1)[np.arange(len(rows)), labels]
    units = losses
    if problem.groups is not None:
        _, members = np.unique(problem.groups[rows].astype(str), return_inverse=True)
        units = np.bincount(members, losses) / np.bincount(members)
    return logits.argmax(axis=1) == labels, losses, units


def _matters(difference: InSample) -> bool:
    """Whether accuracy or log loss of the two sides differ by more than a trifle."""
    right, wrong = difference.accuracy
    low, high = difference.loss
    return right - wrong >= ACCURACY_GAP or high - low >= LOSS_SHARE * high


def _joined(parts: Sequence[str]) -> str:
    return " and ".join("training" if part == "train" else part for part in parts)
