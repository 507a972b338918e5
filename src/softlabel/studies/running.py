"""How a study of the papers, or a question about a user's data, is run, judged and reported."""

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from softlabel.documents import json_text
from softlabel.errors import InputError, SoftlabelError, UnavailableError, unknown
from softlabel.lab import (
    LEDGER,
    Ledger,
    Progress,
    check_counts,
    cores,
    make_executor,
    open_run,
    read_results,
    run_stages,
)
from softlabel.lab.executors import Executor
from softlabel.lab.file_names import file_name
from softlabel.lab.writable import check_folder
from softlabel.numerics.files import write_text
from softlabel.numerics.local_files import require_regular_file
from softlabel.report.page import write_page

RUNS = Path("runs")  # where runs are kept that name no folder of their own

# name → module. A module offers Settings, PRESETS, study(settings),
# Judgement(settings, results), document(judged, report), page(judged, environment, again) and summary(judged).
STUDIES = {
    "figure1": "softlabel.studies.noise",
    "kernel-regime": "softlabel.studies.kernel_regime",
    "table1": "softlabel.studies.table1",
}

# Questions about a user's own data; their modules offer the same, without presets, and their data are held in memory.
QUESTIONS = {
    "plan": "softlabel.studies.plan",
    "verdict": "softlabel.studies.verdict",
}


@dataclass(frozen=True, eq=False)
class Answer:
    """A finished study: its JSON document, what it says in plain words, and its page."""

    document: dict[str, Any]
    summary: list[str]
    page: Path

    def __str__(self) -> str:
        return "\n".join(self.summary)


def study_module(name: str) -> ModuleType:
    """The module of a study."""
    if name not in STUDIES | QUESTIONS:
        raise unknown("study", name, STUDIES)
    return import_module((STUDIES | QUESTIONS)[name])


def study_settings(name: str, preset: str, file: str | Path | None = None, **changes: Any) -> Any:
    """Settings of a preset, changed by a TOML file and by name (None: unchanged); unknown names are errors."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    presets = study_module(name).PRESETS
    if preset not in presets:
        raise unknown("preset", preset, presets)
    settings = presets[preset]
    values = settings.model_dump()
    if file is not None:
        values |= _toml(Path(file), name)
    values |= {key: value for key, value in changes.items() if value is not None}
    try:
        return type(settings).model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        given = f"settings file '{file}'" if file is not None else "settings"
        raise InputError(f"{given}: {where + ': ' if where else ''}{message}") from None


def _toml(file: Path, name: str) -> dict[str, Any]:
    try:
        values = tomllib.loads(require_regular_file(file).read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError(f"settings file '{file}' cannot be read: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"settings file '{file}' is not TOML: {problem}") from None
    held = values.pop("study", name)
    if held != name:
        raise InputError(f"settings file '{file}' is for the study '{held}', not for '{name}'")
    return values


def with_data(settings: Any, note: Callable[[str], None]) -> Any:
    """The settings as they are if their data can be had, else on scikit-learn's digits, and says so.

    Raises where the data do not fit the settings, e.g. where one side of the task has no examples.
    """
    try:
        settings.check_data()
        return settings
    except UnavailableError as reason:
        if settings.data != "mnist":
            raise
        note(f"MNIST cannot be had here ({reason}); scikit-learn's digits stand in for it")
        digits = settings.on_digits()
        digits.check_data()
        return digits


def reproduce(
    name: str,
    settings: Any,
    folder: str | Path,
    *,
    executor: str = "local",
    workers: int | None = None,
    threads: int | None = None,
    scheduler: str | None = None,
    watch: Callable[[Progress], None] | None = None,
    again: str | None = None,
) -> Answer:
    """Run what is left of a study in this folder, and report.

    executor    "serial", "local" (processes) or "dask"; `workers` of them, by default one for each core
    threads     of each worker, by default so many that workers do not fight over cores; a run that has finished
                bundles keeps its count
    again       the command that runs it again, for the page
    """
    folder, study = Path(folder), study_module(name).study(settings)
    runner, workers = chosen_executor(executor, workers, threads, scheduler)
    with open_run(folder, study, threads=threads, default_threads=max(1, cores() // workers)) as ledger:
        run_stages(study, ledger, runner, watch)
        if again is not None:
            ledger.note(again=again)
        return rebuild(folder)


def chosen_executor(
    executor: str, workers: int | None, threads: int | None, scheduler: str | None
) -> tuple[Executor, int]:
    """The executor and its number of workers; wrong choices are an error. Nothing is started or connected to."""
    check_counts(workers, threads, scheduler)
    workers = 1 if executor == "serial" else workers or cores()
    return make_executor(executor, workers, scheduler), workers


def run_folder(name: str, data: str, key: str, folder: Path | str | None) -> Path:
    """The folder of a question's run: the one given, or one that the same question finds again."""
    if folder is not None:
        return Path(folder)
    return RUNS / f"{name}-{file_name(Path(data).stem)}-{key[:8]}"


def check_run_folder(folder: Path | str | None) -> None:
    """Refuse a run folder that cannot be written; None is one below `RUNS`, named once its settings are known."""
    check_folder(RUNS if folder is None else folder, folders=() if folder is None else ("figures", "students"))


def finish_question(
    name: str,
    settings: Any,
    ledger: Ledger,
    *,
    facts: dict[str, Any],
    again: str | None,
    watch: Callable[[Progress], None] | None = None,
    afterwards: Callable[[Any], dict[str, Any]] | None = None,
) -> Answer:
    """Run what is left of a question about the data held in this process, in its open run, and report.

    facts       what is known beside the results (audit, costs); kept in the ledger, those of the latest call
    afterwards  what the judgement adds to the facts, e.g. files it exports
    """
    module = study_module(name)
    results = run_stages(module.study(settings), ledger, make_executor("serial", 1), watch)
    if afterwards is not None:
        facts = facts | afterwards(module.Judgement(settings, results, facts))
    ledger.note(facts=facts, again=again or f"softlabel {name} (from Python)")
    return rebuild(ledger.path.parent)


def read_run(folder: Path) -> Answer:
    """`rebuild` for a run folder that somebody names, which need not be what it seems to be."""
    with fitting(folder):
        return rebuild(folder)


@contextmanager
def fitting(folder: Path) -> Iterator[None]:
    """Turn the errors that come of reading what is not a run's ledger into one about the folder."""
    try:
        yield
    except SoftlabelError:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise InputError(
            f"the ledger in '{folder}' does not hold what its run needs ({type(problem).__name__}): it is damaged, or "
            "of another version of softlabel; run the command that began it again, in another folder"
        ) from problem


def rebuild(folder: str | Path) -> Answer:
    """Judge a finished run and write its page, from its ledger alone."""
    folder = Path(folder)
    with open_ledger(folder) as ledger:
        name, held, environment = (ledger.meta(key) for key in ("study", "settings", "environment"))
        if not isinstance(environment, dict | None):
            raise TypeError(f"environment must be a dictionary, got {environment!r}")
        if name is None or held is None:
            raise SoftlabelError(f"the run in '{folder}' ended before it began; run its command again")
        again = ledger.meta("again") or f"softlabel reproduce {name} --settings settings.toml"
        module = study_module(name)
        settings = module.Settings.model_validate(held)
        results = read_results(module.study(settings), ledger)
        facts = ledger.meta("facts")
    if name in QUESTIONS and facts is None:
        raise SoftlabelError(f"the run in '{folder}' is not finished; run the command that began it again to go on")
    judged = module.Judgement(settings, results) if name in STUDIES else module.Judgement(settings, results, facts)
    page = write_page(module.page(judged, environment, again), folder)
    document = module.document(judged, str(page))
    write_text(folder / "results.json", json_text(document | {"report": page.name}, indent=1) + "\n")
    return Answer(document, module.summary(judged), page)


def open_ledger(folder: str | Path) -> Ledger:
    """The ledger of a run folder that exists, to be read only."""
    path = Path(folder) / LEDGER
    if not path.is_file():
        raise InputError(f"'{folder}' is not a run folder: there is no {LEDGER} in it; `results list` shows runs")
    return Ledger(path, read_only=True)
