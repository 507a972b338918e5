"""The run folder: settings.toml, ledger.sqlite, environment.json, report.html, figures/."""

import os
import platform
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tomli_w
from filelock import FileLock, Timeout

from softlabel.documents import json_text
from softlabel.errors import InputError, SoftlabelError, require
from softlabel.lab.cells import Study
from softlabel.lab.ledger import Ledger
from softlabel.numerics.files import write_text

LEDGER = "ledger.sqlite"
SHORT = 40  # letters of a setting that an error shows
PACKAGES = ("softlabel", "torch", "numpy", "scipy", "scikit-learn", "polars")


@contextmanager
def open_run(folder: Path, study: Study, threads: int) -> Iterator[Ledger]:
    """The ledger of a run of this study, for this driver alone; made where there is none.

    Raises where the folder belongs to another study, to other settings, or to a driver at work.
    """
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".driver.lock", blocking=False)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                f"run folder '{folder}' is in use by another driver; wait for it, or choose another --out"
            ) from None
    try:
        ledger_path = folder / LEDGER
        if not ledger_path.exists():
            strangers = [path.name for path in folder.iterdir() if path.name not in (".driver.lock", "settings.toml")]
            if strangers:
                raise InputError(
                    f"run folder '{folder}' holds other things ({', '.join(sorted(strangers)[:3])}) and no ledger; "
                    "choose an empty or a new folder with --out"
                )
        with Ledger(ledger_path) as ledger:
            _claim(ledger, folder, study, threads)
            yield ledger
    finally:
        lock.release()


def _claim(ledger: Ledger, folder: Path, study: Study, threads: int) -> None:
    """Write the study into a new run, or check that it is this one."""
    settings = study.settings.model_dump(mode="json")
    held = ledger.meta("study")
    if held is None:
        with _explained(folder):
            write_text(folder / "settings.toml", tomli_w.dumps({"study": study.name, **_without_none(settings)}))
            write_text(folder / "environment.json", json_text(environment()) + "\n")
        ledger.note(study=study.name, settings=settings, threads=threads, environment=environment())
        return
    if held != study.name:
        raise InputError(f"run folder '{folder}' holds a run of '{held}', not of '{study.name}'; choose another --out")
    before = ledger.meta("settings")
    if before != settings:
        names = sorted(name for name in before.keys() | settings.keys() if before.get(name) != settings.get(name))
        some = ", ".join(_change(name, before.get(name), settings.get(name)) for name in names[:3])
        raise InputError(f"run folder '{folder}' holds a run with other settings ({some}); choose another --out")


def _change(name: str, before: Any, now: Any) -> str:
    """A setting that differs, with its values where these are short."""
    short = all(isinstance(value, str | int | float) and len(str(value)) <= SHORT for value in (before, now))
    return f"{name} = {before}, now {now}" if short else name


def claim_folder(folder: Path, settings: dict[str, Any]) -> None:
    """Write the settings of a run into its folder, or check that they are those of the run that lies there."""
    path = folder / "settings.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        given = {key: value for key, value in settings.items() if value is not None}
        if path.exists():
            held = tomllib.loads(path.read_text(encoding="utf-8"))
            if held != given:
                names = sorted({*held, *given})
                other = next(name for name in names if held.get(name) != given.get(name))
                raise InputError(
                    f"run folder '{folder}' is of another run ({other} was {held.get(other)}, now {given.get(other)}); "
                    "choose another --out"
                )
            return
        strangers = sorted(child.name for child in folder.iterdir())
        require(not strangers, f"folder '{folder}' holds other things ({', '.join(strangers[:3])}); choose a new one")
        write_text(path, tomli_w.dumps(given))
    except OSError as problem:
        raise InputError(f"run folder '{folder}' cannot be written: {problem.strerror}") from None


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


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if isinstance(problem, SoftlabelError):
            raise
        reason = problem.strerror or str(problem)
        raise SoftlabelError(f"run folder '{folder}' cannot be written: {reason}; choose another --out") from problem
