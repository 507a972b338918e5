"""The settings of a run as a TOML file, from which it can be repeated; None, which TOML lacks, is written as "none"."""

import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from softlabel.numerics.local_files import require_regular_file

NONE = "none"


def settings_text(values: dict[str, Any]) -> str:
    """The settings as TOML."""
    return tomli_w.dumps(written(values))


def written(values: dict[str, Any]) -> dict[str, Any]:
    """The settings as their file has them."""
    return _changed(values, None, NONE)


def read_written(path: Path) -> dict[str, Any]:
    """What a settings file has; raises OSError or ValueError (that of TOML or UTF-8) where it has no settings."""
    return tomllib.loads(require_regular_file(path).read_text(encoding="utf-8"))


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file, with None for "none"; raises as `read_written`."""
    return _changed(read_written(path), NONE, None)


def without_none(value: Any) -> Any:
    """Written settings without those that are "none", which a file may lack."""
    if isinstance(value, dict):
        return {name: without_none(part) for name, part in value.items() if part != NONE}
    if isinstance(value, list):
        return [without_none(part) for part in value]
    return value


def _changed(value: Any, old: str | None, new: str | None) -> Any:
    """The value with `new` for every `old` in it."""
    if isinstance(value, dict):
        return {name: _changed(part, old, new) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(part, old, new) for part in value]
    return new if value is old or (old is not None and value == old) else value
