"""How many seeds decide whether the gap of Figure 1 grows by one point per 0.1 of noise?

    python -m benchmarks.figure1_power

From the spread of the five seeds of the first run (its slope's interval is Student's, so it gives the standard
deviation of a single seed's slope) slopes of N seeds are drawn with a mean of one point, and the interval of the study,
adjusted for two families, is computed. Printed: the smallest N with which it excludes 0 in 80% of the draws.
"""

import math

import numpy as np
from scipy.stats import t as student_t

SLOPES = {"vgg": (-0.64, 3.71), "resnet": (-1.17, 1.02)}  # docs/results/figure1, first run: 95% intervals of five seeds
SEEDS, EFFECT, POWER, FAMILIES, DRAWS = 5, 1.0, 0.8, 2, 20_000


def power(spread: float, seeds: int, rng: np.random.Generator) -> float:
    """Share of draws whose interval lies above 0."""
    slopes = rng.normal(EFFECT, spread, (DRAWS, seeds))
    half = student_t.isf(0.05 / FAMILIES / 2, seeds - 1) * slopes.std(1, ddof=1) / math.sqrt(seeds)
    return float((slopes.mean(1) > half).mean())


def main() -> None:
    rng = np.random.default_rng(0)
    for family, (low, high) in SLOPES.items():
        spread = (high - low) / 2 * math.sqrt(SEEDS) / student_t.isf(0.025, SEEDS - 1)
        seeds = next(n for n in range(3, 1000) if power(spread, n, rng) >= POWER)
        print(
            f"{family}: a seed's slope has a standard deviation of {spread:.2f}; {seeds} seeds decide a slope of "
            f"{EFFECT:g}"
        )


if __name__ == "__main__":
    main()
