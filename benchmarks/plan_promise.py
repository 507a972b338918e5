"""Does `plan` keep its promise? Thirty plans on digits, and fresh students of every planned width.

    python -m benchmarks.plan_promise

Every plan has a split of its own and a target of 90, 92 or 94 per cent. Fresh students of the planned width, each with
its own start and order of batches, are then trained one at a time; a plan keeps its promise where they reach the target
with probability ≥ 90%. By the stated confidence at most 5% of plans may fail. Forty students tell 90% from much less
only: counted are widths whose students fall below 90% so far that chance does it once in a hundred (30 of 40 or fewer).
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import binom

from benchmarks.measure import write
from softlabel.data import Problem, load
from softlabel.lab import cores
from softlabel.lab.scores import example_scores
from softlabel.studies.plan import PlanOptions, plan
from softlabel.studies.students.recipe import StudentCell, recipe_for
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.studies.students.training import probabilities, train_cells
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.sources import query_teacher

PLANS, FRESH = 30, 40
TARGETS = (0.90, 0.92, 0.94)
SHARE, CHANCE = 0.9, 0.01


def main() -> None:
    plans = make_plans(PLANS)
    shares = reached_shares(plans)
    below = [share for share in shares if falls_short(share)]
    answered = len(shares)
    print(f"planned widths: {answered} of {2 * PLANS} (two arms a plan); fresh students reach the target in "
          f"{np.mean(shares):.1%} of cases (promised: ≥ {SHARE:.0%})")  # fmt: skip
    short = sum(share < SHARE for share in shares)
    chance = answered * float(binom.cdf(round(SHARE * FRESH) - 1, FRESH, SHARE))
    print(
        f"widths with fewer than {SHARE:.0%} of their {FRESH}: {short} of {answered} ({chance:.0f} were it exactly 90%)"
    )
    print(f"significantly fewer (1%): {len(below)} of {answered}")
    write("plan_promise", {"plans": plans, "mean_share": float(np.mean(shares)), "below": len(below)})


def make_plans(count: int) -> list[dict[str, Any]]:
    """Plans, side by side on all cores, each with the shares of fresh students that reach its target."""
    with ProcessPoolExecutor(cores(), get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(check_plan, range(count)))


def reached_shares(plans: list[dict[str, Any]]) -> list[float]:
    """Of every width that was planned."""
    return [share for row in plans for share in row["reached"].values() if share is not None]


def falls_short(share: float) -> bool:
    """Whether so small a share of the fresh students comes by chance once in a hundred, were the promise just kept."""
    return float(binom.cdf(round(share * FRESH), FRESH, SHARE)) < CHANCE


def check_plan(number: int) -> dict[str, Any]:
    """One plan, and what share of fresh students of its widths reach the target."""
    problem, target = load("digits", seed=number), TARGETS[number % len(TARGETS)]
    predictions = query_teacher(problem, "auto", seed=number)
    with tempfile.TemporaryDirectory() as scratch:
        planned = plan(problem, teacher=lambda inputs: predictions.logits, accuracy=target, widths=(4, 8, 16, 32, 64),
                     seed=number, out=Path(scratch) / "run", options=PlanOptions(rival=False)).to_dict()  # fmt: skip
    reached = {arm: fresh_share(problem, predictions, target, arm, planned["arms"][arm]) for arm in ("hard", "soft")}
    widths = {arm: planned["arms"][arm]["width"] for arm in ("hard", "soft")}
    words = ", ".join(f"{arm} {widths[arm]}: {_per_cent(reached[arm])}" for arm in widths)
    print(f"plan {number}, target {target}: {words}", flush=True)
    return {"target": target, "widths": widths, "reached": reached}


def fresh_share(
    problem: Problem, predictions: TeacherPredictions, target: float, arm: Any, planned: dict
) -> float | None:
    """Share of fresh students, each trained by itself, that reach the target; None where no width was planned."""
    if planned["width"] is None:
        return None
    taught, recipe = TaughtProblem.from_predictions(problem, predictions), recipe_for(len(problem.train))
    reached = []
    for number in range(FRESH):
        cell = StudentCell(stage="choose", arm=arm, width=planned["width"], seed=9_000_000 + number,
                           learning_rate=planned["chosen"]["learning_rate"],
                           temperature=planned["chosen"]["temperature"])  # fmt: skip
        (student,) = train_cells(taught, recipe, [cell])
        predicted = probabilities(student.network.logits(taught.test.X))
        reached.append(example_scores("accuracy", predicted, taught.test.y).mean() >= target)
    return float(np.mean(reached))


def _per_cent(share: float | None) -> str:
    return "no width" if share is None else f"{share:.0%} of fresh students reach it"


if __name__ == "__main__":
    main()
