"""How a study is run in a directory, judged and reported."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from softlabel.documents import json_text
from softlabel.errors import InputError, SoftlabelError
from softlabel.lab import (
    LEDGER,
    ArtifactStore,
    Ledger,
    Pieces,
    Progress,
    Study,
    check_counts,
    cores,
    make_executor,
    open_run,
    run_stages,
)
from softlabel.lab.executors import Executor
from softlabel.lab.file_names import file_name
from softlabel.lab.writable import check_directory
from softlabel.numerics.files import write_text
from softlabel.report.citations import citations
from softlabel.report.page import write_page
from softlabel.report.progress import study_progress
from softlabel.studies.pages import StudyResult
from softlabel.studies.teacher_progress import CountedPieces, TeacherModels

RUNS = Path("runs")  # parent of the directories of runs that name none
RECORDS = "records.json"  # what `train` writes instead of a ledger
R = TypeVar("R", bound=StudyResult)


@dataclass(frozen=True)
class Execution:
    """Where and how the trainings of a study run.

    Parameters
    ----------
    executor : {"serial", "local", "dask"}
        This process, processes of this machine, or a Dask cluster. Results do not depend on it.
    workers : int, optional
        Number of workers. Default: one for each CPU that this process may use.
    threads : int, optional
        Threads of each worker. Default: chosen so that all workers together use no more CPUs than this process may
        (by its affinity and the CPU quota of its container). A run that has finished bundles keeps its number, because
        sums round differently with another.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``"tcp://10.0.0.1:8786"``.
    progress : bool or callable, default=True
        Whether to show a progress bar in a terminal or a notebook, or a function that is called with a `Progress`
        after every bundle.
    command : str, optional
        The command that reproduces the run, for its page.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.Execution(executor="local", workers=2).workers
    2
    """

    executor: str = "serial"
    workers: int | None = None
    threads: int | None = None
    scheduler: str | None = None
    progress: bool | Callable[[Progress], None] = True
    command: str | None = None

    def start(self) -> tuple[Executor, int]:
        """The executor and its number of workers; wrong choices raise. Nothing is started or connected to yet."""
        check_counts(self.workers, self.threads, self.scheduler)
        workers = 1 if self.executor == "serial" else self.workers or cores()
        return make_executor(self.executor, workers, self.scheduler), workers

    def shared(self, threads: int) -> int:
        """At most this many threads for each worker, so that all workers together have no more than there are CPUs."""
        return max(1, min(threads, cores() // self.start()[1]))

    @contextmanager
    def reporting(self) -> Iterator[Callable[[Progress], None]]:
        """The callback for progress: the user's own, or one that moves a bar."""
        if callable(self.progress):
            yield self.progress
            return
        with study_progress(shown=self.progress) as progress:
            yield progress

    @contextmanager
    def teacher_progress(
        self, study: Study[Any, Any] | None = None, pieces: Pieces | None = None, teachers: int = 1
    ) -> "Iterator[CountedPieces | None]":
        """Report while teachers are trained or queried; yields the first one's pieces, which are counted."""
        with self.reporting() as progress:
            models = TeacherModels(progress, study, teachers)
            yield None if pieces is None else CountedPieces(pieces, models)


def run_in(run_dir: Path, study: Study[Any, R], execution: Execution) -> R:
    """Run what is left of a study in its directory, and report."""
    executor, workers = execution.start()
    with open_run(run_dir, study, threads=execution.threads, default_threads=max(1, cores() // workers)) as ledger:
        return finish(study, ledger, execution, executor)


def finish(
    study: Study[Any, R],
    ledger: Ledger,
    execution: Execution,
    executor: Executor,
    *,
    facts: Mapping[str, Any] | None = None,
) -> R:
    """Run what is left of a study whose run is open, judge its results, and write its page.

    facts       what is known beside the cells' results (audit, costs); stored in the ledger
    """
    ledger.set_meta(facts=facts, artifacts=study.artifacts)
    if execution.command is not None:
        ledger.set_meta(command=execution.command)
    with execution.reporting() as progress:
        before = ((facts or {}).get("teacher") or {}).get("seconds", 0.0)
        results = run_stages(study, ledger, executor, progress, before)
    store, run_dir = ArtifactStore(ledger.path.parent), ledger.path.parent
    result = study.judge(results, facts or {})
    artifacts = {name: store.arrays(key) for name, key in study.artifacts.items()}
    added = study.afterwards(result, artifacts, run_dir)
    if added:
        facts = {**(facts or {}), **added}
        ledger.set_meta(facts=facts)
        result = study.judge(results, facts)
    return report_run(study, result, ledger)


def report_run(study: Study[Any, R], result: R, ledger: Ledger) -> R:
    """Write the page and the JSON document of a finished run."""
    run_dir = ledger.path.parent
    call = f'sl.reproduce("{study.name}", settings="settings.toml")' if study.presets else f"sl.{study.name}(…)"
    command = ledger.meta("command") or call
    used = citations(study.name, study.settings.data)
    page = replace(result.page(), environment=ledger.meta("environment"), command=command, citations=used)
    result.report, result.run_dir = write_page(page, run_dir), run_dir
    document = result.to_dict() | {"report": result.report.name}
    write_text(run_dir / "results.json", json_text(document, indent=1) + "\n")
    return result


def default_run_dir(name: str, data: str, key: str, out: Path | str | None) -> Path:
    """The directory of a run: `out`, or one that the same question finds again."""
    return Path(out) if out is not None else RUNS / f"{name}-{file_name(Path(data).stem)}-{key[:8]}"


def check_run_dir(out: Path | str | None) -> None:
    """Refuse a run directory that cannot be written; None is one below `RUNS`."""
    check_directory(RUNS if out is None else out, folders=() if out is None else ("figures", "students"))


@contextmanager
def reading(run_dir: Path) -> Iterator[None]:
    """Turn the errors of reading something that is not a run's ledger into one about the directory."""
    try:
        yield
    except SoftlabelError:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise InputError(
            f"the ledger in '{run_dir}' lacks what its run needs ({type(problem).__name__}): it is damaged, or of "
            "another version of softlabel; rerun the original command with another `out`"
        ) from problem


def open_ledger(run_dir: str | Path) -> Ledger:
    """The ledger of an existing run directory, read-only."""
    path = Path(run_dir) / LEDGER
    if not path.is_file():
        other = f"'{run_dir}' is not a run directory: it contains no {LEDGER}; `results list` shows runs"
        raise InputError(without_ledger(Path(run_dir)) or other)
    return Ledger(path, read_only=True)


def without_ledger(run_dir: Path) -> str | None:
    """What the directory of a run of `train` or `distill` contains instead of a ledger; None for other directories."""
    if (run_dir / RECORDS).is_file():
        return (
            f"'{run_dir}' is a run of train, which has no {LEDGER}: `softlabel doctor` examines its training, and "
            "`softlabel predict` uses the files in its folder 'students'"
        )
    if (run_dir / "checkpoints").is_dir():
        return (
            f"'{run_dir}' is a run of distill, which has no {LEDGER}: its scores are in its file 'results.json', and "
            "`softlabel predict` uses the files in its folder 'students'"
        )
    return None
