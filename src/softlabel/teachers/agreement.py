"""Whether a teacher's answers belong to the rows and classes that they are given for.

Rows in another order would teach nonsense, so labels are held against the given ones. With s(i, k) what the file
says of class k in row i (its log-probability; or 1 where k is its decision), the score S = Σ_i s(i, y_i) is compared
with that of labels y dealt out at random, whose mean and variance are known exactly (Hoeffding):

    E S = (1/n) Σ_i Σ_k n_k s(i, k),   Var S = 1/(n − 1) Σ_i Σ_k n_k d(i, k)²,   d: s less its row and column means

Labels are refused where S is within 3 deviations of E S, or below, and yet more than 3 below what it should be if the
labels were true, Σ_i Σ_k p(i, k) s(i, k). Labels that claim next to nothing are so not called misplaced.
Answers that contradict the given labels beyond chance, as swapped columns do, are refused of models too.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import log_softmax, softmax

from softlabel.data.problem import Problem
from softlabel.errors import InputError, quoted
from softlabel.teachers.answers import FLOOR

FEWEST_ROWS = 30
DEVIATIONS = 3.0
COLLAPSED = 0.99


def learning_rows(problem: Problem) -> np.ndarray:
    """Rows whose labels may be looked at: those of the training and validation parts."""
    return np.concatenate([problem.parts["train"], problem.parts["validation"]])


def check_order(
    labels: np.ndarray, logits: np.ndarray, classes: Sequence[str], name: str, remedy: str = "check the row order"
) -> list[str]:
    """Refuse logits that fit the labels no better than shuffled ones; a remark where so few rows cannot tell.

    labels  (n,) places in `classes`
    logits  (n, K) for the same rows as they are matched now; rows of NaN are left out
    name    whom messages speak of
    remedy  what to do about rows in another order
    """
    known = np.isfinite(logits[:, 0])
    truth, logits = labels[known], logits[known]
    said = logits.argmax(axis=1)
    shares = np.bincount(said, minlength=logits.shape[1]) / max(1, len(truth))
    if len(truth) < FEWEST_ROWS or shares.max() > COLLAPSED:
        return []
    found = [compare(score, truth, softmax(logits, axis=1)) for score in _scores(logits)]
    if max(above for above, _ in found) >= DEVIATIONS:
        return []
    agreement = (said == truth).mean()
    chance = float(shares @ np.bincount(truth, minlength=logits.shape[1])) / len(truth)
    told = (
        f"{name} agrees with the given labels in {agreement:.1%} of {len(truth):,} rows, shuffled it would in "
        f"{chance:.1%}"
    )
    if all(claimed - above <= DEVIATIONS for above, claimed in found):
        return [f"{told}: it claims so little that the order of its rows cannot be checked"]
    _refuse_inverse(found, told, classes)
    raise InputError(f"{told}: it seems to be of other rows, or of these in another order; {remedy}")


def refuse_swapped(labels: np.ndarray, logits: np.ndarray, classes: Sequence[str], name: str) -> None:
    """Refuse logits (n, K) that contradict the labels (n,) beyond chance, as those with swapped columns do."""
    if len(labels) < FEWEST_ROWS:
        return
    found = [compare(score, labels, softmax(logits, axis=1)) for score in _scores(logits)]
    if max(above for above, _ in found) < -DEVIATIONS:
        agreement = (logits.argmax(axis=1) == labels).mean()
        _refuse_inverse(
            found, f"{name} agrees with the given labels in {agreement:.1%} of {len(labels):,} rows", classes
        )


def _refuse_inverse(found: list[tuple[float, float]], told: str, classes: Sequence[str]) -> None:
    if min(above for above, _ in found) < -DEVIATIONS:
        raise InputError(f"{told}: are its columns in the order of the classes ({quoted(classes)})?")


def _scores(logits: np.ndarray) -> list[np.ndarray]:
    """What labels say of each class, (n, K): log-probabilities above the floor, and decisions."""
    decisions = np.zeros_like(logits)
    decisions[np.arange(len(logits)), logits.argmax(axis=1)] = 1
    return [np.maximum(log_softmax(logits, axis=1), np.log(FLOOR)), decisions]


def compare(score: np.ndarray, truth: np.ndarray, probabilities: np.ndarray) -> tuple[float, float]:
    """How many deviations S is above its mean under shuffling, and how many it would be if the labels were true."""
    rows = len(score)
    counts = np.bincount(truth, minlength=score.shape[1])
    share = counts / rows
    centred = score - (score @ share)[:, None]
    centred -= centred.mean(axis=0)
    deviation = np.sqrt((centred**2 @ counts).sum() / (rows - 1))
    if deviation == 0:
        return 0.0, 0.0
    mean = float((score @ share).sum())
    actual = score[np.arange(rows), truth].sum()
    return float((actual - mean) / deviation), float(((probabilities * score).sum() - mean) / deviation)
