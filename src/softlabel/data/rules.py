"""Rules that turn class labels into the two signs −1 and +1.

Labels are positions in a tuple of class names. In a rule, a number means the class of that value where every class name
is a number ('0' to '9', '-1' and '1'), and the class at that position otherwise (as in fashion-mnist's `label>4`).
"""

import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from softlabel.errors import InputError, few, unknown

_RULE = re.compile(r"\s*label\s*(>=|<=|==|!=|>|<|\bin\b)\s*(.+?)\s*")
_ORDERS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def class_values(classes: Sequence[str]) -> np.ndarray:
    """The number that each class stands for: its name where all names are numbers, otherwise its position."""
    try:
        return np.array([float(name) for name in classes])
    except ValueError:
        return np.arange(len(classes), dtype=float)


def find_class(name: str | int, classes: Sequence[str]) -> int:
    """Position of the class called `name`, or of the class that the number `name` stands for."""
    position = _find(name, classes)
    if position is None:
        raise unknown("class", str(name).strip(), classes)
    return position


def _find(name: str | int, classes: Sequence[str]) -> int | None:
    text = str(name).strip()
    folded = [known.casefold() for known in classes]
    values = class_values(classes).tolist()
    spellings: list[tuple[Any, list[Any]]] = [
        (text, list(classes)), (text.casefold(), folded), (_number(text), values)
    ]  # fmt: skip
    return next((known.index(wanted) for wanted, known in spellings if wanted in known), None)


def class_names(names: str | Sequence[str | int]) -> list[str]:
    """The names in 'cat,dog' or in a list of names."""
    parts = names.split(",") if isinstance(names, str) else names
    stripped = [str(part).strip() for part in parts]
    if not stripped or "" in stripped:
        raise InputError(f"class names '{names}' contain an empty name: write them as 'cat,dog'")
    return stripped


def binary_rule(rule: str, labels: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    """+1 where the rule holds and −1 elsewhere, float32 (n,); a rule that gives all rows one sign is an error."""
    y = np.where(rule_holds(rule, classes)[labels], np.float32(1), np.float32(-1))
    if len(y) and (y == y[0]).all():
        raise InputError(
            f"`task` '{rule}' gives every example the same sign ({'+1' if y[0] > 0 else '−1'}): "
            f"choose a rule that divides the classes {few(classes[label] for label in np.unique(labels).tolist())}"
        )
    return y


def rule_holds(rule: str, classes: Sequence[str], of_all: bool = True) -> np.ndarray:
    """Whether a rule holds for each class, (K,).

    A rule is `label>4`, with any of > >= < <= == !=, or `label in 0,2,4`. Classes are referred to by number or by name;
    names have no order, so > >= < <= take numbers only. Where `classes` are not all classes that the rule was made for
    (`of_all` is False), the rule may name other classes, and numbers do not stand for positions.
    """
    parsed = _RULE.fullmatch(rule)
    if parsed is None:
        raise InputError(f"`task` '{rule}' is not a rule: write it as 'label>4', 'label==cat' or 'label in 0,2,4'")
    sign, text = parsed.groups()
    values = class_values(classes)
    if sign in _ORDERS:
        bound = _number(text)
        if bound is None:
            raise InputError(
                f"`task` '{rule}' compares with '{text}', which is not a number: for names use ==, != or in"
            )
        name = next((name for name in classes if not of_all and _number(name) is None), None)
        if name is not None:
            raise InputError(f"`task` '{rule}' compares numbers, and class '{name}' is not a number")
        return _ORDERS[sign](values, bound)
    names = class_names(text) if sign == "in" else [text]
    if not of_all:
        names = [name for name in names if _find(name, classes) is not None]
    positions = [find_class(name, classes) for name in names]
    return np.isin(np.arange(len(classes)), positions) != (sign == "!=")


def class_pair(names: str | Sequence[str | int], classes: Sequence[str]) -> tuple[int, int]:
    """The labels of the two classes of 'cat,dog': the first becomes −1, the second +1."""
    pair = class_names(names)
    if len(pair) != 2:
        raise InputError(f"`classes` '{','.join(pair)}' must be two, got {len(pair)}: write them as 'cat,dog'")
    first, second = (find_class(name, classes) for name in pair)
    if first == second:
        raise InputError(f"`classes` '{','.join(pair)}' name the same class twice: name two different classes")
    return first, second


def leave_out(names: str | Sequence[str | int], classes: Sequence[str]) -> list[int]:
    """The labels of all classes but the named ones."""
    out = {find_class(name, classes) for name in class_names(names)}
    kept = [label for label in range(len(classes)) if label not in out]
    if len(kept) < 2:
        raise InputError(
            f"leaving out {','.join(class_names(names))} keeps {len(kept)} of {len(classes)} classes: keep at least two"
        )
    return kept


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
