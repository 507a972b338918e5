"""Runs a study: bundles that the ledger lacks are computed, and recorded one by one."""

import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from softlabel.errors import SoftlabelError
from softlabel.lab.artifacts import ArtifactStore
from softlabel.lab.cells import Bundle, CellResult, Stage, StageResults
from softlabel.lab.environment import changed_since
from softlabel.lab.estimate import RunClock
from softlabel.lab.executors import Executor, Task
from softlabel.lab.ledger import Ledger
from softlabel.lab.study import Study

log = logging.getLogger("softlabel")


@dataclass(frozen=True)
class Progress:
    """Progress of a study, as the `progress` callback of an `Execution` receives it.

    Attributes
    ----------
    stage : str
        The current stage; "teacher" while a teacher is trained or queried.
    done, bundles : int
        Number of finished bundles of trainings, and of all bundles of the stage (of models, for a teacher).
    failed : int
        Number of bundles that failed.
    cells : int
        Number of trainings that finished in this call.
    seconds : float
        Time spent on the stage.
    seconds_left : float or None
        Estimated time until the end of the run, over all stages; None if it is unknown.
    at_most : bool
        Whether `seconds_left` is an upper estimate, because later stages may turn out to be unnecessary.
    run_seconds : float
        Time spent on the run, its teacher included.
    share : float
        Finished share of the run, from 0 to 1, by estimated time.

    Examples
    --------
    >>> import softlabel as sl
    >>> def show(progress: sl.Progress) -> None:
    ...     print(f"{progress.stage}: {progress.done} of {progress.bundles}, {progress.share:.0%} of the run")
    >>> execution = sl.Execution(progress=show)
    """

    stage: str
    done: int
    bundles: int
    failed: int
    cells: int
    seconds: float
    seconds_left: float | None
    at_most: bool = False
    run_seconds: float = 0.0
    share: float = 0.0


def run_stages(
    study: Study,
    ledger: Ledger,
    executor: Executor,
    progress: Callable[[Progress], None] | None = None,
    before: float = 0.0,
) -> StageResults:
    """Run what is left of the study, and return all its results.

    progress    called after every bundle
    before      seconds that the run took already, for its teacher
    """
    results, threads = StageResults(), ledger.meta("threads")
    clock = RunClock(study.expected_costs(results), study.pace, before, getattr(executor, "workers", 1))
    changed = changed_since(ledger.meta("environment")) if ledger.finished() else []
    with closing(executor):
        for stage in study.stages:
            bundles = stage.bundles(study.settings, results)
            if changed and any(ledger.status().get(bundle.key) != "done" for bundle in bundles):
                log.warning(
                    "the run in '%s' began with another environment (%s): numbers of the rest may differ in their "
                    "last bits",
                    ledger.path.parent,
                    ", ".join(changed),
                )
                changed = []
            new = _run_stage(study, stage, bundles, results, ledger, executor, threads, clock, progress)
            collect(stage, bundles, ledger, results, new)
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
        collect(stage, bundles, ledger, results, {})
    return results


def _run_stage(
    study: Study,
    stage: Stage,
    bundles: list[Bundle],
    results: StageResults,
    ledger: Ledger,
    executor: Executor,
    threads: int,
    clock: RunClock,
    progress: Callable[[Progress], None] | None,
) -> dict[str, list[CellResult]]:
    """Compute and record the bundles that the ledger lacks; returns their results by the key of the bundle."""
    new: dict[str, list[CellResult]] = {}
    status = ledger.status()
    left = {bundle.key: bundle for bundle in bundles if status.get(bundle.key) != "done"}
    later = study.expected_costs(results)
    clock.begin(stage.name, {key: study.cost(bundle) for key, bundle in left.items()}, later)
    if not bundles:
        return new
    began, failed, cells = time.perf_counter(), 0, 0

    def report() -> None:
        if progress is not None:
            count, seconds = len(bundles), time.perf_counter() - began
            progress(Progress(stage.name, count - len(left), count, failed, cells, seconds, **clock.fields()))

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
        clock.finished(finished.key)
        report()
    if failed:
        _, name, reason = next(row for row in ledger.failures() if row[0] == stage.name)
        raise SoftlabelError(
            f"{failed} of {len(bundles)} bundles of stage '{stage.name}' failed, the rest is done; the first, "
            f"'{name}': {reason}; rerun the same command to try them again"
        )
    return new


def collect(
    stage: Stage, bundles: list[Bundle], ledger: Ledger, results: StageResults, new: dict[str, list[CellResult]]
) -> None:
    """Add the results of a stage: those just computed, and from the ledger those of earlier calls."""
    for bundle in bundles:
        cells = new[bundle.key] if bundle.key in new else ledger.cell_results(bundle.key)
        for cell, result in zip(bundle.cells, cells, strict=True):
            results.add(stage.name, cell, result)
