"""With as many test rows as it says, an interval is about as wide as it says, for every metric."""

import numpy as np
import pytest

from softlabel.lab.cross_test import fold_scores
from softlabel.lab.needed_rows import (
    AREA,
    CORRELATION,
    DISAGREEMENT,
    assumed_variance,
    expected_rows,
    half_width,
    rows_needed,
)
from softlabel.lab.scores import METRICS, Unmet, example_scores
from softlabel.lab.sequential import Look, analyze
from softlabel.lab.statistics import crossed_mean

FAILURE = 0.05
SHARES = {"even": (0.5, 0.5), "rare": (0.9, 0.1), "three": (0.6, 0.3, 0.1)}


def predicted(rng, right, truth, classes):
    """Probabilities (n, K) that are right where `right` is true, and favor another class elsewhere."""
    place = np.where(right, truth, (truth + rng.integers(1, classes, len(truth))) % classes)
    return np.where(np.arange(classes) == place[:, None], 0.9, 0.1 / (classes - 1))


def pair(rng, metric, truth, classes):
    """Two arms that are as the assumption has them."""
    n = len(truth)
    if metric != "auc":
        first = rng.random(n) < 0.85
        differ = rng.random(n) < DISAGREEMENT * 0.5 / np.where(first, 0.85, 0.15)  # either way as often
        return predicted(rng, first, truth, classes), predicted(rng, first ^ differ, truth, classes)
    rate = np.where(truth == 1, (1 - AREA) / AREA, 1.0)  # exponential scores, as Hanley and McNeil have them
    one, other = rng.exponential(1 / rate), rng.exponential(1 / rate)
    other = np.where(rng.random(n) < CORRELATION, one, other)
    return (np.stack([-score, score], axis=1) for score in (one, other))


@pytest.mark.parametrize(
    ("metric", "shares", "margin"),
    [
        ("accuracy", "even", 1.0), ("accuracy", "three", 2.0), ("balanced accuracy", "even", 1.0),
        ("balanced accuracy", "rare", 2.0), ("balanced accuracy", "three", 2.0), ("auc", "even", 1.0),
        ("auc", "rare", 2.0),
    ],
)  # fmt: skip
def test_before_a_run_if_the_assumption_holds(metric, shares, margin):
    rng = np.random.default_rng(3)
    counts = [round(1000 * share) for share in SHARES[shares]]
    variance = assumed_variance(metric, counts)
    assert variance is not None
    rows = rows_needed(margin, FAILURE, variance)
    assert half_width(rows, FAILURE, variance) == pytest.approx(margin, rel=1e-3)
    halves = []
    for _ in range(20):
        truth = rng.permutation(np.repeat(np.arange(len(counts)), [round(rows * c / 1000) for c in counts]))
        arms = [100 * example_scores(metric, table, truth) for table in pair(rng, metric, truth, len(counts))]
        difference = np.repeat((arms[0] - arms[1])[None], 3, axis=0)  # equal seeds: rows alone leave it open
        halves.append(crossed_mean(difference).half_width(FAILURE))
    assert np.mean(halves) == pytest.approx(margin, rel=0.1)


def test_the_metrics_differ():
    """Accuracy does not speak for every metric: unequal classes need more rows for balanced accuracy."""
    counts = (900, 100)
    needed = {
        metric: None if (v := assumed_variance(metric, counts)) is None else rows_needed(0.5, FAILURE, v)
        for metric in METRICS
    }
    assert needed["accuracy"] == 7683
    assert needed["balanced accuracy"] == pytest.approx(7683 * (1 / 0.9 + 10) / 4, rel=1e-3)
    assert needed["auc"] not in (None, needed["accuracy"])
    assert needed["log loss"] is None  # a row may cost any amount
    assert assumed_variance("balanced accuracy", (50, 50)) == pytest.approx(assumed_variance("accuracy", (50, 50)))


def test_rows_that_were_not_met_count_too():
    assert rows_needed(0.5, FAILURE, 0.0, unmet=300.0) == 600
    assert half_width(600, FAILURE, 0.0, unmet=300.0) == 0.5


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("variance", [0.0, 100.0])
def test_rows_and_half_widths_are_inverse(joined, variance):
    rows = rows_needed(0.5, FAILURE, variance, 300.0, joined)
    assert half_width(rows, FAILURE, variance, 300.0, joined) == pytest.approx(0.5, rel=2e-3)
    assert half_width(rows, FAILURE, variance, 300.0, joined) <= 0.5
    assert rows_needed(0.5, FAILURE, variance, 300.0, True) >= rows_needed(0.5, FAILURE, variance, 300.0)


@pytest.mark.parametrize("metric", ["accuracy", "balanced accuracy", "auc"])
@pytest.mark.parametrize("folds", [None, 5])
def test_before_and_after_a_run_agree_if_the_assumption_holds(metric, folds):
    """The same level, variance, factor and floor: measured half-widths and rows are about those that were expected."""
    rng = np.random.default_rng(4)
    counts = (1600, 400)
    truth = np.repeat([0, 1], counts)
    places = np.arange(2000) % 5
    expected = expected_rows(metric, counts, 0.5, FAILURE, folds)
    assert expected is not None
    assert expected.rows == 2000
    halves = []
    for _ in range(20):
        pairs = pair(rng, metric, truth, 2)
        arms = [np.repeat(fold_scores(metric, table, truth, places)[None], 2, axis=0) for table in pairs]
        hidden = Unmet(metric, counts)
        halves.append(analyze(Look(2, FAILURE), *arms, 0.0, hidden, None if folds is None else places).examples)
    assert np.mean(halves) == pytest.approx(expected.half, rel=0.2)
    assert expected.enough is not None
    enough = np.array(counts) * expected.enough // 2000 + 1
    again = expected_rows(metric, enough, 0.5, FAILURE, folds)
    assert again is not None
    assert again.half == pytest.approx(0.5, rel=0.01)


def test_nothing_is_expected_of_the_log_loss_and_no_equivalence_is_never_reached():
    assert expected_rows("log loss", (50, 50), 0.5, FAILURE) is None
    expected = expected_rows("accuracy", (50, 50), 0.0, FAILURE)
    assert expected is not None
    assert expected.enough is None


@pytest.mark.parametrize("metric", list(METRICS))
def test_after_a_run_as_measured(metric):
    """300 rows leave the gap open; with as many as they say, the interval is as narrow as a decision needs."""
    rng = np.random.default_rng(8)

    def at(rows):
        truth = (np.arange(rows) % 4 == 0).astype(int)
        push = 1.2 * (2 * truth - 1)[:, None] * np.array([-1, 1])
        shared = rng.standard_normal((rows, 2))
        tables = []
        for _ in range(2):
            own = shared + 0.5 * rng.standard_normal((rows, 2))
            z = push + own
            likely = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
            tables.append(np.repeat(example_scores(metric, likely, truth)[None], 3, axis=0))
        return analyze(Look(3, FAILURE), tables[0], tables[1], 0.5)

    halves, needed = [], []
    for _ in range(15):
        analysis = at(300)
        if analysis.rows is None:  # one in twenty decides by chance
            continue
        near = max(abs(analysis.gap.mean), 0.5 - abs(analysis.gap.mean))
        rows = min(analysis.rows, 20_000)
        halves.append(at(rows).examples * np.sqrt(rows / analysis.rows) / near)
        needed.append(analysis.rows)
    assert np.median(halves) == pytest.approx(1.0, rel=0.15)
    assert len(needed) > 10
    assert min(needed) > 300


def test_rows_are_named_only_where_seeds_do_not_decide():
    rng = np.random.default_rng(1)
    seeds = 0.02 * rng.standard_normal((6, 1)) + 0.01 * rng.standard_normal((6, 4000))
    analysis = analyze(Look(6, FAILURE), seeds, np.zeros_like(seeds), 0.5)
    assert analysis.verdict == "undecided"
    assert analysis.needed is not None
    assert analysis.rows is None
