"""The settings of a run as a TOML file, from which it can be repeated; None, which TOML lacks, is written as "none"."""

import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from softlabel.numerics.local_files import require_regular_file

NONE = "none"


def settings_text(values: dict[str, Any]) -> str:
    """The settings as TOML."""
    return tomli_w.dumps(_changed(values, None, NONE))


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file; raises OSError or ValueError (that of TOML or UTF-8) where it has none."""
    return _changed(tomllib.loads(require_regular_file(path).read_text(encoding="utf-8")), NONE, None)


def same_settings(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two settings are equal; a missing value is the same as None."""
    return _without_none(first) == _without_none(second)


def _changed(value: Any, old: str | None, new: str | None) -> Any:
    """The value with `new` for every `old` in it."""
    if isinstance(value, dict):
        return {name: _changed(part, old, new) for name, part in value.items()}
    if isinstance(value, list):
        return [_changed(part, old, new) for part in value]
    return new if value is old or (old is not None and value == old) else value


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_none(part) for part in value]
    return value
