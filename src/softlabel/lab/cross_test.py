"""Cross-testing: every row is tested once, by students and teachers that never saw it, and the interval says so.

The rows of a data set are divided into K folds; for every seed and both arms a student is trained on the other folds
and tested on its own, so that each of the n rows has one score per seed and arm. The gap is the mean of the n rows'
scores over seeds; scores of metrics that compare rows (AUC, balanced accuracy) are formed within folds, and the metric
is the mean over folds, weighted by their rows. Seeds contribute the variance of their gaps over all folds, divided by
the number of seeds S: students of one seed may share their initialization, so that a seed counts once, not K times.
Rows contribute the variance of their mean scores within folds, divided by n: this is the variance of the central limit
theorem of Bayle, Bayle, Janson and Mackey (2020), whose interval is about the mean error of the procedure on just these
K training sets. Readers want to know about other data of the same kind, whose training rows would differ, too, and no
unbiased estimate of that variance exists (Bengio and Grandvalet, 2004); therefore the variance of rows is multiplied by
1 + K/(K − 1), the correction of Nadeau and Bengio (2003) for training sets that overlap, which makes it 2.25 times as
large with five folds, where one test set of a fifth of the rows would make it 5 times as large. `python -m
benchmarks.cross_test` simulates which gaps these intervals cover, with and without the correction.

    Var(gap) = (variance between seeds)/S + (1 + K/(K − 1)) σ_i²/n

The parts of seeds and rows are joined as in `crossed_mean`. The number of training rows is that of the folds, (K − 1)/K
of all rows: a student that is trained on all rows afterwards tends to be a little better in both arms.
"""

from dataclasses import replace

import numpy as np

from softlabel.errors import require
from softlabel.lab.scores import example_scores
from softlabel.lab.statistics import Estimate, crossed_mean

METHOD = "rows tested in folds: variance within folds, times 1 + K/(K − 1) for overlapping training sets"
DEFAULT_FOLDS = 5


def overlap_factor(folds: int) -> float:
    """By how much the variance of rows is raised, since the training sets of K folds overlap: 1 + K/(K − 1)."""
    require(folds >= 2, f"`folds` must be at least 2, got {folds}")
    return 1 + folds / (folds - 1)


def fold_scores(metric: str, probabilities: np.ndarray, truth: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Scores (n,) of probabilities (n, K) for class numbers (n,), formed within every fold (n,).

    Their mean is the metric's mean over folds, weighted by the rows of each (of the log loss: its negative). It is the
    same to call `example_scores` for the rows of each fold.

    Raises
    ------
    InputError
        Where the rows of a fold do not have two classes, so that they have no AUC.
    """
    probabilities, truth, folds = np.asarray(probabilities), np.asarray(truth), np.asarray(folds)
    scores = np.empty(len(truth))
    for fold in np.unique(folds):
        rows = folds == fold
        require(
            metric != "auc" or len(np.unique(truth[rows])) > 1,
            f"the test rows of fold {fold} are all of one class and have no AUC; use fewer folds or another `metric`",
        )
        scores[rows] = example_scores(metric, probabilities[rows], truth[rows])
    return scores


def cross_tested_mean(table: np.ndarray, folds: np.ndarray, overlap: bool = True) -> Estimate:
    """The mean of x (runs, rows) whose rows are tested in folds (rows,), under the model above.

    overlap     whether the interval is about other training data, too; if not, it is about these training sets alone
    """
    x, folds = np.asarray(table, dtype=np.float64), np.asarray(folds)
    estimate = crossed_mean(x)
    runs, rows = x.shape
    require(folds.shape == (rows,), f"`folds` must have one entry per row, got {folds.shape} for {rows} rows")
    names, places = np.unique(folds, return_inverse=True)
    spare = rows - len(names)
    require(len(names) >= 2 and spare >= 1, f"`folds` must be at least two, one with two rows, got {len(names)}")
    by_fold = np.stack([x[:, places == fold].mean(1) for fold in range(len(names))], axis=1)  # (runs, K)
    centered = x - by_fold[:, places]
    by_row = centered.mean(0)
    within = float((by_row**2).sum()) / spare  # σ_i² + σ_e²/R
    residual = float(((centered - by_row) ** 2).sum()) / ((runs - 1) * spare)  # σ_e²
    part = max(0.0, within - residual / runs) / rows
    return replace(estimate, example_part=part * (overlap_factor(len(names)) if overlap else 1.0))


def crossed_gap(soft: np.ndarray, hard: np.ndarray, folds: np.ndarray, overlap: bool = True) -> Estimate:
    """Mean of soft − hard, (runs, rows) each, whose rows are tested in folds (rows,); row r of both has the same seed.

    Examples
    --------
    >>> import numpy as np
    >>> from softlabel.lab.cross_test import crossed_gap
    >>> rng = np.random.default_rng(0)
    >>> soft, hard = rng.random((2, 4, 100)) < np.array([0.9, 0.6])[:, None, None]
    >>> low, high = crossed_gap(soft, hard, np.arange(100) % 5).interval(0.95)
    >>> bool(0 < low < 0.3 < high)
    True
    """
    require(soft.shape == hard.shape, f"paired arms must have one shape, got {soft.shape} and {hard.shape}")
    return cross_tested_mean(np.asarray(soft, dtype=np.float64) - np.asarray(hard, dtype=np.float64), folds, overlap)
