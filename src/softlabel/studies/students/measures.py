"""What is measured of a trained student, of any family."""

from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.lab.scores import example_scores
from softlabel.networks.deep.evaluation import calibration_error
from softlabel.studies.students.taught_problem import TaughtProblem, TaughtRows

if TYPE_CHECKING:
    from softlabel.studies.students.families import FamilyStudent

TINY = 1e-12


def measured(
    problem: TaughtProblem, student: "FamilyStudent", metric: str, part: str
) -> tuple[dict[str, Any], np.ndarray]:
    """Metrics of one student on a part, and its scores by example (n,)."""
    rows = problem.part(part)
    return probability_metrics(student.probabilities(rows.X), rows, metric)


def probability_metrics(probabilities: np.ndarray, rows: TaughtRows, metric: str) -> tuple[dict[str, Any], np.ndarray]:
    """Metrics of probabilities (n, K) for some rows, and the scores of a metric by example (n,)."""
    truth = rows.y
    scores = example_scores(metric, probabilities, truth)
    right = example_scores("accuracy", probabilities, truth)
    numbers = {
        "metric": float(scores.mean()),
        "accuracy": float(right.mean()),
        "log_loss": float(-example_scores("log loss", probabilities, truth).mean()),
        "brier_score": brier_score(probabilities, truth),
        "calibration_error": calibration_error(probabilities.max(1), right),
    }
    teacher = rows.teacher_probabilities
    if teacher is not None:
        numbers["agreement"] = float((probabilities.argmax(1) == teacher.argmax(1)).mean())
        gap = np.log(np.maximum(teacher, TINY)) - np.log(np.maximum(probabilities, TINY))
        numbers["kl"] = float((teacher * gap).sum(1).mean())
    return numbers, scores


def brier_score(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """Mean of Σ_k (p_k − y_k)², y_k being 1 for the true class: 0 at best, 2 at worst."""
    missed = probabilities.copy()
    missed[np.arange(len(truth)), truth] -= 1
    return float((missed**2).sum(axis=1).mean())
