"""A small study for tests: numbers drawn from a cell's seed, in two stages, with ways to misbehave."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from softlabel.errors import DivergedError
from softlabel.lab import (
    Bundle,
    CellArrays,
    CellResult,
    Result,
    Settings,
    Stage,
    StageResults,
    Study,
    open_run,
    run_stages,
)


class Toy(Settings):
    """`trouble` names a directory in which files called after bundles' first cells ask for accidents."""

    cells: int = 12
    together: int = 3
    stages: int = 2
    pause: float = 0.0
    trouble: str = ""


class Draw(Settings):
    stage: str
    seed: int


def bundles_of(stage: str, settings: Toy, needs: tuple[str, ...] = ()) -> list[Bundle]:
    cells = [Draw(stage=stage, seed=seed) for seed in range(settings.cells)]
    parts = [tuple(cells[k : k + settings.together]) for k in range(0, len(cells), settings.together)]
    return [Bundle(f"{stage} {number}", part, needs=needs) for number, part in enumerate(parts)]


def first_bundles(settings: Toy, results: StageResults) -> list[Bundle]:
    return bundles_of("first", settings)


def second_bundles(settings: Toy, results: StageResults) -> list[Bundle]:
    """Needs the cell of the first stage that came out largest."""
    cell, _ = max(results["first"], key=lambda pair: pair[1].metrics["mean"])
    return bundles_of("second", settings, needs=(cell.key,))


def work(settings: Toy, cells: Sequence[Draw], arrays: CellArrays) -> list[CellResult]:
    misbehave(settings, cells[0])
    time.sleep(settings.pause)
    results = []
    for cell in cells:
        x = np.random.default_rng([cell.seed, len(cell.stage)]).standard_normal((40, 30))
        for needed in arrays.values():  # of cells of the first stage, and of artifacts
            x = x + needed["sums"]
        product = torch.from_numpy(x).float() @ torch.from_numpy(x).float().t()
        sums = product.sum(0).numpy()[:30]
        results.append(CellResult({"mean": float(product.mean()), "threads": torch.get_num_threads()}, {"sums": sums}))
    return results


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
        raise DivergedError("student 3 diverged")
    raise ZeroDivisionError("nothing to divide")


class ToyResult(Result):
    def to_dict(self):
        return {}

    summary = ("nothing",)

    def plot(self):
        raise NotImplementedError


class ToyStudy(Study):
    name, settings_type = "toy", Toy

    @property
    def stages(self):
        return (Stage("first", first_bundles, work), Stage("second", second_bundles, work))[: self.settings.stages]

    def judge(self, results, facts):
        return ToyResult()


def toy(**settings) -> ToyStudy:
    return ToyStudy(Toy(**settings))


def run_study(study: Study, run_dir: Path, executor, *, progress=None, **threads) -> StageResults:
    """Run what is left of a study in this directory, without judging it."""
    with open_run(run_dir, study, **threads) as ledger:
        return run_stages(study, ledger, executor, progress)


def contents(run_dir: Path) -> dict[str, list]:
    """Everything in a ledger that must be the same after any accident, to the bit."""
    import sqlite3

    database = sqlite3.connect(run_dir / "ledger.sqlite")
    try:
        return {
            "bundles": database.execute("SELECT key, stage, name, status FROM bundles ORDER BY key").fetchall(),
            "outcomes": database.execute("SELECT * FROM outcomes ORDER BY bundle, position").fetchall(),
            "arrays": database.execute("SELECT * FROM arrays ORDER BY bundle, cell, name").fetchall(),
        }
    finally:
        database.close()


def measure_memory(settings: None, cells: Sequence[Draw], arrays: CellArrays) -> list[CellResult]:
    """Reads every array, and measures the memory of this process."""
    total = sum(float(array.sum()) for artifact in arrays.values() for array in artifact.values())
    return [CellResult({"sum": total, "anonymous": anonymous_memory()}) for _ in cells]


def anonymous_memory() -> int | None:
    """Bytes of this process in memory that no file backs; None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), None)
