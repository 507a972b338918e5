"""How many test rows an interval of a gap needs: one formula, before a run from an assumption, after it as measured.

The part of test rows in the interval of a gap, at failure probability α, is z √(v/n) points for n test rows, z the
normal quantile of 1 − α/2 and v the variance of one row's part in the gap (in points²); and it is never less than
u/n, what kinds of rows that were not met may hide (`unseen`). A half-width of h points takes

    n = max(v (z/h)², u/h)

After a run v is measured. Before it, it is assumed (shares π_c of the classes as in the test rows, K of them):

    accuracy            two students differ on q = 5 % of the rows, either way: v = q
    balanced accuracy   the same within every class: v = q/K² Σ_c 1/π_c
    auc                 both arms have an area A = 0.9, and the placements of a row in both correlate with r = 0.9:
                        with Hanley and McNeil's variances of the placement of a positive row, Q₂ − A², and of a
                        negative one, Q₁ − A², where Q₁ = A/(2 − A) and Q₂ = 2A²/(1 + A),
                        v = 2 (1 − r) ((Q₂ − A²)/π + (Q₁ − A²)/(1 − π)); several classes: √v is the mean of these over
                        one-against-rest curves, as if they erred together
    log loss            a row may cost any amount: nothing can be said before the run
"""

import math
from collections.abc import Sequence

from scipy.stats import norm

DISAGREEMENT = 0.05
AREA, CORRELATION = 0.9, 0.9


def rows_needed(half: float, failure: float, variance: float, unmet: float = 0.0) -> int:
    """Fewest test rows whose part in an interval is at most `half` points.

    variance    of one row's part in the gap, in points²
    unmet       points that rows which were not met may hide, times the number of rows
    """
    return math.ceil(max(variance * (_quantile(failure) / half) ** 2, unmet / half))


def half_width(rows: int, failure: float, variance: float, unmet: float = 0.0) -> float:
    """Points that a number of test rows leaves open: the inverse of `rows_needed`."""
    return max(_quantile(failure) * math.sqrt(variance / rows), unmet / rows)


def _quantile(failure: float) -> float:
    return float(norm.isf(failure / 2))


def assumed_variance(metric: str, class_rows: Sequence[int]) -> float | None:
    """v in points² before anything is measured; None where nothing can be said."""
    rows, classes = sum(class_rows), len(class_rows)
    shares = [count / rows for count in class_rows]
    if metric == "accuracy":
        return 1e4 * DISAGREEMENT
    if metric == "balanced accuracy":
        return 1e4 * DISAGREEMENT * sum(1 / share for share in shares) / classes**2
    if metric == "auc":
        curves = [_curve_variance(share) for share in (shares[1:] if classes == 2 else shares)]
        return 1e4 * (sum(math.sqrt(one) for one in curves) / len(curves)) ** 2
    return None


def _curve_variance(share: float) -> float:
    """Variance of one curve, by the share of its positive class."""
    inside = 2 * AREA**2 / (1 + AREA) - AREA**2
    outside = AREA / (2 - AREA) - AREA**2
    return 2 * (1 - CORRELATION) * (inside / share + outside / (1 - share))


def assumption(metric: str) -> str:
    """What `assumed_variance` assumes, for people; empty where it says nothing."""
    return {
        "accuracy": f"students of two arms differ on {DISAGREEMENT:.0%} of them",
        "balanced accuracy": f"students of two arms differ on {DISAGREEMENT:.0%} of the rows of every class",
        "auc": f"both arms have an AUC of about {AREA:g} and rank rows alike (correlation {CORRELATION:g})",
    }.get(metric, "")
