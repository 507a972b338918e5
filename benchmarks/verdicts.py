"""Are verdicts calibrated? Hundreds of simulated verdicts with the spread of real runs.

    python -m benchmarks.verdicts

Real runs: 64 pairs of students of eight neurons on MNIST, hard and soft labels, as `softlabel verdict` trains them.
Their differences, example by example, are a table D (seeds × test rows) whose mean is taken away. A simulated verdict
draws seeds (four at a time, as they share the order of batches) and test rows from it with replacement, and adds a true
gap: 0, or twice the equivalence range. It goes its way as a real one does, look after look. With no gap at most 31 of
400 may name a winner (5%, and chance); with the gap at least 90% must find it within the default budget.
"""

import numpy as np

from benchmarks.measure import write
from softlabel.data import load
from softlabel.lab.scores import Unmet, example_scores
from softlabel.lab.sequential import follow, planned_looks
from softlabel.studies.students.recipe import TOGETHER, StudentCell, recipe_for
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.students.training import probabilities, train_cells
from softlabel.teachers.sources import query_teacher

PAIRS, WIDTH, REPETITIONS = 64, 8, 400
MARGIN, SEEDS = 0.5, 40
SPREAD, FAR, RARE = 0.6, 5.5, (1_000_000, 64, 32, 16)


def main() -> None:
    difference = real_differences()
    difference -= difference.mean()
    gaps = 100 * difference.mean(1)
    farthest = float(gaps[np.abs(gaps).argmax()])
    print(f"gaps of {PAIRS} real pairs: spread {gaps.std(ddof=1):.2f} points, the farthest {farthest:+.2f} from their "
          f"mean; test rows: {difference.shape[1]:,}", flush=True)  # fmt: skip
    found: dict[str, object] = {"pairs": PAIRS, "width": WIDTH, "spread_points": float(gaps.std(ddof=1)),
                                "farthest_points": farthest}  # fmt: skip
    for gap in (0.0, 2 * MARGIN, -2 * MARGIN):
        counts = simulate(difference, gap, REPETITIONS)
        found[f"gap {gap:+g}"] = counts
        print(f"true gap {gap:+.1f} points: {counts}", flush=True)
    wins = found["gap +0"]
    assert isinstance(wins, dict)
    wrong = wins.get("soft wins", 0) + wins.get("hard wins", 0)
    print(f"winners without a gap: {wrong} of {REPETITIONS}  (asked: at most 31)")
    print(f"gap of twice the margin found: {found['gap +1']['soft wins'] / REPETITIONS:.1%}  (asked: ≥ 90%)")  # type: ignore[index]
    for rate in RARE:
        share = rare_failures(rate)
        found[f"one seed in {rate} fails"] = share
        print(f"no true gap, and one seed in {rate} lies {FAR} points off: {share:.1%} name a winner", flush=True)
    write("verdicts", found)


def rare_failures(rate: int, repetitions: int = 2000) -> float:
    """Share of verdicts that name a winner though the mean gap is 0, where one seed in `rate` lies far off.

    Of seeds alone: test rows are so many that they leave nothing open.
    """
    rng = np.random.default_rng(rate)
    wins = 0
    for _ in range(repetitions):
        gaps = SPREAD * rng.standard_normal(SEEDS) - FAR * (rng.random(SEEDS) < 1 / rate) + FAR / rate
        table = np.repeat(gaps[:, None] / 100, 2, axis=1)
        wins += follow(planned_looks(SEEDS), table, np.zeros_like(table), MARGIN)[-1].verdict.endswith("wins")
    return wins / repetitions


def real_differences(data: str = "mnist", pairs: int = PAIRS, width: int = WIDTH) -> np.ndarray:
    """soft − hard of every seed and test row."""
    problem = load(data)
    taught = TaughtProblem.from_predictions(problem, query_teacher(problem, "auto"))
    recipe = recipe_for(len(problem.train))
    truth = problem.test.y
    tables = []
    for first in range(0, pairs, TOGETHER):
        cells = [
            StudentCell(stage="test", arm=arm, width=width, seed=seed, learning_rate=0.03, temperature=heat)
            for arm, heat in (("hard", 1.0), ("soft", 2.0))
            for seed in range(first, first + TOGETHER)
        ]
        right = [
            example_scores("accuracy", probabilities(student.network.logits(taught.test.X)), truth)
            for student in train_cells(taught, recipe, cells)
        ]
        tables.append(np.array(right[TOGETHER:], dtype=np.float32) - np.array(right[:TOGETHER], dtype=np.float32))
    return np.concatenate(tables)


def simulate(
    difference: np.ndarray, gap: float, repetitions: int, test_rows: int | None = None, seed: int = 0
) -> dict[str, float]:
    """Verdicts by name, and the mean number of seeds they took; `test_rows` drawn for each, by default all."""
    rng = np.random.default_rng([seed, int(100 * gap) + 1000])
    looks = planned_looks(SEEDS)
    drawn = test_rows or difference.shape[1]

    hidden = Unmet("accuracy", (drawn,))

    counts: dict[str, float] = {}
    taken = []
    for _ in range(repetitions):
        seeds = rng.integers(len(difference), size=SEEDS)
        rows = rng.integers(difference.shape[1], size=drawn)
        table = difference[seeds][:, rows] + gap / 100
        *_, at = follow(looks, table, np.zeros_like(table), MARGIN, hidden)
        counts[at.verdict] = counts.get(at.verdict, 0) + 1
        taken.append(at.look.seeds)
    return counts | {"mean_seeds": float(np.mean(taken))}


if __name__ == "__main__":
    main()
