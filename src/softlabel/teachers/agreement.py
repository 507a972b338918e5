"""Whether a teacher's answers belong to the rows and classes that they are given for.

Rows in another order would teach nonsense, so labels are held against the given ones. With s(i, k) what the file
says of class k in row i (its log-probability; or 1 where k is its decision), the score S = Σ_i s(i, y_i) is compared
with that of labels y dealt out at random, whose mean and variance are known exactly (Hoeffding):

    E S = (1/n) Σ_i Σ_k n_k s(i, k),   Var S = 1/(n − 1) Σ_i Σ_k n_k d(i, k)²,   d: s less its row and column means

Labels are refused where S is within 3 deviations of E S, or below, and yet more than 3 below what it should be if the
labels were true, Σ_i Σ_k p(i, k) s(i, k). Labels that claim next to nothing are so not called misplaced.
Answers that contradict the given labels beyond chance, as swapped columns do, are refused of models too.
"""

import numpy as np
from scipy.special import log_softmax, softmax

from softlabel.data.problem import Problem
from softlabel.errors import InputError, quoted
from softlabel.teachers.answers import FLOOR

FEWEST_ROWS = 30
DEVIATIONS = 3.0
COLLAPSED = 0.99


def check_order(problem: Problem, logits: np.ndarray, name: str, id_column: str | None) -> list[str]:
    """Refuse labels that fit the given ones no better than shuffled; a remark where so few rows cannot tell."""
    rows = np.concatenate([problem.parts["train"], problem.parts["validation"]])
    rows = rows[np.isfinite(logits[rows, 0])]
    truth, said = problem.labels[rows], logits[rows].argmax(axis=1)
    shares = np.bincount(said, minlength=logits.shape[1]) / max(1, len(rows))
    if len(rows) < FEWEST_ROWS or shares.max() > COLLAPSED:
        return []
    found = [compare(score, truth, softmax(logits[rows], axis=1)) for score in _scores(logits[rows])]
    if max(above for above, _ in found) >= DEVIATIONS:
        return []
    agreement = (said == truth).mean()
    chance = float(shares @ np.bincount(truth, minlength=logits.shape[1])) / len(rows)
    told = (
        f"{name} agrees with the given labels in {agreement:.1%} of {len(rows):,} rows, shuffled it would in "
        f"{chance:.1%}"
    )
    if all(claimed - above <= DEVIATIONS for above, claimed in found):
        return [f"{told}: it claims so little that the order of its rows cannot be checked"]
    _refuse_inverse(found, told, problem)
    remedy = "match them by --id COLUMN, or check the row order" if id_column is None else "check the ids"
    raise InputError(f"{told}: it seems to be of other rows, or of these in another order; {remedy}")


def refuse_swapped(problem: Problem, logits: np.ndarray, name: str) -> None:
    """Refuse answers that contradict the given labels beyond chance, as those with swapped columns do."""
    rows = np.concatenate([problem.parts["train"], problem.parts["validation"]])
    truth, said = problem.labels[rows], logits[rows]
    if len(rows) < FEWEST_ROWS:
        return
    found = [compare(score, truth, softmax(said, axis=1)) for score in _scores(said)]
    if max(above for above, _ in found) < -DEVIATIONS:
        agreement = (said.argmax(axis=1) == truth).mean()
        _refuse_inverse(found, f"{name} agrees with the given labels in {agreement:.1%} of {len(rows):,} rows", problem)


def _refuse_inverse(found: list[tuple[float, float]], told: str, problem: Problem) -> None:
    if min(above for above, _ in found) < -DEVIATIONS:
        raise InputError(f"{told}: are its columns in the order of the classes ({quoted(problem.classes)})?")


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
