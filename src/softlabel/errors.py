"""What the user is told.

An `InputError` means that the caller can mend it: the message names what is wrong, where, what was
found, and the remedy, in one line. The command line turns it into exit code 2. A `SoftlabelError` that is
not an `InputError` (a download that no source answers, a training that diverged) ends with exit code 1.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches


class SoftlabelError(Exception):
    """Something went wrong that is worth a sentence rather than a traceback."""


class InputError(SoftlabelError, ValueError):
    """The user's input is wrong; the message says what, where, and the remedy."""


class DivergedError(SoftlabelError, ArithmeticError):
    """A training left the finite numbers; the message names the student and the step."""


class UnavailableError(SoftlabelError, OSError):
    """Something outside (a data set's sources) could not be reached."""


def out_of_memory(problem: BaseException) -> str | None:
    """A sentence for an allocation that failed, in NumPy, Python or PyTorch; None for any other exception."""
    text = " ".join(str(problem).split())
    if not isinstance(problem, MemoryError) and not (isinstance(problem, RuntimeError) and "allocate memory" in text):
        return None
    found = re.search(r"tried to allocate \d+ bytes|Unable to allocate [\d.]+ \w+", text)
    detail = f" ({found[0]})" if found else ""
    return f"there is not enough memory{detail}: close other programs, or use fewer rows or smaller networks"


def unknown(kind: str, name: str, options: Iterable[str]) -> InputError:
    """An error for a name that is not one of `options`, pointing at the nearest one."""
    options = list(options)
    near = get_close_matches(name.lower(), options, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return InputError(f"unknown {kind} '{name}': {hint}there are {', '.join(options)}")


def require(condition: bool, message: str) -> None:
    """Raise `InputError(message)` unless the condition holds."""
    if not condition:
        raise InputError(message)


def few(names: Iterable[object], most: int = 8) -> str:
    """The first few names of a list that may be long."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(short(name) for name in names[:most]) + more


def short(value: object, most: int = 80) -> str:
    """A value as text, cut where it would fill the screen."""
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(names: Iterable[object], most: int = 8) -> str:
    """The same, each name in quotes."""
    return few([f"'{short(name, 78)}'" for name in names], most)
