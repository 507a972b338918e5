"""Whether a teacher's predictions belong to the rows and classes that they are matched with.

Predictions for rows in another order would teach nonsense, so they are compared with the labels of the data. With
s(i, k) the score of class k in row i (its log-probability; or 1 if the teacher decides for k), the sum
S = Σ_i s(i, y_i) is compared with that for randomly permuted labels y, whose mean and variance are known exactly
(Hoeffding):

    E S = (1/n) Σ_i Σ_k n_k s(i, k),   Var S = 1/(n − 1) Σ_i Σ_k n_k d(i, k)²,   d: s less its row and column means

Predictions are refused if S is at most 3 standard deviations above E S, and yet more than 3 below its expectation if
the predicted probabilities were true, Σ_i Σ_k p(i, k) s(i, k). Nearly uniform predictions are thus not called
misplaced. Predictions that contradict the labels beyond chance, as swapped columns do, are refused for models too.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import log_softmax, softmax

from softlabel.data.problem import Problem
from softlabel.errors import InputError, quoted
from softlabel.teachers.reading import FLOOR

FEWEST_ROWS = 30
DEVIATIONS = 3.0
COLLAPSED = 0.99


def learning_rows(problem: Problem) -> np.ndarray:
    """Rows whose labels may be looked at: those of the training and validation parts."""
    return np.concatenate([problem.parts["train"], problem.parts["validation"]])


def check_order(
    labels: np.ndarray, logits: np.ndarray, classes: Sequence[str], name: str, remedy: str = "check the row order"
) -> list[str]:
    """Refuse logits that fit the labels no better than permuted ones; returns a remark where this cannot be checked.

    labels  (n,) class numbers
    logits  (n, K) for the same rows as they are matched now; rows of NaN are left out
    name    how messages call the teacher
    remedy  what to do about rows in another order
    """
    known = np.isfinite(logits[:, 0])
    labels, logits = labels[known], logits[known]
    decisions = logits.argmax(axis=1)
    shares = np.bincount(decisions, minlength=logits.shape[1]) / max(1, len(labels))
    if len(labels) < FEWEST_ROWS or shares.max() > COLLAPSED:
        return []
    deviations = [compare(score, labels, softmax(logits, axis=1)) for score in _scores(logits)]
    if max(above for above, _ in deviations) >= DEVIATIONS:
        return []
    agreement = (decisions == labels).mean()
    chance = float(shares @ np.bincount(labels, minlength=logits.shape[1])) / len(labels)
    summary = (
        f"{name} agrees with the given labels in {agreement:.1%} of {len(labels):,} rows, and would in {chance:.1%} if "
        "its rows were shuffled"
    )
    if all(claimed - above <= DEVIATIONS for above, claimed in deviations):
        return [f"{summary}: it is too unsure for the order of its rows to be checked"]
    _refuse_inverse(deviations, summary, classes)
    raise InputError(f"{summary}: it seems to belong to other rows, or to these in another order; {remedy}")


def refuse_swapped(labels: np.ndarray, logits: np.ndarray, classes: Sequence[str], name: str) -> None:
    """Refuse logits (n, K) that contradict the labels (n,) beyond chance, as those with swapped columns do."""
    if len(labels) < FEWEST_ROWS:
        return
    deviations = [compare(score, labels, softmax(logits, axis=1)) for score in _scores(logits)]
    if max(above for above, _ in deviations) < -DEVIATIONS:
        agreement = (logits.argmax(axis=1) == labels).mean()
        summary = f"{name} agrees with the given labels in {agreement:.1%} of {len(labels):,} rows"
        _refuse_inverse(deviations, summary, classes)


def _refuse_inverse(deviations: list[tuple[float, float]], summary: str, classes: Sequence[str]) -> None:
    if min(above for above, _ in deviations) < -DEVIATIONS:
        raise InputError(f"{summary}: are its columns in the order of the classes ({quoted(classes)})?")


def _scores(logits: np.ndarray) -> list[np.ndarray]:
    """Scores (n, K) of the classes: log-probabilities above the floor, and decisions."""
    decisions = np.zeros_like(logits)
    decisions[np.arange(len(logits)), logits.argmax(axis=1)] = 1
    return [np.maximum(log_softmax(logits, axis=1), np.log(FLOOR)), decisions]


def compare(score: np.ndarray, labels: np.ndarray, probabilities: np.ndarray) -> tuple[float, float]:
    """How many deviations S is above its mean for permuted labels, and would be if the probabilities were true."""
    rows = len(score)
    counts = np.bincount(labels, minlength=score.shape[1])
    share = counts / rows
    centered = score - (score @ share)[:, None]
    centered -= centered.mean(axis=0)
    deviation = np.sqrt((centered**2 @ counts).sum() / (rows - 1))
    if deviation == 0:
        return 0.0, 0.0
    mean = float((score @ share).sum())
    actual = score[np.arange(rows), labels].sum()
    return float((actual - mean) / deviation), float(((probabilities * score).sum() - mean) / deviation)
