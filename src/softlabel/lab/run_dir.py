"""The run directory: settings.toml, ledger.sqlite, environment.json, artifacts/, report.html, figures/.

A directory belongs to one run and, while the run is working, to one driver. A driver that is refused writes nothing.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from softlabel.documents import json_text
from softlabel.errors import InputError, SoftlabelError, few, require
from softlabel.lab.environment import environment
from softlabel.lab.executors import MOST_THREADS
from softlabel.lab.ledger import Ledger
from softlabel.lab.settings_file import read_written, settings_text, without_none, written
from softlabel.lab.study import Study
from softlabel.numerics.files import WriteError, explained, is_unfinished, write_text

LEDGER = "ledger.sqlite"
SETTINGS = "settings.toml"
LOCK = ".driver.lock"
LOCKS = Path("/proc/locks")  # of this machine
SHORT = 40  # characters of a setting that an error shows
log = logging.getLogger("softlabel")


@contextmanager
def open_run(run_dir: Path, study: Study, *, threads: int | None = None, default_threads: int = 1) -> Iterator[Ledger]:
    """The ledger of a run of this study, for this driver alone; made where there is none.

    threads             of each worker. A run that has finished bundles keeps the count it began with, since sums round
                        differently with another; then another count is an error
    default_threads     the count for a new run where `threads` is None

    Raises where the directory belongs to another study, to other settings, or to a driver at work.
    """
    for count in (threads, default_threads):
        require(
            count is None or 1 <= count <= MOST_THREADS,
            f"threads must be a whole number from 1 to {MOST_THREADS:,}, got {count}",
        )
    values = {"study": study.name, **study.settings.model_dump(mode="json")}
    if not (run_dir / LEDGER).exists():
        _check_new(run_dir, values)
    with _locked(run_dir), keeping(run_dir):
        if not (run_dir / LEDGER).exists():
            _check_new(run_dir, values)
        with Ledger(run_dir / LEDGER) as ledger:
            _claim(ledger, run_dir, study, values)
            _settle_threads(ledger, run_dir, threads, default_threads)
            for name in ledger.damaged():
                log.warning("bundle '%s' of '%s' is damaged: it is computed again", name, ledger.path)
            yield ledger


@contextmanager
def claim_run_dir(run_dir: Path, settings: dict[str, Any]) -> Iterator[None]:
    """Lock the directory of a run with these settings, a new one or that of the same run, for this driver alone."""
    _check_new(run_dir, settings)
    with _locked(run_dir), keeping(run_dir):
        _check_new(run_dir, settings)
        if not (run_dir / SETTINGS).exists():
            write_text(run_dir / SETTINGS, settings_text(settings))
        yield


@contextmanager
def keeping(run_dir: Path) -> Iterator[None]:
    """Where the work is interrupted or the disk is full, say that finished work is kept in the directory."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"what is finished is kept in '{run_dir}'; the same command goes on from there")
        raise
    except WriteError as problem:
        raise SoftlabelError(f"{problem}; what is finished is kept: run the same command again to go on") from problem


@contextmanager
def _locked(run_dir: Path) -> Iterator[None]:
    with explained(run_dir, "run directory "):
        run_dir.mkdir(parents=True, exist_ok=True)
        lock = FileLock(run_dir / LOCK, blocking=False)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                f"run directory '{run_dir}' is in use by another driver; wait for it, or choose another `out`"
            ) from None
    try:
        yield
    finally:
        lock.release()


def is_driven(run_dir: Path) -> bool:
    """Whether a driver is at work in the directory, as far as the system tells (Linux); nothing is locked to find out.

    Locks of other machines, and of other containers, are not seen.
    """
    try:
        status = (run_dir / LOCK).stat()
        locks = LOCKS.read_text().splitlines()
    except OSError:
        return False
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    return any(words[1] == "FLOCK" and file in words for words in map(str.split, locks) if len(words) > 5)


def _check_new(run_dir: Path, values: dict[str, Any]) -> None:
    """Refuse a directory without a ledger unless it is new, empty, or of a run with these settings."""
    if not run_dir.exists():
        return
    require(run_dir.is_dir(), f"run directory '{run_dir}' cannot be written: it is a file; choose another `out`")
    names = sorted(path.name for path in run_dir.iterdir() if path.name != LOCK and not is_unfinished(path.name))
    if SETTINGS not in names:
        require(
            not names,
            f"run directory '{run_dir}' contains other files ({few(names, 3)}) and no run; choose an empty or a new "
            "`out` directory",
        )
        return
    recorded, now = without_none(_read_settings(run_dir / SETTINGS)), without_none(written(values))
    if recorded != now:
        raise _other_settings(run_dir, recorded, now)


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        return read_written(path)
    except (OSError, ValueError) as problem:
        raise InputError(f"'{path}' cannot be read ({problem}); choose another `out`") from None


def _contains(path: Path, values: dict[str, Any]) -> bool:
    """Whether a file contains exactly these settings."""
    try:
        return read_written(path) == written(values)
    except (OSError, ValueError):
        return False


def _other_settings(run_dir: Path, before: dict[str, Any], now: dict[str, Any]) -> InputError:
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    some = ", ".join(_change(name, before.get(name), now.get(name)) for name in names[:3])
    return InputError(f"run directory '{run_dir}' contains a run with other settings ({some}); choose another `out`")


def _claim(ledger: Ledger, run_dir: Path, study: Study, values: dict[str, Any]) -> None:
    """Write the study into a new run, or check that it is this one."""
    settings = study.settings.model_dump(mode="json")
    recorded = ledger.meta("study")
    if recorded is None:
        if (run_dir / "results.json").exists():
            log.warning("the run in '%s' has lost its ledger: it begins anew", run_dir)
        write_text(run_dir / SETTINGS, settings_text(values))
        write_text(run_dir / "environment.json", json_text(environment()) + "\n")
        ledger.set_meta(study=study.name, settings=settings, environment=environment())
        return
    if recorded != study.name:
        raise InputError(
            f"run directory '{run_dir}' contains a run of '{recorded}', not of '{study.name}'; choose another `out`"
        )
    before = ledger.meta("settings")
    if before != settings:
        raise _other_settings(run_dir, before if isinstance(before, dict) else {}, settings)
    if not _contains(run_dir / SETTINGS, values):
        write_text(run_dir / SETTINGS, settings_text(values))


def _settle_threads(ledger: Ledger, run_dir: Path, threads: int | None, default: int) -> None:
    """Record the number of threads of a run; one that has finished bundles keeps its count."""
    recorded = ledger.meta("threads")
    possible = type(recorded) is int and 1 <= recorded <= MOST_THREADS
    if possible and threads in (None, recorded):
        return
    finished = 0 if recorded is None else ledger.finished()
    if finished and possible:
        raise InputError(
            f"run directory '{run_dir}' contains {finished} finished bundles computed with `threads` {recorded}; with "
            f"{threads} sums would round differently: leave `threads` out, give {recorded}, or choose another `out`"
        )
    if finished and threads is None:
        raise InputError(
            f"run directory '{run_dir}' says that its {finished} finished bundles were computed with `threads` "
            f"{recorded}, which is impossible: give the `threads` to go on with, or choose another `out`"
        )
    ledger.set_meta(threads=threads or default)


def _change(name: str, before: Any, now: Any) -> str:
    """A setting that differs, with its values if they are short."""
    short = all(isinstance(value, str | int | float) and len(str(value)) <= SHORT for value in (before, now))
    return f"{name} = {before}, now {now}" if short else name
