"""What directories of runs contain, read without writing anything: where runs are, their state, their documents."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from softlabel.errors import InputError, SoftlabelError, require
from softlabel.lab import LEDGER, is_driven
from softlabel.lab.run_dir import LOCK, SETTINGS
from softlabel.lab.settings_file import read_settings
from softlabel.studies.run import RECORDS, open_ledger, reading, without_ledger
from softlabel.studies.runs import damage

DOCUMENT, PAGE, CHECKPOINTS, FIGURES = "results.json", "report.html", "checkpoints", "figures"
SIGNS = (RECORDS, DOCUMENT, PAGE, LOCK, CHECKPOINTS)  # of a run without a ledger, beside its settings
INSIDE = (FIGURES, "artifacts", "students", CHECKPOINTS)  # folders of a run, which contain no others
WATCHED = (LEDGER, f"{LEDGER}-journal", f"{LEDGER}-wal", SETTINGS, *SIGNS)
DEEPEST, MOST_DIRECTORIES = 8, 100_000  # levels and directories that are searched for runs
LARGEST_SETTINGS, LARGEST_DOCUMENT = 2**20, 2**25  # bytes
KINDS = {"study": str, "settings": dict, "environment": dict, "threads": int, "command": str}  # of a ledger's metadata
Status = Literal["running", "finished", "unfinished", "failed", "damaged", "unreadable"]


@dataclass(frozen=True)
class RunBundle:
    """A bundle of trainings that a run has tried.

    Attributes
    ----------
    stage, name : str
        Where it belongs.
    status : {"done", "failed", "damaged"}
        How it ended; a damaged one differs from what was written.
    reason : str or None
        Why it failed.
    attempts : int
        How often it was tried.
    seconds : float
        How long it took.
    cells : int
        Number of its trainings.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.RunBundle("choose", "soft labels", "done", None, attempts=1, seconds=2.5, cells=12).status
    'done'
    """

    stage: str
    name: str
    status: str
    reason: str | None
    attempts: int
    seconds: float
    cells: int


@dataclass(frozen=True)
class RunState:
    """What a run directory contains.

    Attributes
    ----------
    run_dir : Path
        The directory.
    status : {"running", "finished", "unfinished", "failed", "damaged", "unreadable"}
        Running: another process works on it (seen on Linux and on the same machine only). Failed: some of its bundles
        failed. Damaged: some of its bundles differ from what was written. Unreadable: nothing can be read in it.
    version : str
        Changes whenever a file of the run changes.
    changed : float
        When one of its files changed last, in seconds since 1970.
    study : str or None
        Name of the study, such as "table1", "verdict", "train" or "distill"; None if it is not recorded.
    problem : str or None
        What is wrong with it, or what it lacks, in one sentence.
    done, failed, damaged, cells : int or None
        Number of bundles that are done, failed, and damaged, and of trainings; None for a run without a ledger.
    checksums : bool
        Whether changes to the ledger can be detected.
    settings, environment : dict or None
        Its settings, and what it was computed with.
    threads : int or None
        Threads of each worker.
    command : str or None
        The command that began it, if it was begun on the command line.
    bundles : tuple of RunBundle
        Every bundle that was tried.
    report : Path or None
        Its page.
    figures : tuple of Path
        Its figures as PNG files.

    Examples
    --------
    >>> import softlabel as sl
    >>> state = sl.inspect_run("runs/table1-quick")  # doctest: +SKIP
    >>> state.status, state.done  # doctest: +SKIP
    ('finished', 24)
    """

    run_dir: Path
    status: Status
    version: str
    changed: float
    study: str | None = None
    problem: str | None = None
    done: int | None = None
    failed: int | None = None
    damaged: int | None = None
    cells: int | None = None
    checksums: bool = True
    settings: dict[str, Any] | None = None
    environment: dict[str, Any] | None = None
    threads: int | None = None
    command: str | None = None
    bundles: tuple[RunBundle, ...] = ()
    report: Path | None = None
    figures: tuple[Path, ...] = ()

    @property
    def has_ledger(self) -> bool:
        """Whether there is a ledger that can be read."""
        return self.done is not None

    @property
    def data(self) -> str | None:
        """The data of the run, as its settings name them."""
        name = (self.settings or {}).get("data")
        return name if isinstance(name, str) else None

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON values: those of ``softlabel results show``, and its status."""
        names = ("study", "done", "failed", "damaged", "cells", "problem", "settings", "environment", "threads",
                 "checksums", "status")  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "run": str(self.run_dir),
            "page": str(self.report or ""),
            "bundles": [asdict(bundle) for bundle in self.bundles],
        }


def find_runs(directory: str | Path, *, limit: int = 10_000) -> list[Path]:
    """The directories of all runs below a directory, in alphabetical order.

    Parameters
    ----------
    directory : str or path
        Directory to search; it may be a run itself. Symbolic links are not followed.
    limit : int, default=10000
        The search ends after this many runs. It looks at no more than 100,000 directories, eight levels deep.

    Returns
    -------
    list of Path
        The run directories, also those of `train` and `distill`, which have no ledger.

    See Also
    --------
    inspect_run : What is recorded of a run.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.find_runs("runs")  # doctest: +SKIP
    [PosixPath('runs/table1-quick'), PosixPath('runs/verdict-heart-1a2b3c4d')]
    """
    directory = Path(directory)
    require(limit >= 1, f"limit must be at least 1, got {limit}")
    if not directory.is_dir():
        raise InputError(f"there is no directory '{directory}'; name the one with your runs")
    runs: list[Path] = []
    for path in _run_directories(directory):
        runs.append(path)
        if len(runs) == limit:
            break
    return sorted(runs)


def inspect_run(run_dir: str | Path, *, known: RunState | None = None) -> RunState:
    """What a run directory contains; nothing in it is changed, also while another process works on the run.

    Parameters
    ----------
    run_dir : str or path
        A run directory.
    known : RunState, optional
        An earlier state of the run, which is returned if nothing has changed since.

    Returns
    -------
    RunState
        The state. A ledger that cannot be read is described by its `problem`.

    Raises
    ------
    InputError
        If the directory does not contain a run.

    See Also
    --------
    run_progress : How far an unfinished run is.
    read_run : The result of a finished run.
    find_runs : The directories of all runs.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.inspect_run("runs/table1-quick").status  # doctest: +SKIP
    'finished'
    """
    run_dir = Path(run_dir)
    if not _is_run(run_dir):
        raise InputError(f"'{run_dir}' is not a run directory: it contains neither {LEDGER} nor the settings of a run")
    running = is_driven(run_dir)
    version, changed = _version(run_dir, running)
    if known is not None and known.version == version and known.run_dir == run_dir:
        return known
    state = RunState(run_dir, "running" if running else "unfinished", version, changed, report=_own(run_dir / PAGE),
                     figures=_figures(run_dir))  # fmt: skip
    return _with_ledger(state) if _own(run_dir / LEDGER) else _without_ledger(state)


def run_document(run_dir: str | Path) -> dict[str, Any]:
    """The JSON document that a finished run has written, which `results.json` contains.

    Parameters
    ----------
    run_dir : str or path
        Directory of a run of `verdict`, `plan`, `reproduce` or `distill`.

    Returns
    -------
    dict
        The document; see `read_run` for the result itself.

    Raises
    ------
    InputError
        If there is no document, or it cannot be read.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.run_document("runs/table1-quick")["verdict"]  # doctest: +SKIP
    'soft wins'
    """
    path = _own(Path(run_dir) / DOCUMENT)
    if path is None:
        raise InputError(f"'{run_dir}' contains no {DOCUMENT}: its run is not finished, or has none")
    require(path.stat().st_size <= LARGEST_DOCUMENT, f"'{path}' is larger than {LARGEST_DOCUMENT:,} bytes")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise InputError(f"'{path}' cannot be read ({type(problem).__name__}); rerun the original command") from None
    require(isinstance(document, dict), f"'{path}' must contain a JSON object, got {type(document).__name__}")
    return document


def _run_directories(top: Path) -> Iterator[Path]:
    """The run directories below a directory, itself included."""
    waiting = [(top, DEEPEST)]
    for _ in range(MOST_DIRECTORIES):
        if not waiting:
            return
        directory, depth = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                folders = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            continue  # not ours to read, or removed since
        run = _is_run(directory)
        if run:
            yield directory
        if depth:
            inner = (name for name in reversed(folders) if not (run and name in INSIDE))
            waiting += [(directory / name, depth - 1) for name in inner]


def _is_run(directory: Path) -> bool:
    """Whether a directory contains a run; files that are symbolic links do not count."""
    if os.path.lexists(directory / LEDGER):
        return _own(directory / LEDGER) is not None
    return _own(directory / SETTINGS) is not None and any(os.path.lexists(directory / name) for name in SIGNS)


def _own(path: Path) -> Path | None:
    """The file if it is one, and not a link to another."""
    try:
        return path if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None  # not there, or not ours to read


def _figures(run_dir: Path) -> tuple[Path, ...]:
    directory = run_dir / FIGURES
    if directory.is_symlink():
        return ()
    return tuple(path for path in sorted(directory.glob("*.png")) if _own(path))


def _version(run_dir: Path, running: bool) -> tuple[str, float]:
    """What identifies the present content of a run, and when it changed last."""
    parts, changed = [str(running)], 0.0
    for name in WATCHED:
        try:
            status = (run_dir / name).lstat()
        except OSError:
            continue
        parts.append(f"{name} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
        if name != LOCK:
            changed = max(changed, status.st_mtime)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20], changed


def _with_ledger(state: RunState) -> RunState:
    """The state with what the ledger contains."""
    try:
        with reading(state.run_dir), open_ledger(state.run_dir) as ledger:
            rows = ledger.bundles()
            values = {name: ledger.meta(name) for name in KINDS}
            checksums = ledger.has_checksums
    except SoftlabelError as error:
        settings = _settings(state.run_dir)
        study = settings.pop("study", None)
        return replace(state, status=_status(state, "unreadable"), problem=str(error), settings=settings or None,
                       study=study if isinstance(study, str) else None)  # fmt: skip
    meta: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, KINDS[name])}
    count = [row["status"] for row in rows].count
    lost = [f"{row['stage']}: {row['name']}" for row in rows if row["status"] == "damaged"]
    ended: Status = "finished" if _own(state.run_dir / DOCUMENT) and count("done") else "unfinished"
    status: Status = "damaged" if lost else "failed" if count("failed") else ended
    return replace(
        state, status=_status(state, status), problem=damage(state.run_dir, lost) if lost else None,
        done=count("done"), failed=count("failed"), damaged=len(lost), cells=sum(row["cells"] for row in rows),
        checksums=checksums, bundles=tuple(RunBundle(**row) for row in rows), **meta,
    )  # fmt: skip


def _status(state: RunState, status: Status) -> Status:
    """The status of a run that is at work, or else this one."""
    return "running" if state.status == "running" else status


def _without_ledger(state: RunState) -> RunState:
    """The state of a run of `train` or `distill`, or of one that has lost its ledger."""
    run_dir = state.run_dir
    settings = _settings(run_dir)
    study = settings.pop("study", None)
    if _own(run_dir / RECORDS):
        study = "train"
    elif (run_dir / CHECKPOINTS).is_dir():
        study = "distill"
    finished = any(_own(run_dir / name) for name in (DOCUMENT, RECORDS))
    reason = "this is a copy of its documents" if finished else "it was stopped at its beginning"
    problem = without_ledger(run_dir) or f"the run in '{run_dir}' has no {LEDGER}: {reason}"
    return replace(
        state, status=_status(state, "finished" if finished else "unfinished"), settings=settings or None,
        study=study if isinstance(study, str) else None, problem=problem,
    )  # fmt: skip


def _settings(run_dir: Path) -> dict[str, Any]:
    """The settings that the file of a run has; none where it cannot be read."""
    path = _own(run_dir / SETTINGS)
    try:
        if path is None or path.stat().st_size > LARGEST_SETTINGS:
            return {}
        return read_settings(path)
    except (OSError, ValueError, RecursionError):
        return {}
