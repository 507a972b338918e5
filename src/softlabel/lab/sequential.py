"""Adding seeds until an interval decides, without deciding wrongly more often.

Looks are planned before the first run: after R_1 < R_2 < … < R_K seeds. Look k may err with probability at most

    α_k = α(R_k/R_K) − α(R_{k−1}/R_K),        α(f) = α ln(1 + (e − 1) f)

(Pocock-type spending of Lan and DeMets; the levels are used as they are, not widened by the looks' correlation). If the
interval of look k fails with probability α_k, all of them together fail with Σ α_k = α at most, by the union bound,
whatever is done at each. A look's interval is Student's over seeds: it assumes that their gaps are roughly normal, and
seeds that fail rarely and far off break that (`python -m benchmarks.verdicts` shows by how much).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softlabel.lab.cross_test import crossed_gap
from softlabel.lab.needed_rows import rows_needed
from softlabel.lab.scores import Unmet
from softlabel.lab.statistics import Estimate, Verdict, judge, paired_gap, runs_needed

METHOD = "group-sequential paired intervals, Lan–DeMets spending of Pocock type, levels joined by the union bound"
FIRST, GROWTH = 5, 1.5
MOST_SEEDS = 10**18


@dataclass(frozen=True)
class Look:
    """One planned look: after how many seeds, and with which probability its interval may fail."""

    seeds: int
    failure: float


def planned_looks(seeds: int, confidence: float = 0.95) -> tuple[Look, ...]:
    """Looks up to a number of seeds: the first after five (or all, if few), each 1.5 times as late as the last."""
    counts = [FIRST if seeds >= GROWTH * FIRST else seeds]
    while counts[-1] < seeds:
        following = math.ceil(GROWTH * counts[-1])
        counts.append(seeds if 1.2 * following > seeds else following)
    spent = [(1 - confidence) * math.log(1 + (math.e - 1) * count / seeds) for count in counts]
    steps = np.diff([0.0, *spent]).tolist()
    return tuple(Look(count, step) for count, step in zip(counts, steps, strict=True))


@dataclass(frozen=True)
class InterimAnalysis:
    """The analysis at one planned look: the gap in points, its interval at the look's level, the verdict.

    needed      seeds that would decide if the gap and its spread are as they seem; None: no number of them
    hopeless    no number of seeds could decide, wherever in its interval over seeds the gap lies: what the choice of
                test examples leaves open is wider than the equivalence and than any gap that is still possible, or
                all seeds give the same gap (students without randomness)
    rows        test examples that would decide together with `seeds` if the gap and its variances are as they seem
                (both None where it is decided, or where more seeds would decide on these examples)
    examples    points that the choice of test examples alone leaves open, at the look's level
    """

    look: Look
    gap: Estimate
    low: float
    high: float
    verdict: Verdict
    needed: int | None
    hopeless: bool
    rows: int | None
    seeds: int | None
    examples: float

    @property
    def settled(self) -> bool:
        """Whether to stop here."""
        return self.verdict != "undecided" or self.hopeless


def analyze(
    look: Look,
    soft: np.ndarray,
    hard: np.ndarray,
    equivalence: float,
    hidden: Unmet | None = None,
    folds: np.ndarray | None = None,
) -> InterimAnalysis:
    """The gap of scores (seeds, examples) in points, soft − hard, judged at a look; `equivalence` in points.

    hidden      kinds of examples that were not met, which may hide some of the gap
    folds       the fold in which each example is tested (examples,), where every row of the data is
    """
    soft, hard = 100 * soft, 100 * hard
    gap = seen = paired_gap(soft, hard) if folds is None else crossed_gap(soft, hard, folds)
    if hidden is not None:
        gap = hidden.widen(gap, look.failure)
    low, high = gap.interval(1 - look.failure)
    verdict = judge(low, high, equivalence)
    of_runs, of_examples = gap.parts(look.failure)
    if verdict != "undecided":
        return InterimAnalysis(look, gap, low, high, verdict, None, False, None, None, of_examples)
    reach = max(equivalence, abs(gap.mean) + of_runs)
    hopeless = of_examples >= reach or gap.run_part == 0
    needed = runs_needed(gap, 1 - look.failure, equivalence)
    rows = seeds = None
    if hopeless or needed is None:
        near = max(abs(gap.mean), equivalence - abs(gap.mean), 1e-3)  # the interval must be narrower to decide
        rows, seeds = _rows_and_seeds(seen, look.failure, near, hidden)
    return InterimAnalysis(look, gap, low, high, verdict, needed, hopeless, rows, seeds, of_examples)


def _rows_and_seeds(gap: Estimate, failure: float, half: float, hidden: Unmet | None) -> tuple[int, int]:
    """Test rows and seeds whose interval has this half-width together.

    Seeds are added until they make up at most half of the squared half-width; rows are added for the rest of it.
    """

    def of_seeds(seeds: int) -> float:
        return gap.with_runs(seeds).parts(failure)[0]

    seeds = bisect_left(range(MOST_SEEDS), True, lo=gap.runs, key=lambda count: of_seeds(count) <= half / math.sqrt(2))
    of_rows = math.sqrt(half**2 - of_seeds(seeds) ** 2)
    unmet = 0.0 if hidden is None else hidden.points(gap, failure) * gap.examples
    joined = hidden is not None and hidden.joined
    rows = rows_needed(of_rows, failure, gap.example_part * gap.examples, unmet, joined)
    return max(rows, gap.examples + 1), seeds


def follow(
    looks: Sequence[Look],
    soft: np.ndarray,
    hard: np.ndarray,
    equivalence: float,
    hidden: Unmet | None = None,
    folds: np.ndarray | None = None,
) -> list[InterimAnalysis]:
    """Look after look at the first rows of scores (seeds, examples), until one settles the question."""
    analyses = []
    for look in looks:
        if look.seeds > len(soft) or (analyses and analyses[-1].settled):
            break
        analyses.append(analyze(look, soft[: look.seeds], hard[: look.seeds], equivalence, hidden, folds))
    return analyses
