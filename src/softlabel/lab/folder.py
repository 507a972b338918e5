"""The run folder: settings.toml, ledger.sqlite, environment.json, artifacts/, report.html, figures/.

A folder belongs to one run and, while it is worked on, to one driver. Whoever is refused leaves nothing behind in it.
"""

import logging
import os
import platform
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import tomli_w
from filelock import FileLock, Timeout

from softlabel.documents import json_text
from softlabel.errors import InputError, SoftlabelError, few, require
from softlabel.lab.cells import Study
from softlabel.lab.executors import MOST_THREADS
from softlabel.lab.ledger import Ledger
from softlabel.numerics.files import WriteError, explained, is_unfinished, write_text
from softlabel.numerics.local_files import require_regular_file

LEDGER = "ledger.sqlite"
SETTINGS = "settings.toml"
LOCK = ".driver.lock"
SHORT = 40  # letters of a setting that an error shows
PACKAGES = ("softlabel", "torch", "numpy", "scipy", "scikit-learn", "polars")
log = logging.getLogger("softlabel")
P = ParamSpec("P")
R = TypeVar("R")
_HELD: ContextVar[frozenset[Path]] = ContextVar("folders that this run has to itself", default=frozenset())


@contextmanager
def open_run(folder: Path, study: Study, *, threads: int | None = None, default_threads: int = 1) -> Iterator[Ledger]:
    """The ledger of a run of this study, for this driver alone; made where there is none.

    threads             of each worker. A run that has finished bundles keeps the count it began with, since sums round
                        differently with another; then another count is an error
    default_threads     the count for a new run where `threads` is None

    Raises where the folder belongs to another study, to other settings, or to a driver at work.
    """
    for count in (threads, default_threads):
        require(
            count is None or 1 <= count <= MOST_THREADS,
            f"threads must be a whole number from 1 to {MOST_THREADS:,}, got {count}",
        )
    given = {"study": study.name, **_without_none(study.settings.model_dump(mode="json"))}
    if not (folder / LEDGER).exists():
        _check_new(folder, given)
    with _locked(folder), kept(folder):
        if not (folder / LEDGER).exists():
            _check_new(folder, given)
        with Ledger(folder / LEDGER) as ledger:
            _claim(ledger, folder, study, given)
            _settle_threads(ledger, folder, threads, default_threads)
            for name in ledger.damaged():
                log.warning("bundle '%s' of '%s' is damaged: it is computed again", name, ledger.path)
            yield ledger


@contextmanager
def claim_folder(folder: Path, settings: dict[str, Any]) -> Iterator[None]:
    """Hold a folder for a run with these settings: a new one, or that of the same run, and for this driver alone."""
    given = _without_none(settings)
    _check_new(folder, given)
    with _locked(folder), kept(folder):
        _check_new(folder, given)
        if not (folder / SETTINGS).exists():
            write_text(folder / SETTINGS, tomli_w.dumps(given))
        yield


@contextmanager
def kept(folder: Path) -> Iterator[None]:
    """Say that what is finished is kept in the folder, where the work in it is interrupted or the disk is full."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"what is finished is kept in '{folder}'; the same command goes on from there")
        raise
    except WriteError as problem:
        raise SoftlabelError(f"{problem}; what is finished is kept: run the same command again to go on") from problem


def holds_folder(function: Callable[P, R]) -> Callable[P, R]:
    """A function that holds the folder of its argument `folder` while it runs, unless its caller does; None: none."""

    @wraps(function)
    def held(*arguments: P.args, **named: P.kwargs) -> R:
        folder = named.get("folder")
        if folder is None or Path(str(folder)).resolve() in _HELD.get():
            return function(*arguments, **named)
        with _locked(Path(str(folder))), kept(Path(str(folder))):
            return function(*arguments, **named)

    return held


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with explained(folder, "run folder "):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, blocking=False)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                f"run folder '{folder}' is in use by another driver; wait for it, or choose another --out"
            ) from None
    before = _HELD.set(_HELD.get() | {folder.resolve()})
    try:
        yield
    finally:
        _HELD.reset(before)
        lock.release()


def _check_new(folder: Path, given: dict[str, Any]) -> None:
    """Refuse a folder without a ledger unless it is new, empty, or of the run with these settings; writes nothing."""
    if not folder.exists():
        return
    require(folder.is_dir(), f"run folder '{folder}' cannot be written: it is a file; choose another --out")
    names = sorted(path.name for path in folder.iterdir() if path.name != LOCK and not is_unfinished(path.name))
    if SETTINGS not in names:
        require(
            not names,
            f"run folder '{folder}' holds other things ({few(names, 3)}) and no run; choose an empty or a new folder "
            "with --out",
        )
        return
    held = _read_settings(folder / SETTINGS)
    if held != given:
        raise _other_settings(folder, held, given)


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(require_regular_file(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"'{path}' cannot be read ({problem}); choose another --out") from None


def _other_settings(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> InputError:
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    some = ", ".join(_change(name, before.get(name), now.get(name)) for name in names[:3])
    return InputError(f"run folder '{folder}' holds a run with other settings ({some}); choose another --out")


def _claim(ledger: Ledger, folder: Path, study: Study, given: dict[str, Any]) -> None:
    """Write the study into a new run, or check that it is this one."""
    settings = study.settings.model_dump(mode="json")
    held = ledger.meta("study")
    if held is None:
        if (folder / "results.json").exists():
            log.warning("the run in '%s' has lost its ledger: it begins anew", folder)
        write_text(folder / SETTINGS, tomli_w.dumps(given))
        write_text(folder / "environment.json", json_text(environment()) + "\n")
        ledger.note(study=study.name, settings=settings, environment=environment())
        return
    if held != study.name:
        raise InputError(f"run folder '{folder}' holds a run of '{held}', not of '{study.name}'; choose another --out")
    before = ledger.meta("settings")
    if before != settings:
        raise _other_settings(folder, before if isinstance(before, dict) else {}, settings)


def _settle_threads(ledger: Ledger, folder: Path, threads: int | None, default: int) -> None:
    """Note how many threads a run has; one that has finished bundles keeps its count."""
    held = ledger.meta("threads")
    possible = type(held) is int and 1 <= held <= MOST_THREADS
    if possible and threads in (None, held):
        return
    finished = 0 if held is None else ledger.finished()
    if finished and possible:
        raise InputError(
            f"run folder '{folder}' holds {finished} finished bundles computed with threads = {held}; with {threads} "
            f"sums would round differently: leave threads out, give {held}, or choose another --out"
        )
    if finished and threads is None:
        raise InputError(
            f"run folder '{folder}' says that its {finished} finished bundles were computed with threads = {held}, "
            "which cannot be: give the threads to go on with, or choose another --out"
        )
    ledger.note(threads=threads or default)


def _change(name: str, before: Any, now: Any) -> str:
    """A setting that differs, with its values where these are short."""
    short = all(isinstance(value, str | int | float) and len(str(value)) <= SHORT for value in (before, now))
    return f"{name} = {before}, now {now}" if short else name


def environment() -> dict[str, Any]:
    """What a run was made with."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "packages": packages,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def _without_none(value: Any) -> Any:
    """TOML has no word for nothing: leave it out."""
    if isinstance(value, dict):
        return {name: _without_none(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_none(part) for part in value if part is not None]
    return value
