"""How many seeds decide a comparison that too few seeds left open?

    python -m benchmarks.seeds_needed

From the spread of a finished run, differences of N seeds are drawn around the effect that is to be found, and Student's
interval of the study, adjusted for its comparisons, is computed. Printed: the smallest N with which the interval
excludes 0 in 80% of the draws.

Figure 1 of Mandal    one point per 0.1 of noise, with the spread of the five seeds of the first run
Figure 5 of Rahbar    the mean difference that the run in docs/results/kernel-regime measured, with its spread
Seeds                 the ratio of spreads that the run in docs/results/seed-variance measured, by its interval: its
                      logarithm is nearly normal, and its half-width falls with the square root of the number of seeds
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

CONFIDENCE, POWER, DRAWS, MOST = 0.95, 0.8, 20_000, 500
SLOPES = {"VGG": (-0.64, 3.71), "ResNet": (-1.17, 1.02)}  # first run of Figure 1: 95% intervals of five seeds
SLOPE_SEEDS, SLOPE, FAMILIES = 5, 1.0, 2
RESULTS = Path(__file__).parents[1] / "docs" / "results"


def power(effect: float, spread: float, seeds: int, comparisons: int, rng: np.random.Generator) -> float:
    """Share of draws whose interval excludes 0 on the side of the effect."""
    draws = rng.normal(abs(effect), spread, (DRAWS, seeds))
    quantile = student_t.isf((1 - CONFIDENCE) / comparisons / 2, seeds - 1)
    return float((draws.mean(1) > quantile * draws.std(1, ddof=1) / math.sqrt(seeds)).mean())


def seeds_needed(effect: float, spread: float, comparisons: int, rng: np.random.Generator) -> int | None:
    """The smallest number of seeds that finds the effect, or None if `MOST` do not."""
    return next((n for n in range(3, MOST) if power(effect, spread, n, comparisons, rng) >= POWER), None)


def main() -> None:
    rng = np.random.default_rng(0)
    for family, (low, high) in SLOPES.items():
        spread = (high - low) / 2 * math.sqrt(SLOPE_SEEDS) / student_t.isf((1 - CONFIDENCE) / 2, SLOPE_SEEDS - 1)
        report(f"Figure 1, {family}: slope", SLOPE, spread, FAMILIES, rng)
    figures = read("kernel-regime")["figures"]
    comparisons = sum(len(figure["comparisons"]) for figure in figures)
    for one in next(figure for figure in figures if figure["figure"] == "Figure 5")["comparisons"]:
        differences = np.subtract(one["per_seed"]["that"], one["per_seed"]["this"])
        report(f"Figure 5, {one['says']}:", differences.mean(), differences.std(ddof=1), comparisons, rng)
    spreads()


def read(study: str) -> dict[str, Any]:
    return json.loads((RESULTS / study / "results.json").read_text(encoding="utf-8"))


def spreads() -> None:
    """How many seeds show that the ratio of spreads that was measured is not 1."""
    document = read("seed-variance")
    ratio = document["endpoints"][0]
    half = math.log(ratio["high"] / ratio["low"]) / 2
    reach = 1 + norm.ppf(POWER) / norm.ppf((1 + CONFIDENCE) / 2)
    seeds = math.ceil(document["settings"]["runs"] * (half * reach / math.log(ratio["mean"])) ** 2)
    print(f"Seeds: ratio of spreads {ratio['mean']:.2f}: {seeds} seeds")


def report(name: str, effect: float, spread: float, comparisons: int, rng: np.random.Generator) -> None:
    seeds = seeds_needed(effect, spread, comparisons, rng)
    needed = f"more than {MOST} seeds" if seeds is None else f"{seeds} seeds"
    print(f"{name} {effect:.3g}, standard deviation of a seed {spread:.2g}: {needed}")


if __name__ == "__main__":
    main()
