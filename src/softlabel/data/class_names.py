"""What classes are called: as they are shown, and as names from different places are matched."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def class_name(value: object) -> str:
    """A class called 1.0 is '1', for labels that passed through a float column; True is 'true'."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def plain_name(value: Any) -> str:
    """A class's or an id's name in one spelling: 1.0 and "1.0" are '1', True and "True" are 'true'."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        return str(int(text))
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    if not np.isfinite(number):
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def places_of(names: Iterable[str], classes: Sequence[str]) -> dict[str, int | None]:
    """Where each name stands among the classes, to the letter or else in plain spelling; None where it does not."""
    exact = {name: place for place, name in enumerate(classes)}
    plain = {plain_name(name): place for place, name in enumerate(classes)}
    return {name: exact.get(name, plain.get(plain_name(name))) for name in names}


def rule_of(classes: Sequence[str]) -> str | None:
    """The rule whose two sides the classes are, as in ("not label>4", "label>4"); None for others."""
    return classes[1] if len(classes) == 2 and classes[0] == f"not {classes[1]}" else None


def rule_sides(rule: str) -> tuple[str, str]:
    """The two classes of a rule."""
    return f"not {rule.strip()}", rule.strip()


def match_names(given: Sequence[Any], classes: Sequence[str]) -> list[int] | None:
    """Where each of `classes` stands in `given`, None unless they are the same names.

    The two sides of a rule are also called 0 and 1, false and true, −1 and 1.
    """
    if rule_of(classes) is not None and len(given) == 2:
        plain = [plain_name(name) for name in given]
        for sides in (["0", "1"], ["false", "true"], ["-1", "1"]):
            if sorted(plain) == sorted(sides):
                return [plain.index(side) for side in sides]
    for form in (str, plain_name, number_name):
        names, wanted = [form(name) for name in given], [form(name) for name in classes]
        if len(set(names)) == len(names) and len(set(wanted)) == len(wanted) and set(names) == set(wanted):
            return [names.index(name) for name in wanted]
    return None


def number_name(value: Any) -> str:
    """The plain name, with 1 for true and 0 for false."""
    return {"true": "1", "false": "0"}.get(plain_name(value), plain_name(value))
