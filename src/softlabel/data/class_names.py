"""Names of classes: how they are shown, and how names from different sources are matched."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from softlabel.errors import quoted


def class_name(value: object) -> str:
    """The name of a class: 1.0 is '1' (labels may come from a float column), and True is 'true'."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def plain_name(value: Any) -> str:
    """The name of a class or an id in one spelling: 1.0 and "1.0" are '1', True and "True" are 'true'."""
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


def spelled_alike(names: Iterable[str]) -> list[list[str]]:
    """Names that differ only in upper and lower case or in spaces, such as 'yes' and 'Yes', together."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault("".join(name.casefold().split()), []).append(name)
    return [same for same in alike.values() if len(same) > 1]


def spelling_notes(names: Iterable[str]) -> tuple[str, ...]:
    """A remark for the user about each group of classes that are `spelled_alike`."""
    return tuple(
        f"{quoted(same)} are different classes: if they are the same one, spell it in one way"
        for same in spelled_alike(names)
    )


def places_of(names: Iterable[str], classes: Sequence[str]) -> dict[str, int | None]:
    """Position of each name among the classes, by exact or else by plain spelling; None where there is none."""
    exact = {name: position for position, name in enumerate(classes)}
    plain = {plain_name(name): position for position, name in enumerate(classes)}
    return {name: exact.get(name, plain.get(plain_name(name))) for name in names}


def rule_of(classes: Sequence[str]) -> str | None:
    """The rule that made these two classes, as in ("not label>4", "label>4"); None for other classes."""
    return classes[1] if len(classes) == 2 and classes[0] == f"not {classes[1]}" else None


def rule_sides(rule: str) -> tuple[str, str]:
    """The two classes of a rule."""
    return f"not {rule.strip()}", rule.strip()


def match_names(names: Sequence[Any], classes: Sequence[str]) -> list[int] | None:
    """Position of each of `classes` in `names`; None unless these are the same names.

    The two classes of a rule may also be called 0 and 1, false and true, or −1 and 1.
    """
    if rule_of(classes) is not None and len(names) == 2:
        plain = [plain_name(name) for name in names]
        for sides in (["0", "1"], ["false", "true"], ["-1", "1"]):
            if sorted(plain) == sorted(sides):
                return [plain.index(side) for side in sides]
    for form in (str, plain_name, number_name):
        ours, wanted = [form(name) for name in names], [form(name) for name in classes]
        if len(set(ours)) == len(ours) and len(set(wanted)) == len(wanted) and set(ours) == set(wanted):
            return [ours.index(name) for name in wanted]
    return None


def number_name(value: Any) -> str:
    """The plain name, with '1' for true and '0' for false."""
    return {"true": "1", "false": "0"}.get(plain_name(value), plain_name(value))
