"""Are cross-tested verdicts calibrated? Simulated data sets from a known population, students trained on every one.

    python -m benchmarks.cross_test [NAME …]

Only scenarios (and "AUC") whose names begin with one of the arguments are run; the results of others are kept.

The population is MNIST, 70,000 images in 30 principal components. A simulated verdict draws a data set of some hundred
rows, divides it into five folds, trains a teacher per fold (ridge regression on 300 random features) and, for every one
of 40 seeds, a student per fold and arm: on hard labels and on the teacher's probabilities. Students are ridge
classifiers on few random features, or regression trees, whose results depend much on the training rows. Data, folds,
teachers and students are all drawn anew. The scores of each data set are shifted by the mean gap of all of them, so
that the true gap over other data sets is 0, or by that and a gap. The complete procedure runs on them: planned looks,
floors, equivalence of 0.5 points. `benchmarks.whole_verdicts` does the same with two-layer students and all their
choices.

Asked: winners without a true gap in at most 5% of the verdicts, for every metric. Beside it stand the same without the
factor for overlapping training sets (the interval of Bayle et al., 2020), the test on one fold alone (a split 80:20),
coverage of the mean gap of just these training sets, and the coverage of intervals of the AUC with few positive rows.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.tree import DecisionTreeRegressor

from benchmarks.cross_test_page import write_page
from softlabel.data import load
from softlabel.documents import json_text
from softlabel.lab.cross_test import crossed_gap, fold_scores
from softlabel.lab.scores import METRICS, Unmet, example_scores, unseen
from softlabel.lab.sequential import Look, analyze, follow, planned_looks
from softlabel.lab.statistics import Estimate, judge

FOLDS, SEEDS, EQUIVALENCE = 5, 40, 0.5
GAPS = (1.0, 2.0, 4.0)
COMPONENTS, TEACHER_FEATURES, SHARPNESS, RIDGE = 30, 300, 6.0, 3.0
RESULTS = Path("docs/results/cross-test/results.json")

Population = tuple[np.ndarray, np.ndarray]
Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[np.ndarray, np.ndarray, int, int], Predict]
Pairs = Callable[[np.ndarray, np.ndarray, np.ndarray, Sequence[int], int], list[tuple[Predict, Predict]]]


def ridge_student(x: np.ndarray, targets: np.ndarray, seed: int, fold: int, *, width: int, penalty: float) -> Predict:
    """A ridge classifier on random features; students of one seed share them in all folds."""
    rng = np.random.default_rng([77, seed])
    weights = 0.6 * rng.standard_normal((x.shape[1], width), dtype=np.float32)
    bias = rng.uniform(-1, 1, width).astype(np.float32)

    def features(inputs: np.ndarray) -> np.ndarray:
        return np.c_[np.tanh(inputs @ weights + bias), np.ones(len(inputs), np.float32)]

    z = features(x)
    solution = np.linalg.solve((z.T @ z).astype(np.float64) + penalty * np.eye(width + 1), z.T @ targets)
    return lambda inputs: _softmax(SHARPNESS * (features(inputs) @ solution))


def tree_student(x: np.ndarray, targets: np.ndarray, seed: int, fold: int) -> Predict:
    """A regression tree on the targets, with half of the columns at every split."""
    random_state = (FOLDS * seed + fold) % 2**31
    tree = DecisionTreeRegressor(max_depth=6, min_samples_leaf=5, max_features=0.5, random_state=random_state)
    tree.fit(x, targets)

    def predict(inputs: np.ndarray) -> np.ndarray:
        likely = tree.predict(inputs) + 0.01
        return likely / likely.sum(1, keepdims=True)

    return predict


def pairs_of(soft: Fit, hard: Fit) -> Pairs:
    """Students on soft and on hard labels for every seed, fitted one by one."""

    def fit(x: np.ndarray, soft_labels: np.ndarray, labels: np.ndarray, seeds: Sequence[int], fold: int) -> list:
        return [(soft(x, soft_labels, seed, fold), hard(x, labels, seed, fold)) for seed in seeds]

    return fit


def _softmax(z: np.ndarray) -> np.ndarray:
    likely = np.exp(z - z.max(1, keepdims=True))
    return likely / likely.sum(1, keepdims=True)


@dataclass(frozen=True)
class Scenario:
    """Which data sets are drawn, and which students are trained.

    pairs       trains students on soft and on hard labels for every seed
    positive    classes of the population that are the positive class of a binary problem; empty: all classes
    share       of the positive class in a data set
    teacher     random features of a teacher
    """

    rows: int
    pairs: Pairs
    metrics: tuple[str, ...]
    positive: tuple[int, ...] = ()
    share: float = 0.5
    teacher: int = TEACHER_FEATURES

    def draw(self, y: np.ndarray, rng: np.random.Generator, extra: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of a data set, `extra` other rows of the population, and the class of every row of the population."""
        if not self.positive:
            order = rng.permutation(len(y))
            return order[: self.rows], order[self.rows : self.rows + extra], y
        truth = np.isin(y, self.positive).astype(int)
        inside, outside = (rng.permutation(np.flatnonzero(truth == side)) for side in (1, 0))
        count, more = rng.binomial(self.rows, self.share), round(extra * self.share)
        rows = np.r_[inside[:count], outside[: self.rows - count]]
        others = np.r_[inside[count : count + more], outside[self.rows - count :][: extra - more]]
        return rows, others, truth


@dataclass(frozen=True)
class CrossTested:
    """One data set: soft − hard of every seed and row by metric, and the mean gap on other rows of the population."""

    folds: np.ndarray
    class_rows: tuple[int, ...]
    differences: Mapping[str, np.ndarray]
    truth: Mapping[str, float]


def cross_test(
    population: Population, scenario: Scenario, draw: int, seeds: int = SEEDS, truth_seeds: int = 0, extra: int = 0
) -> CrossTested:
    """Draw a data set and test its students in folds; `truth_seeds` others are tested on `extra` rows."""
    rng = np.random.default_rng([5, draw])
    rows, others, classes = scenario.draw(population[1], rng, extra)
    x, truth, unseen_x, unseen_truth = population[0][rows], classes[rows], population[0][others], classes[others]
    folds = stratified_folds(truth, rng)
    labels = np.eye(classes.max() + 1)[truth]
    soft_labels = []
    for fold in range(FOLDS):
        train = folds != fold
        teacher = ridge_student(x[train], labels[train], 10**6 + 1000 * draw + fold, fold,
                                width=scenario.teacher, penalty=RIDGE)  # fmt: skip
        soft_labels.append(teacher(x))
    places = seeds + truth_seeds
    likely = np.empty((places, 2, *labels.shape))
    gaps = dict.fromkeys(scenario.metrics, 0.0)
    for fold in range(FOLDS):
        train = folds != fold
        students = scenario.pairs(
            x[train],
            soft_labels[fold][train],
            labels[train],
            range(10**5 + 1000 * draw, 10**5 + 1000 * draw + places),
            fold,
        )
        for place, pair in enumerate(students):
            for arm, student in enumerate(pair):
                likely[place, arm, ~train] = student(x[~train])
                for metric in scenario.metrics if place >= seeds else ():
                    mean = example_scores(metric, student(unseen_x), unseen_truth).mean()
                    gaps[metric] += (1 - 2 * arm) * mean / (FOLDS * truth_seeds)
    differences = {
        metric: np.array([
            np.subtract(*(fold_scores(metric, table, truth, folds) for table in pair)) for pair in likely[:seeds]
        ])
        for metric in scenario.metrics
    }  # fmt: skip
    return CrossTested(folds, tuple(np.bincount(truth).tolist()), differences, gaps)


def stratified_folds(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The fold of every row: rows of a class are dealt out in turn."""
    order = rng.permutation(len(truth))
    order = order[np.argsort(truth[order], kind="stable")]
    folds = np.empty(len(truth), dtype=int)
    folds[order] = np.arange(len(truth)) % FOLDS
    return folds


def procedures(metric: str) -> dict[str, Callable[[CrossTested, float], tuple[str, Estimate]]]:
    """Verdicts of a data set whose scores are shifted, by the name of the procedure."""

    def prepared(data: CrossTested, shift: float) -> tuple[np.ndarray, Unmet]:
        return data.differences[metric] + shift / 100, Unmet(metric, data.class_rows)

    def complete(data: CrossTested, shift: float) -> tuple[str, Estimate]:
        table, hidden = prepared(data, shift)
        at = follow(planned_looks(len(table)), table, np.zeros_like(table), EQUIVALENCE, hidden, data.folds)[-1]
        return at.verdict, at.gap

    def without_factor(data: CrossTested, shift: float) -> tuple[str, Estimate]:
        table, hidden = prepared(data, shift)
        word = "undecided"
        gap = crossed_gap(100 * table, np.zeros_like(table), data.folds, overlap=False)
        for look in planned_looks(len(table)):
            part = 100 * table[: look.seeds]
            gap = crossed_gap(part, np.zeros_like(part), data.folds, overlap=False)
            gap = hidden.widen(gap, look.failure)
            word = judge(*gap.interval(1 - look.failure), EQUIVALENCE)
            if word != "undecided":
                break
        return word, gap

    def one_fold(data: CrossTested, shift: float) -> tuple[str, Estimate]:
        table = data.differences[metric][:, data.folds == 0] + shift / 100
        hidden = Unmet(metric, tuple(max(1, count // FOLDS) for count in data.class_rows))
        at = follow(planned_looks(len(table)), table, np.zeros_like(table), EQUIVALENCE, hidden)[-1]
        return at.verdict, at.gap

    return {"cross-tested": complete, "without the factor": without_factor, "one fold": one_fold}


def summarize(metric: str, sets: Sequence[CrossTested], truth_seeds: int, extra: int) -> dict[str, Any]:
    """False winners and power of every procedure, and how often single intervals of 95% cover both targets."""
    tables = [100 * data.differences[metric] for data in sets]
    gaps = np.array([table.mean() for table in tables])
    result: dict[str, Any] = {"data_sets": len(sets), "spread_of_gaps": float(gaps.std(ddof=1))}
    for name, decide in procedures(metric).items():
        words = {gap: [decide(data, gap - gaps.mean())[0] for data in sets] for gap in (0.0, *GAPS)}
        shares: dict[str, float] = {"false winners": np.mean([word.endswith("wins") for word in words[0.0]]).item()}
        shares["no difference"] = float(np.mean([word == "no difference" for word in words[0.0]]))
        shares |= {f"power at {gap:g}": float(np.mean([word == "soft wins" for word in words[gap]])) for gap in GAPS}
        result[name] = shares
    for name, overlap in (("cross-tested", True), ("without the factor", False)):
        estimates = [crossed_gap(t, np.zeros_like(t), d.folds, overlap) for t, d in zip(tables, sets, strict=True)]
        halves = np.array([estimate.half_width(0.05) for estimate in estimates])
        coverage = {"other data sets": float(np.mean(np.abs(gaps - gaps.mean()) <= halves))}
        if truth_seeds:  # the truth is measured, too: its own error is added
            plain = [crossed_gap(t, np.zeros_like(t), d.folds, False) for t, d in zip(tables, sets, strict=True)]
            noise = np.array([1.96**2 * (e.run_part * e.runs / truth_seeds + e.example_part * e.examples / extra)
                              for e in plain])  # fmt: skip
            targets = np.array([100 * data.truth[metric] for data in sets])
            coverage["these training sets"] = float(np.mean(np.abs(gaps - targets) <= np.sqrt(halves**2 + noise)))
        result[f"coverage, {name}"] = coverage | {"mean_half_width": float(halves.mean())}
    return result


def curve_coverage(
    positives: int, negatives: int, areas: tuple[float, float], correlation: float, draws: int, seed: int = 0
) -> dict[str, float]:
    """How often intervals of the gap of two AUCs miss it, and their mean half-width; scores are normal by class."""
    rng = np.random.default_rng([seed, positives, int(1e4 * areas[1]), int(100 * correlation)])
    rows = positives + negatives
    truth = (np.arange(rows) < positives).astype(int)
    failure = planned_looks(SEEDS)[0].failure
    missed = {"scores alone": 0, "with the floor": 0}
    halves = {"scores alone": 0.0, "with the floor": 0.0}
    for _ in range(draws):
        shared, own = rng.standard_normal(rows), rng.standard_normal((2, rows))
        arms = []
        for area, part in zip(areas, own, strict=True):
            z = np.sqrt(2) * norm.ppf(area) * truth + np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * part
            arms.append(np.repeat(example_scores("auc", np.stack([-z, z], axis=1), truth)[None], 2, axis=0))
        for name, hidden in (
            ("scores alone", None),
            ("with the floor", Unmet("auc", (positives, negatives))),
        ):
            at = analyze(Look(2, failure), arms[0], arms[1], EQUIVALENCE, hidden)
            missed[name] += not at.low <= 100 * (areas[0] - areas[1]) <= at.high
            halves[name] += (at.high - at.low) / 2 / draws
    shares = {f"missed, {name}": count / draws for name, count in missed.items()}
    shares |= {f"half-width, {name}": half for name, half in halves.items()}
    return {"nominal": failure, **shares, "floor of counts alone": unseen("auc", (positives, negatives), failure)}


EVEN = (0, 3, 5, 6, 8)
NARROW = partial(ridge_student, width=40)
RIDGES = pairs_of(partial(NARROW, penalty=1.0), partial(NARROW, penalty=0.1))
OF_CLASSES = ("accuracy", "balanced accuracy", "log loss")  # metrics of more than two classes
SCENARIOS: dict[str, tuple[Scenario, int, int]] = {  # data sets, and seeds of the truth
    "trees, two even classes, 400 rows": (
        Scenario(400, pairs_of(tree_student, tree_student), tuple(METRICS), EVEN), 120, 0,
    ),
    "ridge, one rare class of 6%, 1,000 rows": (Scenario(1000, RIDGES, tuple(METRICS), (8,), 0.06), 150, 0),
    "ridge, ten classes, 500 rows": (Scenario(500, RIDGES, OF_CLASSES), 150, 8),
}  # fmt: skip
EXTRA = 8000
CURVES = [
    (counts, areas, correlation)
    for counts in ((20, 400), (60, 940), (200, 800))
    for areas, correlation in (
        ((0.7, 0.7), 0.5), ((0.7, 0.7), 0.95), ((0.9, 0.9), 0.9), ((0.9, 0.88), 0.9), ((0.98, 0.98), 0.9),
        ((0.98, 0.97), 0.98), ((0.998, 0.996), 0.9),
    )
]  # fmt: skip


def mnist_components() -> Population:
    """Principal components (70000, 30) of MNIST, of mean square 1 over all, and class numbers."""
    problem = load("mnist")
    x = np.asarray(problem.X, dtype=np.float32)
    x = x - x.mean(0)
    some = np.random.default_rng(0).permutation(len(x))[:5000]
    directions = np.linalg.svd(x[some], full_matrices=False)[2][:COMPONENTS]
    x = x @ directions.T
    return x / np.sqrt((x**2).mean()), np.asarray(problem.y)


def main() -> None:
    begins = tuple(sys.argv[1:]) or ("",)
    population = mnist_components()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    results |= {"folds": FOLDS, "seeds": SEEDS, "equivalence": EQUIVALENCE}
    for name, (scenario, count, truth_seeds) in SCENARIOS.items():
        if not name.startswith(begins):
            continue
        extra = EXTRA if truth_seeds else 0
        sets = [cross_test(population, scenario, draw, SEEDS, truth_seeds, extra) for draw in range(count)]
        for metric in scenario.metrics:
            summary = summarize(metric, sets, truth_seeds, extra)
            results[f"{name}: {metric}"] = summary
            print(f"{name}: {metric}: {summary}", flush=True)
        write_results(results)
    for counts, areas, correlation in CURVES if "AUC".startswith(begins) else ():
        row = curve_coverage(*counts, areas, correlation, 1000)
        results[f"AUC of {counts[0]} and {counts[1]} rows, areas {areas}, correlation {correlation}"] = row
        print(counts, areas, correlation, {key: round(value, 4) for key, value in row.items()}, flush=True)
    write_results(results)


def write_results(results: dict[str, Any]) -> None:
    """Write what there is so far."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json_text(results) + "\n")
    write_page(RESULTS.with_name("README.md"), results)


if __name__ == "__main__":
    main()
