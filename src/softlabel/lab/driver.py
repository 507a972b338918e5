"""Runs a study: bundles that the ledger lacks are computed, and recorded one by one."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from softlabel.errors import SoftlabelError
from softlabel.lab.artifacts import ArtifactStore
from softlabel.lab.cells import Bundle, CellResult, Stage, StageResults
from softlabel.lab.executors import Executor, Task
from softlabel.lab.ledger import Ledger
from softlabel.lab.study import Study


@dataclass(frozen=True)
class Progress:
    """Progress of a study, as the `progress` callback of an `Execution` receives it.

    Attributes
    ----------
    stage : str
        The current stage.
    done, bundles : int
        Number of finished bundles of trainings, and of all bundles of the stage.
    failed : int
        Number of bundles that failed.
    cells : int
        Number of trainings that finished in this call.
    seconds : float
        Time spent on the stage.
    seconds_left : float or None
        Estimated time left; None if it is unknown.

    Examples
    --------
    >>> import softlabel as sl
    >>> def show(progress: sl.Progress) -> None:
    ...     print(f"{progress.stage}: {progress.done} of {progress.bundles}")
    >>> execution = sl.Execution(progress=show)
    """

    stage: str
    done: int
    bundles: int
    failed: int
    cells: int
    seconds: float
    seconds_left: float | None


def run_stages(
    study: Study, ledger: Ledger, executor: Executor, progress: Callable[[Progress], None] | None = None
) -> StageResults:
    """Run what is left of the study, and return all its results; `progress` is called after every bundle."""
    results, threads = StageResults(), ledger.meta("threads")
    with closing(executor):
        for stage in study.stages:
            bundles = stage.bundles(study.settings, results)
            new = _run_stage(study, stage, bundles, results, ledger, executor, threads, progress)
            _collect(stage, bundles, ledger, results, new)
    return results


def read_results(study: Study, ledger: Ledger) -> StageResults:
    """The results of a finished study, from its ledger alone."""
    results = StageResults()
    for stage in study.stages:
        bundles = stage.bundles(study.settings, results)
        status = ledger.status()
        missing = sum(status.get(bundle.key) not in ("done", "damaged") for bundle in bundles)
        if missing:
            raise SoftlabelError(
                f"the run in '{ledger.path.parent}' is not finished: {missing} of {len(bundles)} bundles of stage "
                f"'{stage.name}' are missing; rerun the original command to go on"
            )
        _collect(stage, bundles, ledger, results, {})
    return results


def _run_stage(
    study: Study,
    stage: Stage,
    bundles: list[Bundle],
    results: StageResults,
    ledger: Ledger,
    executor: Executor,
    threads: int,
    progress: Callable[[Progress], None] | None,
) -> dict[str, list[CellResult]]:
    """Compute and record the bundles that the ledger lacks; returns their results by the key of the bundle."""
    new: dict[str, list[CellResult]] = {}
    if not bundles:
        return new
    status = ledger.status()
    left = {bundle.key: bundle for bundle in bundles if status.get(bundle.key) != "done"}
    began, spent, failed, cells = time.perf_counter(), 0.0, 0, 0
    total = sum(bundle.cost for bundle in left.values())

    def report() -> None:
        if progress is not None:
            seconds = time.perf_counter() - began
            seconds_left = None if spent == 0 else seconds * (total - spent) / spent
            progress(Progress(stage.name, len(bundles) - len(left), len(bundles), failed, cells, seconds, seconds_left))

    report()
    if not left:
        return new
    tasks = []
    for key, bundle in left.items():
        arrays = {need: results.arrays(need) for need in bundle.needs}
        tasks.append(Task(key, stage.work, study.settings, bundle.cells, arrays, study.artifacts, threads))
    for finished in executor.run(tasks, ArtifactStore(ledger.path.parent)):
        bundle = left.pop(finished.key)
        how = {"attempts": finished.attempts, "seconds": finished.seconds}
        if finished.cells is None:
            failed += 1
            ledger.record_failure(stage.name, bundle, finished.reason or "unknown", **how)
        else:
            cells += len(bundle.cells)
            ledger.record(stage.name, bundle, finished.cells, **how)
            new[finished.key] = finished.cells
        spent += bundle.cost
        report()
    if failed:
        _, name, reason = next(row for row in ledger.failures() if row[0] == stage.name)
        raise SoftlabelError(
            f"{failed} of {len(bundles)} bundles of stage '{stage.name}' failed, the rest is done; the first, "
            f"'{name}': {reason}; rerun the same command to try them again"
        )
    return new


def _collect(
    stage: Stage, bundles: list[Bundle], ledger: Ledger, results: StageResults, new: dict[str, list[CellResult]]
) -> None:
    """Add the results of a stage: those just computed, and from the ledger those of earlier calls."""
    for bundle in bundles:
        cells = new[bundle.key] if bundle.key in new else ledger.cell_results(bundle.key)
        for cell, result in zip(bundle.cells, cells, strict=True):
            results.add(stage.name, cell, result)
