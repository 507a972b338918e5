"""Runs a study: what the ledger lacks is worked on, and written down bundle by bundle."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from softlabel.errors import SoftlabelError
from softlabel.lab.cells import Bundle, Results, Stage, Study
from softlabel.lab.executors import Executor, Task
from softlabel.lab.folder import open_run
from softlabel.lab.ledger import Ledger


@dataclass(frozen=True)
class Progress:
    """Where a study stands: its stage, bundles done of all that the stage has, seconds left in it (None: unknown)."""

    stage: str
    done: int
    bundles: int
    failed: int
    cells: int
    seconds: float
    seconds_left: float | None


def run_study(
    study: Study,
    folder: Path,
    executor: Executor,
    *,
    threads: int | None = None,
    default_threads: int = 1,
    watch: Callable[[Progress], None] | None = None,
) -> Results:
    """Run what is left of the study in this folder; returns all its results.

    threads, default_threads    of each worker, see `open_run`
    watch                       called after every bundle
    """
    with open_run(folder, study, threads=threads, default_threads=default_threads) as ledger:
        return run_stages(study, ledger, executor, watch)


def run_stages(
    study: Study, ledger: Ledger, executor: Executor, watch: Callable[[Progress], None] | None = None
) -> Results:
    """The same in a run that is open already."""
    results, threads = Results(), ledger.meta("threads")
    for stage in study.stages:
        bundles = stage.bundles(study.settings, results)
        _run_stage(study, stage, bundles, ledger, executor, threads, watch)
        _collect(stage, bundles, ledger, results)
    return results


def read_results(study: Study, ledger: Ledger) -> Results:
    """The results of a finished study, from its ledger alone."""
    results = Results()
    for stage in study.stages:
        bundles = stage.bundles(study.settings, results)
        status = ledger.status()
        missing = sum(status.get(bundle.key) not in ("done", "damaged") for bundle in bundles)
        if missing:
            raise SoftlabelError(
                f"the run in '{ledger.path.parent}' is not finished: {missing} of {len(bundles)} bundles of stage "
                f"'{stage.name}' are missing; run the command that began it again to go on"
            )
        _collect(stage, bundles, ledger, results)
    return results


def _run_stage(
    study: Study,
    stage: Stage,
    bundles: list[Bundle],
    ledger: Ledger,
    executor: Executor,
    threads: int,
    watch: Callable[[Progress], None] | None,
) -> None:
    if not bundles:
        return
    status = ledger.status()
    left = {bundle.key: bundle for bundle in bundles if status.get(bundle.key) != "done"}
    began, spent, failed, cells = time.perf_counter(), 0.0, 0, 0
    total = sum(bundle.cost for bundle in left.values())

    def report() -> None:
        if watch is not None:
            seconds = time.perf_counter() - began
            seconds_left = None if spent == 0 else seconds * (total - spent) / spent
            watch(Progress(stage.name, len(bundles) - len(left), len(bundles), failed, cells, seconds, seconds_left))

    report()
    if not left:
        return
    held = {need: ledger.arrays(need) for need in {need for bundle in left.values() for need in bundle.needs}}
    tasks = [
        Task(key, stage.work, study.settings, bundle.cells, {need: held[need] for need in bundle.needs}, threads)
        for key, bundle in left.items()
    ]
    for finished in executor.run(tasks):
        bundle = left.pop(finished.key)
        how = {"attempts": finished.attempts, "seconds": finished.seconds}
        if finished.outcomes is None:
            failed += 1
            ledger.record_failure(stage.name, bundle, finished.reason or "unknown", **how)
        else:
            cells += len(bundle.cells)
            ledger.record(stage.name, bundle, finished.outcomes, **how)
        spent += bundle.cost
        report()
    if failed:
        _, name, reason = next(row for row in ledger.failures() if row[0] == stage.name)
        raise SoftlabelError(
            f"{failed} of {len(bundles)} bundles of stage '{stage.name}' failed, the rest is done; the first, "
            f"'{name}': {reason}; run the same command again to try them once more"
        )


def _collect(stage: Stage, bundles: list[Bundle], ledger: Ledger, results: Results) -> None:
    for bundle in bundles:
        for cell, outcome in zip(bundle.cells, ledger.outcomes(bundle.key), strict=True):
            results.add(stage.name, cell, outcome)
