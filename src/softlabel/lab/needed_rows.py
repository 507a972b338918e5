"""How many test rows an interval of a gap needs: one formula, before a run from an assumption, after it as measured.

The part of test rows in the interval of a gap, at failure probability α, is z √(v/n) points for n test rows, z the
normal quantile of 1 − α/2 and v the variance of one row's part in the gap (in points²); and it is never less than
u/n, what kinds of rows that were not met may hide (`unseen`). A half-width of h points takes

    n = max(v (z/h)², u/h)

or, where both are joined in quadrature (`Unmet.joined`, the AUC), the n of v z²/n + u²/n² = h².
After a run v is measured. Before it, it is assumed (shares π_c of the classes as in the test rows, K of them):

    accuracy            two students differ on q = 5 % of the rows, either way: v = q
    balanced accuracy   the same within every class: v = q/K² Σ_c 1/π_c
    auc                 both arms have an area A = 0.9, and the placements of a row in both correlate with r = 0.9:
                        with Hanley and McNeil's variances of the placement of a positive row, Q₂ − A², and of a
                        negative one, Q₁ − A², where Q₁ = A/(2 − A) and Q₂ = 2A²/(1 + A),
                        v = 2 (1 − r) ((Q₂ − A²)/π + (Q₁ − A²)/(1 − π)); several classes: √v is the mean of these over
                        one-against-rest curves, as if they erred together
    log loss            a row may cost any amount: nothing can be said before the run

u is that of `unseen`; of the AUC the row that is farthest from the gap is taken to lie three standard deviations of its
class off. Where every row is tested in one of K folds, n counts all rows and v has the factor of `cross_test`. Levels
must agree, too: α is that of a look (`Look.failure`), before a run the largest of those that are planned.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import norm

from softlabel.lab.cross_test import overlap_factor
from softlabel.lab.scores import unseen

DISAGREEMENT = 0.05
AREA, CORRELATION = 0.9, 0.9
FARTHEST = 3.0  # standard deviations


@dataclass(frozen=True)
class ExpectedRows:
    """What a number of test rows is likely to decide.

    rows        test rows (with folds: all rows)
    half        points that they leave open, whatever the number of seeds
    enough      rows that would leave no more open than the equivalence; None where it is 0
    """

    rows: int
    half: float
    enough: int | None


def expected_rows(
    metric: str, class_rows: Sequence[int], equivalence: float, failure: float, folds: int | None = None
) -> ExpectedRows | None:
    """What test rows, so many of each class, decide if the assumption above holds; None where nothing can be said.

    equivalence     in points
    failure         probability with which the interval of a look may fail
    folds           number of folds in which all rows are tested, if they are
    """
    variance = assumed_variance(metric, class_rows)
    if variance is None:
        return None
    if folds is not None:
        variance *= overlap_factor(folds)
    rows = sum(class_rows)
    farthest = _assumed_farthest(class_rows) if metric == "auc" else None
    unmet = rows * unseen(metric, class_rows, failure, farthest)
    joined = metric == "auc"
    enough = rows_needed(equivalence, failure, variance, unmet, joined) if equivalence > 0 else None
    return ExpectedRows(rows, half_width(rows, failure, variance, unmet, joined), enough)


def rows_needed(half: float, failure: float, variance: float, unmet: float = 0.0, joined: bool = False) -> int:
    """Fewest test rows whose part in an interval is at most `half` points.

    variance    of one row's part in the gap, in points²
    unmet       points that rows which were not met may hide, times the number of rows
    joined      whether they are joined to the half-width of the others, rather than its least value
    """
    if joined:
        spread = variance * _quantile(failure) ** 2
        return math.ceil((spread + math.hypot(spread, 2 * half * unmet)) / (2 * half**2))
    return math.ceil(max(variance * (_quantile(failure) / half) ** 2, unmet / half))


def half_width(rows: int, failure: float, variance: float, unmet: float = 0.0, joined: bool = False) -> float:
    """Points that a number of test rows leaves open: the inverse of `rows_needed`."""
    join = math.hypot if joined else max
    return join(_quantile(failure) * math.sqrt(variance / rows), unmet / rows)


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
    inside, outside = _placement_variances()
    return 2 * (1 - CORRELATION) * (inside / share + outside / (1 - share))


def _placement_variances() -> tuple[float, float]:
    """Of the placement of a positive row, and of a negative one."""
    inside = 2 * AREA**2 / (1 + AREA) - AREA**2
    outside = AREA / (2 - AREA) - AREA**2
    return inside, outside


def _assumed_farthest(class_rows: Sequence[int]) -> float:
    """How far a row's score of the AUC lies from the gap at most, in points."""
    rows, classes = sum(class_rows), len(class_rows)
    inside, outside = (math.sqrt(2 * (1 - CORRELATION) * variance) for variance in _placement_variances())
    others = sum(outside * rows / (rows - count) for count in class_rows)
    scores = (inside * rows / count + others - outside * rows / (rows - count) for count in class_rows)
    return 100 * FARTHEST * max(scores) / classes


def assumption(metric: str) -> str:
    """What `assumed_variance` assumes, for people; empty where it says nothing."""
    return {
        "accuracy": f"students of two arms differ on {DISAGREEMENT:.0%} of them",
        "balanced accuracy": f"students of two arms differ on {DISAGREEMENT:.0%} of the rows of every class",
        "auc": f"both arms have an AUC of about {AREA:g} and rank rows alike (correlation {CORRELATION:g})",
    }.get(metric, "")
