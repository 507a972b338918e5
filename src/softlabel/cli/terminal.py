"""Everything that is printed on standard output and standard error.

What is printed may hold names from files: characters that are not printable are escaped, and nothing is read as Rich
markup. Characters that the terminal's encoding lacks are escaped too.
"""

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softlabel.errors import SoftlabelError
from softlabel.printable import printable

if TYPE_CHECKING:
    from rich.text import Text


BAR = 36  # characters of the longest bar of a chart


class OutputError(SoftlabelError):
    """Standard output cannot be written: its reader is gone, it was closed, or its disk is full."""


class Output(TextIOWrapper):
    """Standard output as this command writes it: what it cannot encode is escaped, failures are `OutputError`."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as problem:
            raise self._lost(problem) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as problem:
            raise self._lost(problem) from None

    def _lost(self, problem: OSError) -> OutputError:
        """The sentence, empty where the reader is gone; what is buffered goes nowhere, so that Python exits quietly."""
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if problem.errno == errno.EPIPE:  # the reader, `head` perhaps, stopped reading
            return OutputError("")
        return OutputError(f"standard output cannot be written ({problem.strerror}): the output is incomplete")


def open_streams() -> None:
    """Make the standard streams usable, whatever state the caller left them in.

    A descriptor that is closed would be taken by the next file that is opened, and Python would print messages for
    standard error on standard output. A closed standard error is discarded; a closed standard output stays one that
    cannot be written.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, flags), number)
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    raw = open(1, "wb", closefd=False)  # noqa: SIM115
    sys.stdout = Output(raw, encoding=encoding, errors="backslashreplace", line_buffering=raw.isatty())


def say(*lines: object) -> None:
    """Print lines of the result on standard output."""
    for line in lines:
        print(printable(line))


def answer(document: dict[str, Any]) -> None:
    """Print the one JSON document of a verb."""
    from softlabel.documents import json_text

    print(json_text(document))


def note(message: object) -> None:
    """Print a line on standard error; standard output is for the result."""
    with suppress(OSError):
        print(printable(message), file=sys.stderr)


class LogHandler(logging.Handler):
    """Prints the messages of the library on standard error, with the options of a command for its parameters."""

    def __init__(self, with_options: Callable[[str], str]) -> None:
        super().__init__()
        self.with_options = with_options

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        text = self.with_options(text) if "`" in text else text
        note(f"warning: {text}" if record.levelno >= logging.WARNING else text)


@contextmanager
def log_shown(with_options: Callable[[str], str]) -> Iterator[None]:
    """Print the messages of the library while a command runs.

    with_options    replaces parameters in backticks by the command's options
    """
    log, handler = logging.getLogger("softlabel"), LogHandler(with_options)
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def complain(message: str) -> None:
    """The one line that an error is."""
    note(f"softlabel: {' '.join(message.split())}")


def plain_text(text: object) -> "Text":
    """The text for Rich, without markup."""
    from rich.text import Text

    return Text(printable(text))


def bars(title: str, rows: Sequence[tuple[str, float, str]]) -> None:
    """Print a chart of bars: a name, a number and a word for each; the bars of negative numbers are hollow."""
    longest = max(len(name) for name, _, _ in rows)
    most = max(abs(value) for _, value, _ in rows) or 1.0
    encoding = (sys.stdout.encoding or "").lower()
    full, hollow = ("█", "░") if encoding.startswith("utf") else ("#", "-")
    say("", title)
    for name, value, word in rows:
        bar = (full if value > 0 else hollow) * round(BAR * abs(value) / most)
        say(f"  {name:<{longest}}  {bar:<{BAR}}  {value:+.1f}  {word}")
    say("")


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: bool = True) -> None:
    """Print a table, its first column to the left and, where the others are numbers, those to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=plain_text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for index, name in enumerate(header):
        shown.add_column(plain_text(name), justify="right" if numbers and index else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(plain_text(value) for value in row))
    Console().print(shown)
