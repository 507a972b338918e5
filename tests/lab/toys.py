"""A small study for tests: numbers drawn from a cell's seed, in two stages, with ways to misbehave."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from softlabel.errors import DivergedError
from softlabel.lab import Bundle, Given, Outcome, Results, Settings, Stage, Study


class Toy(Settings):
    """`trouble` names a folder in which files called after bundles' first cells ask for accidents."""

    cells: int = 12
    together: int = 3
    pause: float = 0.0
    trouble: str = ""


class Draw(Settings):
    stage: str
    seed: int


def bundles_of(stage: str, settings: Toy, needs: tuple[str, ...] = ()) -> list[Bundle]:
    cells = [Draw(stage=stage, seed=seed) for seed in range(settings.cells)]
    parts = [tuple(cells[k : k + settings.together]) for k in range(0, len(cells), settings.together)]
    return [Bundle(f"{stage} {number}", part, needs=needs) for number, part in enumerate(parts)]


def first_bundles(settings: Toy, results: Results) -> list[Bundle]:
    return bundles_of("first", settings)


def second_bundles(settings: Toy, results: Results) -> list[Bundle]:
    """Needs the cell of the first stage that came out largest."""
    cell, _ = max(results["first"], key=lambda pair: pair[1].metrics["mean"])
    return bundles_of("second", settings, needs=(cell.key,))


def work(settings: Toy, cells: Sequence[Draw], given: Given) -> list[Outcome]:
    misbehave(settings, cells[0])
    time.sleep(settings.pause)
    outcomes = []
    for cell in cells:
        x = np.random.default_rng([cell.seed, len(cell.stage)]).standard_normal((40, 30))
        for arrays in given.values():
            x = x + arrays["sums"]
        product = torch.from_numpy(x).float() @ torch.from_numpy(x).float().t()
        sums = product.sum(0).numpy()[:30]
        outcomes.append(Outcome({"mean": float(product.mean()), "threads": torch.get_num_threads()}, {"sums": sums}))
    return outcomes


def misbehave(settings: Toy, first: Draw) -> None:
    """Each line of the file is one accident, in order: kill, diverge or crash."""
    if not settings.trouble:
        return
    file = Path(settings.trouble) / f"{first.stage}-{first.seed}"
    if not file.exists():
        return
    accident, *rest = file.read_text().split()
    if rest:
        file.write_text("\n".join(rest))
    else:
        file.unlink()
    if accident == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if accident == "diverge":
        raise DivergedError("student 3 left the finite numbers")
    raise ZeroDivisionError("nothing to divide")


def toy(**settings) -> Study:
    return Study("toy", Toy(**settings), (Stage("first", first_bundles, work), Stage("second", second_bundles, work)))


def contents(folder: Path) -> dict[str, list]:
    """Everything in a ledger that must be the same after any accident, to the bit."""
    import sqlite3

    database = sqlite3.connect(folder / "ledger.sqlite")
    try:
        return {
            "bundles": database.execute("SELECT key, stage, name, status FROM bundles ORDER BY key").fetchall(),
            "outcomes": database.execute("SELECT * FROM outcomes ORDER BY bundle, position").fetchall(),
            "arrays": database.execute("SELECT * FROM arrays ORDER BY bundle, cell, name").fetchall(),
        }
    finally:
        database.close()
