"""Numbers on the pages of docs/results that are computed from published values of single seeds.

    python -m benchmarks.per_seed

ordinary        where each printed number lies among single runs, and each printed gap among pairs of runs
seed-variance   ratio of the spreads over seeds without the assumption of normal distributions
sample-size     slope of the gap from 2,000 rows on, and the median gap at 500 rows
kernel-regime   a student with a fresh initialization against one without a teacher
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.lab.statistics import Interval

RESULTS = Path(__file__).parents[1] / "docs" / "results"
CENTRAL, NEAR, DRAWS = (0.025, 0.975), 0.5, 20_000


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
        gaps, printed = np.subtract(soft["values"], hard["values"]), soft["printed"] - hard["printed"]
        low, high = np.quantile(gaps, CENTRAL)
        print(f"{dataset}, {width}: printed gap {printed:.2f}; single pairs {low:+.2f} … {high:+.2f} (central 95%), "
              f"{np.mean(gaps >= printed):.0%} reach it")  # fmt: skip


def seed_variance() -> None:
    """Geometric means over conditions: of standard deviations with a bootstrap interval, of interquartile ranges."""
    rows = [[np.array(one["per_seed"][arm]) for arm in ("soft", "hard")] for one in read("seed-variance")["rows"]]
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


def sample_size() -> None:
    rows = {
        one["position"]: np.subtract(one["per_seed"]["soft"], one["per_seed"]["hard"])
        for one in read("sample-size")["rows"]
    }
    print(f"sample-size: median gap at 500 rows {np.median(rows.pop(500.0)):+.1f}")
    slopes = np.polyfit(np.log10(list(rows)), np.array(list(rows.values())), 1)[0]
    print(f"sample-size: slope per tenfold number from 2,000 rows on {Interval.from_runs(slopes, 0.95):.2f}")


def kernel_regime() -> None:
    comparisons = {c["says"]: c for figure in read("kernel-regime")["figures"] for c in figure["comparisons"]}
    fresh, alone = (
        comparisons[f"test loss: student < {name}"]["per_seed"]["that"] for name in ("no start", "no teacher")
    )
    difference = Interval.from_runs(np.subtract(fresh, alone), 0.95)
    print(f"kernel-regime: fresh initialization − no teacher {difference:+.3f}")


def main() -> None:
    for part in (ordinary, seed_variance, sample_size, kernel_regime):
        part()


if __name__ == "__main__":
    main()
