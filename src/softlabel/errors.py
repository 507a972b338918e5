"""Exceptions of softlabel, and helpers that word their messages.

An `InputError` is a problem that the caller can fix. Its message is one line that names the parameter or file, the
constraint, the value that was passed, and the remedy; the command line exits with code 2. Any other `SoftlabelError`
(no source of a download responds, a training run diverges) exits with code 1.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches


class SoftlabelError(Exception):
    """Base class of the errors that softlabel raises on purpose."""


class InputError(SoftlabelError, ValueError):
    """An argument, an option or a file is invalid; the message says how to fix it."""


class DivergedError(SoftlabelError, ArithmeticError):
    """A training run produced values that are not finite; the message names the student and the step."""


class UnavailableError(SoftlabelError, OSError):
    """An external resource, such as the source of a data set, could not be reached."""


def out_of_memory(problem: BaseException) -> str | None:
    """Describe a failed allocation of NumPy, Python or PyTorch in one sentence; None for any other exception."""
    text = " ".join(str(problem).split())
    if not isinstance(problem, MemoryError) and not (isinstance(problem, RuntimeError) and "allocate memory" in text):
        return None
    match = re.search(r"tried to allocate \d+ bytes|Unable to allocate [\d.]+ \w+", text)
    detail = f" ({match[0]})" if match else ""
    return f"there is not enough memory{detail}: close other programs, or use fewer rows or smaller networks"


def unknown(kind: str, name: str, options: Iterable[str]) -> InputError:
    """The error for a name that is not one of `options`; it suggests the closest option."""
    options = list(options)
    near = get_close_matches(name.lower(), options, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return InputError(f"unknown {kind} '{name}': {hint}there are {', '.join(options)}")


def require(condition: bool, message: str) -> None:
    """Raise `InputError(message)` unless the condition holds."""
    if not condition:
        raise InputError(message)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: '1 row', '2 rows'."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def few(names: Iterable[object], most: int = 8) -> str:
    """At most `most` names, separated by commas, followed by the number of names left out."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(short(name) for name in names[:most]) + more


def short(value: object, most: int = 80) -> str:
    """A value as text of at most `most` characters."""
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Like `few`, with each name in quotes."""
    return few([f"'{short(name, 78)}'" for name in names], most)
