"""One temperature for a student's logits, fitted on validation rows: every arm's outputs become probabilities.

    τ = argmin  Σ_i −ln softmax(z_i/τ)[y_i] + (ln τ − ln τ₀)²/(2 s²),     τ in [0.05, 20]

The second term matters where there are few rows: twenty rows that are all right would otherwise make the student sure
of everything. τ₀ is what is expected: 1, and 1/T for a student whose labels alone had a temperature T > 1, since its
logits imitate those of its teacher divided by T (T < 1 corrects a teacher that is too uncertain). Dividing all logits
by τ > 0 changes no predicted class and no order.
"""

import math

import numpy as np
from scipy.optimize import minimize_scalar

from softlabel.studies.students.recipe import StudentCell

TEMPERATURES = (0.05, 20.0)
SPREAD = 0.5  # s, of ln τ around ln τ₀


def fit_temperature(log_probabilities: np.ndarray, truth: np.ndarray, expected: float = 1.0) -> float:
    """τ for outputs whose logits are these log-probabilities (n, K), with class numbers (n,)."""
    low, high = (math.log(end) for end in TEMPERATURES)
    center = math.log(expected)
    if len(truth) == 0:
        return math.exp(min(max(center, low), high))
    z = np.asarray(log_probabilities, dtype=np.float64)
    z = z - z[np.arange(len(truth)), truth][:, None]  # relative to the true class

    def loss(log_temperature: float) -> float:
        scaled = z / math.exp(log_temperature)
        largest = scaled.max(axis=1)
        total = float((largest + np.log(np.exp(scaled - largest[:, None]).sum(axis=1))).sum())
        return total + (log_temperature - center) ** 2 / (2 * SPREAD**2)

    best: float = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-4}).x  # type: ignore[union-attr]
    return math.exp(best)


def expected_temperature(cell: StudentCell) -> float:
    """τ₀: 1/T if a temperature T > 1 was applied to a teacher's labels alone, otherwise 1."""
    return 1 / max(cell.label_temperature, 1.0) if cell.learns_from_teacher else 1.0
