"""How sure a number is: intervals over runs and test examples, comparisons, and how many runs would decide.

A run r and a test example i give x_ri: 1 where run r is right on example i, or the difference of two arms that share
r's seed. Both runs and examples are samples, and every run meets the same examples, so the model is

    x_ri = mean + run_r + example_i + rest_ri,        independent, with variances σ_r², σ_i², σ_e²
    Var(mean of all) = σ_r²/R + σ_i²/n + σ_e²/(Rn)

estimated by the mean squares of a two-way table. Runs and examples have a Student interval each; the interval of the
mean joins their half-widths in quadrature, which is exact where one of them dominates and a little wide in between (one
interval with Satterthwaite's degrees of freedom covers too seldom for three runs). It speaks of new seeds and new test
examples together; training data, validation split and the choice of settings are fixed. Several comparisons:
p-values are Holm's, intervals Bonferroni's (each at 1 − α/k).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from softlabel.errors import require

Verdict = Literal["soft wins", "hard wins", "no difference", "undecided"]
MOST_RUNS = 10_000
SMALLEST_P = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and test examples, and the sources of its error.

    Attributes
    ----------
    mean : float
        The mean.
    runs, examples : int
        Number of runs R and of test examples n.
    run_part : float
        What the runs contribute to the variance of the mean, σ_r²/R + σ_e²/(Rn).
    example_part : float
        What the examples contribute, σ_i²/n.
    effect : float or None
        Mean divided by the standard deviation between runs (of a paired gap: Cohen's d_z).
    farthest : float
        How far the mean over runs of one example lies from the mean at most.

    Examples
    --------
    >>> import softlabel as sl
    >>> estimate = sl.Estimate(mean=0.9, runs=10, examples=500, run_part=1e-5, example_part=1e-4, effect=None)
    >>> low, high = estimate.interval(confidence=0.95)
    >>> low < 0.9 < high
    True
    """

    mean: float
    runs: int
    examples: int
    run_part: float
    example_part: float
    effect: float | None
    farthest: float = 0.0

    @property
    def error(self) -> float:
        return math.sqrt(self.run_part + self.example_part)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Two-sided interval of that confidence."""
        half = self.half_width(1 - confidence)
        return self.mean - half, self.mean + half

    def half_width(self, failure: float) -> float:
        """Half of the interval that fails with this probability."""
        return _half_width(self.run_part, self.runs, self.example_part, self.examples, failure)

    def parts(self, failure: float) -> tuple[float, float]:
        """What runs and what examples contribute to that half: of one of them alone."""
        return (
            _half_width(self.run_part, self.runs, 0.0, self.examples, failure),
            _half_width(0.0, self.runs, self.example_part, self.examples, failure),
        )

    def at_least(self, half: float, failure: float) -> "Estimate":
        """The same with the variance of examples raised, so that they alone make the half-width at least `half`."""
        least = (half / _quantile(failure, self.examples)) ** 2
        return replace(self, example_part=max(self.example_part, least))

    def joined_with(self, half: float, failure: float) -> "Estimate":
        """The same with the variance of examples raised, so that `half` is joined to their half-width in quadrature."""
        return replace(self, example_part=self.example_part + (half / _quantile(failure, self.examples)) ** 2)

    def with_runs(self, runs: int) -> "Estimate":
        """The same estimate from another number of runs, if the variance between runs stays as it is."""
        return replace(self, runs=runs, run_part=self.run_part * self.runs / runs)

    def p_value(self) -> float:
        """Two-sided, for a mean of zero: the failure probability at which the interval just reaches it."""
        if self.mean == 0 or self.error == 0:
            return 1.0 if self.mean == 0 else 0.0
        if self.half_width(SMALLEST_P) < abs(self.mean):
            return SMALLEST_P
        exponent = brentq(lambda x: self.half_width(math.exp(x)) - abs(self.mean), math.log(SMALLEST_P), 0.0)
        return math.exp(float(exponent))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its interval, such as the gap of a `Verdict`.

    Attributes
    ----------
    mean : float
        The mean.
    low, high : float
        The ends of its interval.
    runs : int
        Number of seeds.

    Examples
    --------
    >>> import softlabel as sl
    >>> gap = sl.Interval(mean=1.234, low=0.5, high=2.0, runs=10)
    >>> f"{gap:+.2f} points"
    '+1.23 (+0.50 … +2.00) points'
    """

    mean: float
    low: float
    high: float
    runs: int

    @classmethod
    def from_runs(cls, values: np.ndarray, confidence: float) -> "Interval":
        """Student's interval of the mean of values (runs,)."""
        mean, low, high = (float(number) for number in student_interval(values, confidence))
        return cls(mean, low, high, len(values))

    @classmethod
    def from_estimate(cls, estimate: Estimate, confidence: float) -> "Interval":
        """The interval of an estimate."""
        return cls(estimate.mean, *estimate.interval(confidence), estimate.runs)

    @classmethod
    def from_share(cls, estimate: Estimate, confidence: float) -> "Interval":
        """The interval of a share, which lies between 0 and 1."""
        low, high = estimate.interval(confidence)
        return cls(estimate.mean, max(low, 0.0), min(high, 1.0), estimate.runs)

    def to_dict(self) -> dict[str, float]:
        """Mean and ends as JSON values."""
        return {"mean": self.mean, "low": self.low, "high": self.high}

    def __format__(self, digits: str) -> str:
        return f"{self.mean:{digits}} ({self.low:{digits}} … {self.high:{digits}})"


def student_interval(values: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over runs and the ends of its Student interval, for values (runs, …)."""
    mean, error = values.mean(0), values.std(0, ddof=1) / math.sqrt(len(values))
    half = _quantile(1 - confidence, len(values)) * error
    return mean, mean - half, mean + half


def crossed_mean(table: np.ndarray) -> Estimate:
    """The mean of x (runs, examples) under the model above; needs two runs and two examples."""
    x = np.asarray(table, dtype=np.float64)
    require(x.ndim == 2 and min(x.shape) >= 2, f"a mean needs at least two runs and two examples, got shape {x.shape}")
    runs, examples = x.shape
    by_run, by_example, value = x.mean(1), x.mean(0), float(x.mean())
    between_runs = float(by_run.var(ddof=1))  # σ_r² + σ_e²/n
    between_examples = float(by_example.var(ddof=1))  # σ_i² + σ_e²/R
    run_part = between_runs / runs
    example_part = max(0.0, between_examples - _residual(x) / runs) / examples
    effect = value / math.sqrt(between_runs) if between_runs > 0 else None
    return Estimate(value, runs, examples, run_part, example_part, effect, float(np.abs(by_example - value).max()))


def _residual(x: np.ndarray) -> float:
    """Mean square of a table (runs, examples) without the effects of runs and examples: σ_e²."""
    rest = x - x.mean(1)[:, None] - x.mean(0)[None, :] + x.mean()
    return float((rest**2).sum()) / ((x.shape[0] - 1) * (x.shape[1] - 1))


def crossed_difference(first: np.ndarray, second: np.ndarray, confidence: float) -> Interval:
    """Mean of the first table minus that of the second, (runs, examples) each, of different runs on the same examples.

    Effects of an example may be alike in both tables, so that their part is the variance of the differences between
    means of an example, without what the rest of either table contributes. The runs of either table have a Student
    interval each; all half-widths are joined in quadrature.
    """
    tables = [np.asarray(one, dtype=np.float64) for one in (first, second)]
    require(
        all(one.ndim == 2 and min(one.shape) >= 2 for one in tables) and tables[0].shape[1] == tables[1].shape[1],
        f"a difference needs at least two runs and two examples, the same in both tables, got shapes {tables[0].shape} "
        f"and {tables[1].shape}",
    )
    by_example = tables[0].mean(0) - tables[1].mean(0)
    examples, failure = len(by_example), 1 - confidence
    rest = sum(_residual(one) / len(one) for one in tables)
    square = _quantile(failure, examples) ** 2 * max(0.0, float(by_example.var(ddof=1)) - rest) / examples
    square += sum(_quantile(failure, len(one)) ** 2 * float(one.mean(1).var(ddof=1)) / len(one) for one in tables)
    mean, half = float(by_example.mean()), math.sqrt(square)
    return Interval(mean, mean - half, mean + half, min(len(one) for one in tables))


def _half_width(run_part: float, runs: int, example_part: float, examples: int, failure: float) -> float:
    of_runs, of_examples = (_quantile(failure, count) for count in (runs, examples))
    return math.sqrt(of_runs**2 * run_part + of_examples**2 * example_part)


def _quantile(failure: float, count: int) -> float:
    """Half-width of Student's interval for the mean of `count` values, in standard errors."""
    return -float(stdtrit(count - 1, failure / 2))  # as `scipy.stats.t.isf`, a hundred times faster


def paired_gap(soft: np.ndarray, hard: np.ndarray) -> Estimate:
    """Mean of soft − hard, (runs, examples) each; row r of both has the same seed."""
    require(soft.shape == hard.shape, f"paired arms must have one shape, got {soft.shape} and {hard.shape}")
    return crossed_mean(np.asarray(soft, dtype=np.float64) - np.asarray(hard, dtype=np.float64))


def share_interval(count: int, runs: int, confidence: float) -> Interval:
    """Wilson's interval of a share: `count` of `runs` runs."""
    z = -float(ndtri((1 - confidence) / 2))
    share, weight = count / runs, z * z / runs
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / runs + weight / runs / 4)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Interval(share, min(low, share), max(high, share), runs)


def paired_spread_ratio(first: Sequence[float], second: Sequence[float], confidence: float) -> Interval:
    """The logarithm of the ratio of two standard deviations, of values paired by run: ln(s_1/s_2).

    Morgan's and Pitman's interval, exact for pairs with a normal distribution: with the correlation r of n pairs and
    Student's quantile t for n − 2 degrees of freedom, the ratio of variances lies within its estimate times
    k ± √(k² − 1), k = 1 + 2(1 − r²)t²/(n − 2).
    """
    pairs = np.array([first, second], dtype=np.float64)
    n = pairs.shape[1]
    require(n >= 3, f"the ratio of two spreads needs at least three runs, got {n}")
    (a, both), (_, b) = np.cov(pairs)
    require(a > 0 and b > 0, "the ratio of two spreads needs values that differ from run to run")
    t = _quantile(1 - confidence, n - 1)
    k = 1 + 2 * max(0.0, 1 - both * both / (a * b)) * t * t / (n - 2)
    middle, half = math.log(a / b) / 2, math.log(k + math.sqrt(k * k - 1)) / 2
    return Interval(middle, middle - half, middle + half, n)


def stratified_difference(
    first: Sequence[float],
    second: Sequence[float],
    strata: tuple[Sequence[int], Sequence[int]],
    confidence: float,
) -> Interval | None:
    """The mean of the first values minus that of the second ones within strata; None if no stratum has enough of both.

    Strata with at least two values of each are weighted by n_1 n_2/(n_1 + n_2), the precision of their difference;
    Student's interval with the variance within strata, by arm and pooled over strata.
    """
    values = [np.asarray(one, dtype=np.float64) for one in (first, second)]
    groups = [np.asarray(one) for one in strata]
    differences, weights, errors, squares, degrees = [], [], [], np.zeros(2), np.zeros(2)
    for stratum in sorted(set(groups[0].tolist()) & set(groups[1].tolist())):
        a, b = (value[group == stratum] for value, group in zip(values, groups, strict=True))
        if min(len(a), len(b)) < 2:
            continue
        differences.append(float(a.mean() - b.mean()))
        weights.append(len(a) * len(b) / (len(a) + len(b)))
        errors.append((1 / len(a), 1 / len(b)))
        squares += [float(((one - one.mean()) ** 2).sum()) for one in (a, b)]
        degrees += [len(a) - 1, len(b) - 1]
    if not weights:
        return None
    share = np.array(weights) / sum(weights)
    mean = float(share @ differences)
    half = _quantile(1 - confidence, int(degrees.sum()) + 1) * math.sqrt(
        float(share**2 @ np.array(errors) @ (squares / degrees))
    )
    return Interval(mean, mean - half, mean + half, int(min(len(one) for one in values)))


def sum_of_independent(estimates: Sequence[Estimate], confidence: float) -> Interval:
    """The sum of means over independent samples, for example of different test sets; half-widths add in quadrature."""
    return _sum(estimates, math.hypot(*(estimate.half_width(1 - confidence) for estimate in estimates)))


def sum_of_dependent(estimates: Sequence[Estimate], confidence: float) -> Interval:
    """The sum of means over samples that may overlap; half-widths add, which covers any dependence."""
    return _sum(estimates, sum(estimate.half_width(1 - confidence) for estimate in estimates))


def _sum(estimates: Sequence[Estimate], half: float) -> Interval:
    mean = sum(estimate.mean for estimate in estimates)
    return Interval(mean, mean - half, mean + half, min(estimate.runs for estimate in estimates))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the same order."""
    order = np.argsort(p_values, kind="stable")
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def runs_needed(gap: Estimate, confidence: float = 0.95, equivalence: float = 0.0) -> int | None:
    """The fewest runs whose interval would decide, were the gap and its variances as they seem now.

    It decides when it excludes 0, or lies within ±equivalence. None: no number of runs does, test examples are
    too few.
    """
    lowest = abs(gap.mean)
    margins = [lowest] + ([equivalence - lowest] if equivalence > lowest else [])

    def decides(runs: int) -> bool:
        half = gap.with_runs(runs).half_width(1 - confidence)
        return half == 0 or any(half < margin for margin in margins)

    if not decides(MOST_RUNS):
        return None
    return bisect_left(range(MOST_RUNS), True, lo=2, key=decides)  # more runs never undecide


def judge(low: float, high: float, equivalence: float) -> Verdict:
    """What an interval of soft − hard says; within ±equivalence no difference that matters is left."""
    if -equivalence < low and high < equivalence:
        return "no difference"
    if low > 0:
        return "soft wins"
    if high < 0:
        return "hard wins"
    return "undecided"
