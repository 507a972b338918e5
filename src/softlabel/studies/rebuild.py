"""The result of a finished run, rebuilt from its directory alone; and a run resumed from it."""

from pathlib import Path
from typing import Any

from softlabel.errors import InputError, SoftlabelError
from softlabel.lab import Ledger, Progress, Result, Study, ledger_progress, open_run, read_results
from softlabel.studies.registry import PAPER_STUDIES, find_study
from softlabel.studies.run import Execution, finish, open_ledger, reading, report_run


def read_run(run_dir: str | Path, *, rewrite: bool = True) -> Result:
    """Rebuild the result of a finished run from its directory, and write its page again.

    Parameters
    ----------
    run_dir : str or path
        Directory of a run of `verdict`, `plan` or `reproduce`.
    rewrite : bool, default=True
        Whether to write its page, figures and document again. If False, nothing is written to the directory.

    Returns
    -------
    Result
        The result, as the original call returned it.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.read_run("runs/table1-quick")  # doctest: +SKIP
    """
    run_dir = Path(run_dir)
    with reading(run_dir), open_ledger(run_dir) as ledger:
        study, facts = _recorded_study(ledger)
        result = study.judge(read_results(study, ledger), facts or {})
        if rewrite:
            return report_run(study, result, ledger)
    page = run_dir / "report.html"
    result.report, result.run_dir = page if page.is_file() else None, run_dir
    return result


def run_progress(run_dir: str | Path) -> Progress:
    """How far a run is that another process works on, or that was interrupted, from its directory alone.

    Parameters
    ----------
    run_dir : str or path
        Directory of a run of `verdict`, `plan` or `reproduce`.

    Returns
    -------
    Progress
        The first stage that is not finished. Its times are sums over bundles, and the time left is unknown unless the
        run is finished.

    See Also
    --------
    inspect_run : What is recorded of a run.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.run_progress("runs/table1-quick").share  # doctest: +SKIP
    0.25
    """
    run_dir = Path(run_dir)
    with reading(run_dir), open_ledger(run_dir) as ledger:
        study, facts = _recorded_study(ledger)
        if _without_teacher(study, facts):
            return Progress("teacher", 0, 0, 0, 0, 0.0, None)
        before = ((facts or {}).get("teacher") or {}).get("seconds", 0.0)
        return ledger_progress(study, ledger, float(before))


def _without_teacher(study: Study[Any, Any], facts: dict[str, Any] | None) -> bool:
    """Whether the teacher of a run is not finished."""
    return study.name not in PAPER_STUDIES and facts is None


def _recorded_study(ledger: Ledger) -> tuple[Study[Any, Any], dict[str, Any] | None]:
    """The study of a run, and its facts."""
    name, settings, environment, facts = (ledger.meta(key) for key in ("study", "settings", "environment", "facts"))
    if not isinstance(environment, dict | None):
        raise TypeError(f"environment must be a dictionary, got {environment!r}")
    if name is None or settings is None:
        raise SoftlabelError(f"the run in '{ledger.path.parent}' ended before its first bundle; rerun its command")
    study = find_study(name).from_settings(settings)
    study.artifacts = ledger.meta("artifacts") or {}
    return study, facts


def resume(run_dir: str | Path, execution: Execution | None = None) -> Result:
    """Finish an interrupted run from its directory alone, without its original data or teacher.

    Parameters
    ----------
    run_dir : str or path
        Directory of a run of `verdict`, `plan` or `reproduce`, interrupted after its teacher was queried.
    execution : Execution, optional
        Where the remaining trainings run.

    Returns
    -------
    Result
        The result, as the original call would have returned it.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.resume("runs/verdict-heart-1a2b3c4d")  # doctest: +SKIP
    """
    run_dir, execution = Path(run_dir), execution or Execution()
    with reading(run_dir), open_ledger(run_dir) as ledger:
        study, facts = _recorded_study(ledger)
    if _without_teacher(study, facts):
        raise InputError(f"the teacher of the run in '{run_dir}' is not finished; rerun the original command")
    executor, _ = execution.start()
    with open_run(run_dir, study, threads=execution.threads) as ledger:
        return finish(study, ledger, execution, executor, facts=facts)
