"""The settings of a panel as the query of its address, so that a link shows what its sender saw."""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, ValidationError

from softlabel.errors import short


class LinkSettings(BaseModel):
    """Base class of the settings of a panel: every field has a default, limits, and a short name for the address."""

    model_config = ConfigDict(frozen=True, extra="ignore")


S = TypeVar("S", bound=LinkSettings)


def query_of(settings: LinkSettings) -> str:
    """The settings that differ from their defaults, as a query; empty where none does."""
    changed = settings.model_dump(exclude_defaults=True, mode="json")
    return urlencode({name: value for name, value in changed.items() if value is not None})


def settings_from(kind: type[S], query: Mapping[str, str]) -> tuple[S, list[str]]:
    """The settings in a query, and a sentence for each value that cannot be: its default is used instead."""
    values = {name: query[name] for name in kind.model_fields if name in query}
    problems = []
    while True:
        try:
            return kind.model_validate(values), problems
        except ValidationError as error:
            names = {str(one["loc"][0]) for one in error.errors() if one["loc"]} & values.keys() or set(values)
            for name in sorted(names):
                value = short(values.pop(name), 40)
                problems.append(f"“{name}={value}” in the address is not possible; the default is shown instead.")
