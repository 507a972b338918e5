"""Numbers on the pages of docs/results that are computed from published values of single seeds.

    python -m benchmarks.per_seed

ordinary        where each printed number lies among single runs, and each printed gap among pairs of runs
table1          runs that fall behind with the settings that each arm chose, and by how much the gap on the smallest
                ball is larger on all digits (half-widths of the published intervals added: the sets share images)
initialization  change of the gap on the ball by each initialization
robustness      accuracy of each arm by the share of wrong labels, and the median on Fashion-MNIST
seed-variance   ratio of the spreads over seeds without the assumption of normal distributions, and tenth percentiles
sample-size     slope of the gap from 2,000 rows on, the median gap at 500 rows, and the power of n that margins follow
kernel-regime   a student with a fresh initialization against one without a teacher
width-scaling   widths on images for an error of 0.03, where some lie beyond those that were tried
figure1         the slope without the seeds that its size was planned with, and without each seed of which one student
                is at chance (both adjusted for two families), students at chance by other limits, whether more of them
                have hard labels (exact McNemar test), and students that used all epochs

Intervals are over seeds alone and not adjusted, unless it says so here.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from softlabel.lab.statistics import Interval

RESULTS = Path(__file__).parents[1] / "docs" / "results"
CENTRAL, NEAR, DRAWS, BEHIND, SMALLEST_BALL = (0.025, 0.975), 0.5, 20_000, 88, 12.5
PLANNED_WITH, LIMITS = 5, (51, 53, 55)  # seeds of the first run of figure1; validation accuracies


def read(study: str) -> dict[str, Any]:
    return json.loads((RESULTS / study / "results.json").read_text(encoding="utf-8"))


def ordinary() -> None:
    """A row per cell of the paper's table: printed, median, central 95%, quantiles of one run and of the best of k."""
    cells = {(one["dataset"], one["width"], one["arm"]): one for one in read("ordinary")["printed"]}
    print("| | printed | median (central 95%) | runs below | best of 3, 5, 10 below | best epoch below | within 0.5 |")
    for (dataset, width, arm), one in cells.items():
        values, best = np.array(one["values"]), one["best_of"]
        near = np.mean(np.abs(values - one["printed"]) <= NEAR)
        low, high = (one["quantiles"][str(q)] for q in CENTRAL)
        below = ", ".join(f"{best[k]:.0%}" for k in ("3", "5", "10"))
        print(f"| {dataset}: {width}, {arm} | {one['printed']:.2f} | {np.median(values):.2f} ({low:.2f} … {high:.2f}) "
              f"| {one['below']['mean']:.0%} | {below} | {one['best_epoch']:.0%} | {near:.0%} |")  # fmt: skip
    for dataset, width in dict.fromkeys((key[0], key[1]) for key in cells):
        hard, soft = (cells[dataset, width, arm] for arm in ("hard", "soft"))
        pairs, printed = np.subtract(soft["values"], hard["values"]), soft["printed"] - hard["printed"]
        low, high = np.quantile(pairs, CENTRAL)
        print(f"{dataset}, {width}: printed gap {printed:.2f}; single pairs {low:+.2f} … {high:+.2f} (central 95%), "
              f"{np.mean(pairs >= printed):.0%} reach it")  # fmt: skip


def gaps(row: dict[str, Any]) -> np.ndarray:
    """soft − hard by seed."""
    return np.subtract(row["per_seed"]["soft"], row["per_seed"]["hard"])


def table1() -> None:
    document = read("table1")
    ball = [row for row in document["common_radius"] if row["hard"]["chosen"]["radius"] == SMALLEST_BALL]
    gap_of = {(row["dataset"], row["width"]): row["gap"] for row in ball}
    for width in (8, 6, 4):
        full, reduced = (gap_of[name, width] for name in ("all digits", "all except 1,7,4,9"))
        low, high = full["low"] - reduced["high"], full["high"] - reduced["low"]
        print(f"table1, B = {SMALLEST_BALL}, {width} neurons: gap on all digits − gap on the reduced set "
              f"{full['mean'] - reduced['mean']:+.2f} ({low:+.2f} … {high:+.2f})")  # fmt: skip
    rows = document["rows"]
    for arm in ("hard", "soft"):
        values = np.concatenate([row["per_seed"][arm] for row in rows if row["dataset"] == "all digits"])
        behind = np.sort(values[values < BEHIND])
        print(f"table1, all digits, {arm}: {len(behind)} of {len(values)} runs below {BEHIND}%: {np.round(behind, 1)}")


def initialization() -> None:
    rows = {one["condition"]: gaps(one) for one in read("initialization")["rows"]}
    for name, values in rows.items():
        if name.endswith("B = 25") and not name.startswith("symmetric"):
            change = Interval.from_runs(values - rows["symmetric, B = 25"], 0.95)
            print(f"initialization, {name}: gap − gap of symmetric {change:+.2f}")


def robustness() -> None:
    document = read("robustness")
    rows = {one["condition"]: one for one in document["rows"]}
    settings = document["settings"]["conditions"]
    shares = {one["name"]: one["label_noise"] for one in settings if one["data"] == "mnist"}
    for arm in ("hard", "soft"):
        accuracies = np.array([rows[name]["per_seed"][arm] for name in shares])
        slopes = np.polyfit(10 * np.array(list(shares.values())), accuracies, 1)[0]
        print(f"robustness, {arm}: {Interval.from_runs(slopes, 0.95):+.2f} points per 10% of wrong labels")
    fashion = rows["Fashion-MNIST"]
    medians = ", ".join(f"{arm} {np.median(fashion['per_seed'][arm]):.1f}" for arm in ("hard", "soft"))
    ahead = f"soft ahead in {np.sum(gaps(fashion) > 0)} of {fashion['gap']['runs']}"
    print(f"robustness, Fashion-MNIST: medians {medians}; {ahead}")


def seed_variance() -> None:
    """Geometric means over conditions: of standard deviations with a bootstrap interval, of interquartile ranges."""
    conditions = read("seed-variance")["rows"]
    rows = [[np.array(one["per_seed"][arm]) for arm in ("soft", "hard")] for one in conditions]
    rng = np.random.default_rng(0)
    logs, draws = [], []
    for soft, hard in rows:
        logs.append(np.log(soft.std(ddof=1) / hard.std(ddof=1)))
        chosen = rng.integers(len(soft), size=(DRAWS, len(soft)))  # the same seeds in both arms
        draws.append(np.log(soft[chosen].std(1, ddof=1) / hard[chosen].std(1, ddof=1)))
    low, high = np.exp(np.quantile(np.mean(draws, axis=0), CENTRAL))
    print(
        f"seed-variance: ratio of standard deviations {np.exp(np.mean(logs)):.2f} ({low:.2f} … {high:.2f}, bootstrap)"
    )
    quartiles = [[np.subtract(*np.quantile(values, (0.75, 0.25))) for values in row] for row in rows]
    print(f"seed-variance: ratio of interquartile ranges {np.exp(np.mean([np.log(s / h) for s, h in quartiles])):.2f}")
    tenths = [np.subtract(*(np.quantile(values, 0.1) for values in row)) for row in rows]
    each = ", ".join(f"{one['condition']} {tenth:+.2f}" for one, tenth in zip(conditions, tenths, strict=True))
    print(f"seed-variance: tenth percentile, soft − hard {np.mean(tenths):+.2f} ({each})")


def sample_size() -> None:
    document = read("sample-size")
    rows = {one["position"]: gaps(one) for one in document["rows"]}
    print(f"sample-size: median gap at 500 rows {np.median(rows.pop(500.0)):+.1f}")
    slopes = np.polyfit(np.log10(list(rows)), np.array(list(rows.values())), 1)[0]
    print(f"sample-size: slope per tenfold number from 2,000 rows on {Interval.from_runs(slopes, 0.95):.2f}")
    margins = [one for ones in document["margins"].values() for one in ones]
    sizes = sorted({one["rows"] for one in margins})
    ends = np.array(
        [[[one[end] for one in margins if one["rows"] == rows] for rows in sizes] for end in ("lower", "upper")]
    )  # (ends, sizes, seeds)
    power, first = np.polyfit(np.log(sizes), np.log(ends).mean((0, 2)), 1)
    decades = math.log(sizes[-1] / sizes[0])
    steepest = math.log(ends[0, -1].min() / ends[1, 0].max()) / decades
    flattest = math.log(ends[1, -1].max() / ends[0, 0].min()) / decades
    print(f"sample-size: γ* as n^{power:.2f} from {sizes[0]:,} to {sizes[-1]:,} rows (the intervals of all seeds allow "
          f"{steepest:.2f} to {flattest:.2f}); at 60,000 rows {math.exp(first) * 60_000**power:.4f}")  # fmt: skip


def kernel_regime() -> None:
    comparisons = {c["says"]: c for figure in read("kernel-regime")["figures"] for c in figure["comparisons"]}
    fresh, alone = (
        comparisons[f"test loss: student < {name}"]["per_seed"]["that"] for name in ("no start", "no teacher")
    )
    difference = Interval.from_runs(np.subtract(fresh, alone), 0.95)
    print(f"kernel-regime: fresh initialization − no teacher {difference:+.3f}")


def width_scaling() -> None:
    """Median widths with soft and hard labels, infinite beyond those tried, and in how many seeds soft needs fewer."""
    for study in ("width-scaling", "width-scaling-images"):
        document = read(study)
        tried = document["settings"]["narrow"]  # with hard labels
        needed = {
            (one["dial"], one["arm"]): (one["gamma"], np.array([value or math.inf for value in one["per_seed"]]))
            for one in document["needed"]
            if (one["source"], one["quantity"], one["epsilon"]) == ("images", "train", 0.03)
        }
        for dial in sorted({dial for dial, _ in needed}):
            (gamma, soft), (_, hard) = (needed[dial, arm] for arm in ("soft, theorem", "hard"))
            medians = " and ".join(f"{sorted(values)[len(values) // 2]:g}" for values in (soft, hard))
            unknown = np.isinf(hard) & (soft > tried)
            print(f"{study}, images, γ = {gamma:.3f}, ε = 0.03: medians {medians}; soft labels need fewer in "
                  f"{np.sum((soft < hard) & ~unknown)} of {len(soft)} seeds, unknown in {unknown.sum()}")  # fmt: skip


def figure1() -> None:
    document = read("figure1")
    for family in document["families"]:
        name, levels = family["family"], family["levels"]
        noise = [one["noise"] for one in levels]
        slopes = np.polyfit(noise, [gaps({"per_seed": one["per_seed"]["accuracy"]}) for one in levels], 1)[0] / 10
        confidence = 1 - 0.05 / len(document["families"])
        fresh = Interval.from_runs(slopes[PLANNED_WITH:], confidence)
        print(f"figure1, {name}: slope {fresh:+.2f} without the first {PLANNED_WITH} seeds, {fresh.runs} are left")
        limit = document["settings"]["started"]
        failed = [
            any(min(one["per_seed"]["validation"][arm][seed] for one in levels) < limit for arm in ("hard", "soft"))
            for seed in range(len(slopes))
        ]
        for seed in np.flatnonzero(failed):
            rest = Interval.from_runs(np.delete(slopes, seed), confidence)
            print(f"figure1, {name}: slope {rest:+.3f} without seed {seed}, of which a student is at chance")
        for one in levels:
            validation, epochs = (one["per_seed"][metric] for metric in ("validation", "epochs"))
            hard, soft = (np.array(validation[arm]) < document["settings"]["started"] for arm in ("hard", "soft"))
            if np.any(hard != soft):
                p = binomtest(int(np.sum(hard & ~soft)), int(np.sum(hard != soft))).pvalue
                print(f"figure1, {name}, noise {one['noise']:g}: at chance with one kind of labels only: "
                      f"{np.sum(hard & ~soft)} hard, {np.sum(soft & ~hard)} soft, p = {p:.3f}")  # fmt: skip
            for arm in ("teacher", "hard", "soft"):
                chance = ", ".join(f"{np.sum(np.array(validation[arm]) < limit)} below {limit}%" for limit in LIMITS)
                longest = np.sum(np.array(epochs[arm]) == document["settings"]["epochs"])
                print(f"figure1, {name}, noise {one['noise']:g}, {arm}: validation {chance}; {longest} of "
                      f"{len(epochs[arm])} used all epochs")  # fmt: skip


def main() -> None:
    for part in (
        ordinary,
        table1,
        initialization,
        robustness,
        seed_variance,
        sample_size,
        kernel_regime,
        width_scaling,
        figure1,
    ):
        part()


if __name__ == "__main__":
    main()
