"""`plan` on MNIST, and its ladder against the same networks trained one at a time.

    python -m benchmarks.plan_ladder

The plan: widths 2 … 512, ten seeds, both arms, target 95%, with choice of settings, bisection, confirmation, rival and
exports. The rivals train the ladder's networks one after another, the same epochs and batches: plain PyTorch (both
arms; one seed of every width and arm is timed, and counts for ten), and scikit-learn's MLPClassifier (hard labels, one
seed a width, against a tenth of our hard arm).
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from torch import nn
from torch.nn import functional

from benchmarks.measure import write
from softlabel.data import load
from softlabel.lab import CellResult, StageResults
from softlabel.studies.plan import plan
from softlabel.studies.plan.cells import ARMS, choice_bundles, ladder_bundles, train
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.students.families import FAMILIES
from softlabel.studies.students.recipe import recipe_for
from softlabel.studies.students.taught_problem import ARTIFACT, TaughtProblem
from softlabel.teachers.sources import query_teacher

SEEDS, TARGET, LEARNING_RATE = 10, 0.95, 0.02
WIDTHS = FAMILIES["two-layer"].ladder


def main() -> None:
    problem = load("mnist")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        planned = plan(problem, accuracy=TARGET, out=Path(scratch) / "run")
    seconds = time.perf_counter() - began
    print(planned, flush=True)
    print(f"the complete plan: {seconds / 60:.1f} minutes  (asked: ≤ 10 on two cores)", flush=True)
    taught = TaughtProblem.from_predictions(problem, query_teacher(problem, "auto"))
    ours = our_ladder(taught)
    plain = sum(plain_network(taught, width, arm) for width in WIDTHS for arm in ARMS) * SEEDS
    scikit = sum(scikit_network(taught, width) for width in WIDTHS)
    print(f"ladder: plain PyTorch, one network at a time, over ours      {plain / ours:5.1f}×")
    print(
        f"ladder: scikit-learn, hard arm, one seed a width, over ours  {scikit / (ours / 2 / SEEDS):5.1f}×", flush=True
    )
    write(
        "plan_ladder",
        {
            "minutes_complete": seconds / 60, "plain_over_ours": plain / ours,
            "scikit_over_ours": scikit / (ours / 2 / SEEDS),
            "widths": {arm: planned.arms[arm].width for arm in ARMS},
        },
    )  # fmt: skip


def our_ladder(problem: TaughtProblem) -> float:
    """Seconds for the ladder's students as `plan` trains them; every width with one learning rate and temperature."""
    recipe = recipe_for(len(problem.train.X)).model_copy(
        update={"learning_rates": (LEARNING_RATE,), "temperatures": (2.0,), "smoothings": ()}
    )
    settings = PlanSettings(
        source="", data="", teacher="", target=TARGET, widths=WIDTHS, seeds=SEEDS, confirm=0,
        test_rows=len(problem.test.X), inputs=problem.train.X.shape[1], classes=len(problem.classes), frequent=0.1,
        recipe=recipe,
    )  # fmt: skip
    results, arrays = StageResults(), {ARTIFACT: problem.to_arrays()}
    for bundle in choice_bundles(settings, results):
        for cell in bundle.cells:
            results.add("choose", cell, CellResult({"validation": 0.5}))
    began = time.perf_counter()
    for bundle in ladder_bundles(settings, results):
        train(settings, bundle.cells, arrays)
    return time.perf_counter() - began


def plain_network(problem: TaughtProblem, width: int, arm: str) -> float:
    """Seconds for one network in plain PyTorch: nn.Sequential, Adam, mini-batches, and its test accuracy at the end."""
    recipe = recipe_for(len(problem.train.X))
    inputs = torch.from_numpy(problem.train.X)
    truth = torch.from_numpy(problem.train.y)
    soft = torch.from_numpy(problem.train.logits.astype(np.float32) / 2.0).softmax(1)
    network = nn.Sequential(nn.Linear(inputs.shape[1], width), nn.ReLU(), nn.Linear(width, len(problem.classes)))
    began = time.perf_counter()
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    steps = recipe.epochs * -(-len(inputs) // recipe.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(recipe.epochs):
        for rows in torch.randperm(len(inputs)).split(recipe.batch_size):
            target = truth[rows] if arm == "hard" else soft[rows]
            loss = functional.cross_entropy(network(inputs[rows]), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        network(torch.from_numpy(problem.test.X)).argmax(1)
    return time.perf_counter() - began


def scikit_network(problem: TaughtProblem, width: int) -> float:
    """Seconds for one network of scikit-learn, as many epochs and the same batches."""
    recipe = recipe_for(len(problem.train.X))
    network = MLPClassifier(
        (width,), batch_size=recipe.batch_size, max_iter=recipe.epochs, learning_rate_init=LEARNING_RATE,
        random_state=0, n_iter_no_change=recipe.epochs, tol=0.0,
    )  # fmt: skip
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(problem.train.X, problem.train.y)
    network.predict(problem.test.X)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
