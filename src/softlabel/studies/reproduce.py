"""`reproduce`: a study of the papers, from its name to its result."""

import logging
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from pydantic import ValidationError

from softlabel.errors import InputError, UnavailableError, counted, require, unknown
from softlabel.lab import Result
from softlabel.lab.settings_file import read_settings
from softlabel.studies.all_studies import AllStudies
from softlabel.studies.conditions import ConditionsResult
from softlabel.studies.figure1 import Figure1Result
from softlabel.studies.kernel_regime import KernelRegimeResult
from softlabel.studies.mechanism import MechanismResult
from softlabel.studies.ordinary import OrdinaryResult
from softlabel.studies.paper_settings import PaperSettings
from softlabel.studies.registry import PAPER_STUDIES, find_study
from softlabel.studies.run import RUNS, Execution, check_run_dir, run_in
from softlabel.studies.table1 import Table1Result
from softlabel.studies.width_scaling import WidthScalingResult

ALL = "all"
Question = Literal["initialization", "multiclass", "robustness", "sample-size", "seed-variance", "teacher-size"]
log = logging.getLogger("softlabel")


class _Options(TypedDict, total=False):
    """The keyword arguments of `reproduce`, for the signatures that give every study its own type of result."""

    settings: Mapping[str, Any] | str | Path | None
    data: str | None
    seed: int | None
    out: str | Path | None
    execution: Execution | None


@overload
def reproduce(name: Literal["table1"], preset: str = "quick", **options: Unpack[_Options]) -> Table1Result: ...


@overload
def reproduce(name: Literal["figure1"], preset: str = "quick", **options: Unpack[_Options]) -> Figure1Result: ...


@overload
def reproduce(
    name: Literal["kernel-regime"], preset: str = "quick", **options: Unpack[_Options]
) -> KernelRegimeResult: ...


@overload
def reproduce(name: Literal["ordinary"], preset: str = "quick", **options: Unpack[_Options]) -> OrdinaryResult: ...


@overload
def reproduce(name: Literal["mechanism"], preset: str = "quick", **options: Unpack[_Options]) -> MechanismResult: ...


@overload
def reproduce(
    name: Literal["width-scaling"], preset: str = "quick", **options: Unpack[_Options]
) -> WidthScalingResult: ...


@overload
def reproduce(name: Question, preset: str = "quick", **options: Unpack[_Options]) -> ConditionsResult: ...


@overload
def reproduce(name: Literal["all"], preset: str = "quick", **options: Unpack[_Options]) -> AllStudies: ...


@overload
def reproduce(name: str, preset: str = "quick", **options: Unpack[_Options]) -> Result: ...


def reproduce(
    name: str,
    preset: str = "quick",
    *,
    settings: Mapping[str, Any] | str | Path | None = None,
    data: str | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    execution: Execution | None = None,
) -> Result:
    """Run a study of the papers, or what is left of it, and report.

    Parameters
    ----------
    name : str
        The study: "table1", "ordinary", "figure1", "kernel-regime", "mechanism", "width-scaling", "initialization",
        "multiclass", "robustness", "sample-size", "seed-variance", "teacher-size", or "all" for all of them.
    preset : {"quick", "standard", "paper"}, default="quick"
        Its size.
    settings : mapping, str or path, optional
        Changes to the settings of the preset: values by name, or a TOML file.
    data : str, optional
        Another data set than the paper's, by name. Studies of conditions name their data sets in `settings`.
    seed : int, optional
        First seed of the runs.
    out : str or path, optional
        Directory of the run; the same call goes on where it was interrupted. Default: a directory below ``runs``.
    execution : Execution, optional
        Where the trainings run. Default: processes of this machine.

    Returns
    -------
    Result
        `Table1Result`, `OrdinaryResult`, `Figure1Result`, `KernelRegimeResult`, `MechanismResult`,
        `WidthScalingResult`, or `ConditionsResult`; `AllStudies` for "all".

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("table1", preset="quick", out="runs/table1")  # doctest: +SKIP
    >>> result.plot()  # doctest: +SKIP
    """
    if name == ALL:
        return _reproduce_all(preset, settings, data, seed, out, execution)
    chosen = study_settings(name, preset, settings, data=data, seed=seed)
    check_run_dir(out)
    chosen = with_available_data(chosen)
    run_dir = Path(out) if out is not None else RUNS / f"{name}-{preset}"
    return run_in(run_dir, find_study(name, PAPER_STUDIES)(chosen), execution or Execution(executor="local"))


def _reproduce_all(
    preset: str,
    settings: Mapping[str, Any] | str | Path | None,
    data: str | None,
    seed: int | None,
    out: str | Path | None,
    execution: Execution | None,
) -> AllStudies:
    """Every study in a directory of its own, one after another; arguments are checked before the first begins."""
    require(
        settings is None and data is None, f"`settings` and `data` belong to one study, not to '{ALL}': leave them out"
    )
    for name in PAPER_STUDIES:
        study_settings(name, preset, seed=seed)
    run_dir = RUNS / f"{ALL}-{preset}" if out is None else Path(out)
    check_run_dir(run_dir)
    results = {}
    for name in PAPER_STUDIES:
        log.info("study %s", name)
        results[name] = reproduce(name, preset, seed=seed, out=run_dir / name, execution=execution)
    return AllStudies(results, run_dir)


def study_settings(
    name: str, preset: str, changes: Mapping[str, Any] | str | Path | None = None, **values: Any
) -> PaperSettings:
    """Settings of a preset, changed by a TOML file or a mapping, and by name (None: unchanged)."""
    presets = find_study(name, PAPER_STUDIES).presets
    if preset not in presets:
        raise unknown("preset", preset, presets)
    settings: Any = presets[preset]
    changed = settings.model_dump()
    source = "settings"
    if isinstance(changes, Mapping):
        changed = _merged(changed, changes)
    elif changes is not None:
        source = f"settings file '{changes}'"
        changed = _merged(changed, _read_toml(Path(changes), name))
    changed |= {key: value for key, value in values.items() if value is not None}
    require(
        settings.one_data_set or changed["data"] == settings.data,
        f"'{name}' has several data sets, so that `data` cannot be chosen: change its `conditions` in `settings`",
    )
    try:
        return type(settings).model_validate(changed)
    except ValidationError as problem:
        raise InputError(f"{source}: {_first_mistake(problem, type(settings).model_fields)}") from None


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The values with changes; a table within them is changed in what its changes name."""
    merged = dict(values)
    for name, change in changes.items():
        before = merged.get(name)
        both = isinstance(before, Mapping) and isinstance(change, Mapping)
        merged[name] = _merged(before, change) if both else change  # type: ignore[arg-type]
    return merged


def _first_mistake(problem: ValidationError, names: Iterable[str]) -> str:
    """What is wrong with the first setting that is, in one line."""
    first = problem.errors()[0]
    where, value, limits = ".".join(str(part) for part in first["loc"]), first["input"], first.get("ctx", {})
    if first["type"] == "extra_forbidden":
        return str(unknown("setting", where, names)) if len(first["loc"]) == 1 else f"there is no setting `{where}`"
    if first["type"] == "too_short":
        return f"`{where}` needs at least {counted(limits['min_length'], 'value')}, got {limits['actual_length']}"
    message = first["msg"].removeprefix("Value error, ")
    if message.startswith("Input should be "):
        return f"`{where}` must be {message.removeprefix('Input should be ')}, got {value!r}"
    return f"`{where}`: {message}" if where else message


def _read_toml(file: Path, name: str) -> dict[str, Any]:
    try:
        values = read_settings(file)
    except OSError as problem:
        raise InputError(f"settings file '{file}' cannot be read: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"settings file '{file}' is not TOML: {problem}") from None
    study = values.pop("study", name)
    if study != name:
        raise InputError(f"settings file '{file}' is for the study '{study}', not for '{name}'")
    return values


def with_available_data(settings: PaperSettings) -> PaperSettings:
    """The settings if their data can be loaded; those of MNIST otherwise on scikit-learn's digits, with a message."""
    try:
        settings.check_data()
        return settings
    except UnavailableError as reason:
        digits = settings.on_digits() if settings.data == "mnist" else None
        if digits is None:
            raise
        log.info("MNIST is unavailable (%s); using scikit-learn's digits instead", reason)
        digits.check_data()
        return digits
