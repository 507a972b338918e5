"""`plan` on MNIST, whole, and its ladder against the same networks trained one at a time.

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
from softlabel.data.problem import load_problem
from softlabel.lab import Outcome, Results
from softlabel.studies.plan import plan
from softlabel.studies.plan.cells import ARMS, choice_bundles, ladder_bundles, train
from softlabel.studies.plan.settings import LADDERS, PlanSettings
from softlabel.studies.practice import Held, holding, recipe_for
from softlabel.teachers.asking import ask_teacher

SEEDS, TARGET, STEP = 10, 0.95, 0.02
WIDTHS = LADDERS["two-layer"]


def main() -> None:
    problem = load_problem("mnist")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = plan(problem, accuracy=TARGET, folder=Path(folder) / "run", note=print)
    whole = time.perf_counter() - began
    print(found, flush=True)
    print(f"the whole plan: {whole / 60:.1f} minutes  (asked: ≤ 10 on two cores)", flush=True)
    answers = ask_teacher(problem, "auto")
    held = Held(problem, answers)
    ours = our_ladder(held)
    plain = sum(plain_network(held, width, arm) for width in WIDTHS for arm in ARMS) * SEEDS
    scikit = sum(scikit_network(held, width) for width in WIDTHS)
    print(f"ladder: plain PyTorch, one network at a time, over ours      {plain / ours:5.1f}×")
    print(
        f"ladder: scikit-learn, hard arm, one seed a width, over ours  {scikit / (ours / 2 / SEEDS):5.1f}×", flush=True
    )
    write(
        "plan_ladder",
        {
            "minutes_whole": whole / 60, "plain_over_ours": plain / ours,
            "scikit_over_ours": scikit / (ours / 2 / SEEDS),
            "widths": {arm: found.width(arm) for arm in ARMS},
        },
    )  # fmt: skip


def our_ladder(held: Held) -> float:
    """Seconds for the ladder's students as `plan` trains them; every width with one step and temperature."""
    problem = held.problem
    with holding(held) as key:
        settings = PlanSettings(
            held=key, data="", teacher="", target=TARGET, widths=WIDTHS, seeds=SEEDS, confirm=0,
            test_rows=len(problem.parts["test"]), inputs=problem.inputs.shape[1], classes=len(problem.classes),
            frequent=0.1,
            recipe=recipe_for(len(problem.parts["train"])).model_copy(
                update={"steps": (STEP,), "temperatures": (2.0,), "smoothings": ()}
            ),
        )  # fmt: skip
        results = Results()
        for bundle in choice_bundles(settings, results):
            for cell in bundle.cells:
                results.add("choose", cell, Outcome({"validation": 0.5}))
        began = time.perf_counter()
        for bundle in ladder_bundles(settings, results):
            train(settings, bundle.cells, {})
        return time.perf_counter() - began


def plain_network(held: Held, width: int, arm: str) -> float:
    """Seconds for one network in plain PyTorch: nn.Sequential, Adam, mini-batches, and its test accuracy at the end."""
    recipe = recipe_for(len(held.inputs["train"]))
    inputs = torch.from_numpy(held.inputs["train"])
    truth = torch.from_numpy(held.problem.truth("train"))
    soft = torch.from_numpy(held.answers.logits[held.problem.parts["train"]].astype(np.float32) / 2.0).softmax(1)
    network = nn.Sequential(nn.Linear(inputs.shape[1], width), nn.ReLU(), nn.Linear(width, len(held.problem.classes)))
    began = time.perf_counter()
    optimiser = torch.optim.Adam(network.parameters(), STEP)
    steps = recipe.epochs * -(-len(inputs) // recipe.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(recipe.epochs):
        for rows in torch.randperm(len(inputs)).split(recipe.batch):
            target = truth[rows] if arm == "hard" else soft[rows]
            loss = functional.cross_entropy(network(inputs[rows]), target)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    with torch.no_grad():
        network(torch.from_numpy(held.inputs["test"])).argmax(1)
    return time.perf_counter() - began


def scikit_network(held: Held, width: int) -> float:
    """Seconds for one network of scikit-learn, as many epochs and the same batches."""
    recipe = recipe_for(len(held.inputs["train"]))
    network = MLPClassifier(
        (width,), batch_size=recipe.batch, max_iter=recipe.epochs, learning_rate_init=STEP, random_state=0,
        n_iter_no_change=recipe.epochs, tol=0.0,
    )  # fmt: skip
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(held.inputs["train"], held.problem.truth("train"))
    network.predict(held.inputs["test"])
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
