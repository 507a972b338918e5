"""Options that several verbs share, and how every verb answers."""

from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli.terminal import answer, note, say, table
from softlabel.ranges import LARGEST_SEED

__all__ = ["answer", "note", "say", "table"]

Data = Annotated[str, typer.Argument(metavar="DATA", help="A data set's name, or a CSV, Parquet, NPZ or NPY file.")]
Label = Annotated[str | None, typer.Option(help="Label column of a file.")]
Task = Annotated[str | None, typer.Option(help="Rule that makes two classes, e.g. 'label>4'.")]
Classes = Annotated[str | None, typer.Option(help="Two classes to keep, e.g. cat,dog (−1 and +1).")]
LeaveOut = Annotated[str | None, typer.Option(help="Classes to leave out, e.g. 1,7,4,9.")]
Scale = Annotated[
    str | None, typer.Option(help="none, max (divide by the largest norm), unit (norm 1) or standard (columns).")
]
Drop = Annotated[list[str] | None, typer.Option(help="Input column of a file to drop; may be given several times.")]
TestFile = Annotated[
    Path | None, typer.Option("--test", help="File of test rows, same columns; without it they are drawn from DATA.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of everything random.")]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Time limit in seconds for a margin; the best found so far is returned, and depends on the machine. "
        "Default: none, the work is limited instead.",
    ),
]
WorkLimit = Annotated[
    float | None,
    typer.Option(
        metavar="OPERATIONS",
        help="Work limit for a margin in floating-point operations, e.g. 1e12; the same command then gives the same "
        "numbers. Default: enough for minutes on a few cores, unless --budget is given.",
    ),
]
Teacher = Annotated[
    str,
    typer.Option(help="auto (trained here), an ONNX file, or a file of soft labels or logits (CSV, Parquet, NPY)."),
]
TeacherOutput = Annotated[str | None, typer.Option(help="Output of an ONNX teacher to take.")]
TeacherKind = Annotated[str | None, typer.Option(help="logits or probabilities, where it cannot be told.")]
Id = Annotated[str | None, typer.Option("--id", help="Column of ids by which a file of soft labels is matched.")]
SearchRadius = Annotated[
    bool, typer.Option("--search-radius", help="Choose a radius of the projection too, with the temperature.")
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the training rows; by default by their number.")]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Rows a step; by default by their number.")]
Out = Annotated[Path | None, typer.Option(help="Folder for what the run leaves behind.")]


def whole_numbers(words: str, name: str) -> list[int]:
    """Whole numbers from 1 on, given with commas, each once and in order; `name` is the option's, for the error."""
    from softlabel.errors import InputError

    try:
        numbers = sorted({int(word) for word in words.split(",")})
    except ValueError:
        raise InputError(f"{name} must be whole numbers with commas, e.g. 64,256, got '{words}'") from None
    if numbers[0] < 1:
        raise InputError(f"{name} must be whole numbers from 1 on, got '{words}'")
    return numbers


def numbers(words: str, name: str, infinite: bool = False) -> list[float]:
    """Numbers from 0 on, given with commas, each once and in order; with `infinite` inf is one too."""
    import math

    from softlabel.errors import InputError

    try:
        found = sorted({float(word) for word in words.split(",")})
    except ValueError:
        raise InputError(f"{name} must be numbers with commas, e.g. 0,0.1,1, got '{words}'") from None
    if any(math.isnan(number) or number < 0 or (math.isinf(number) and not infinite) for number in found):
        raise InputError(f"{name} must be numbers from 0 on{' or inf' if infinite else ''}, got '{words}'")
    return found
