"""`verdict` and `plan` with their less common settings as plain keywords, for tests."""

from dataclasses import fields
from typing import Any

import softlabel as sl


def _split(options: type, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    names = {field.name for field in fields(options)} - {"teacher"}
    return {k: v for k, v in settings.items() if k in names}, {k: v for k, v in settings.items() if k not in names}


def verdict(
    X: Any, y: Any = None, teacher: Any = "auto", *, progress: Any = False, executor: Any = "serial", **settings: Any
):
    less_common, common = _split(sl.VerdictOptions, settings)
    execution = sl.Execution(executor, progress=progress)
    return sl.verdict(X, y, teacher, options=sl.VerdictOptions(**less_common), execution=execution, **common)


def plan(
    X: Any, y: Any = None, teacher: Any = "auto", *, progress: Any = False, executor: Any = "serial", **settings: Any
):
    less_common, common = _split(sl.PlanOptions, settings)
    execution = sl.Execution(executor, progress=progress)
    return sl.plan(X, y, teacher, options=sl.PlanOptions(**less_common), execution=execution, **common)


MEASURED = ("seconds", "milliseconds", "milliseconds_thousand", "report", "run_dir", "exported", "files")


def comparable(document: Any) -> Any:
    """A document without times and paths, which differ from run to run."""
    if isinstance(document, dict):
        return {name: comparable(part) for name, part in document.items() if name not in MEASURED}
    return [comparable(part) for part in document] if isinstance(document, list) else document
