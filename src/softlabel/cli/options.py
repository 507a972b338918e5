"""Options that several verbs share, and how every verb prints its result."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli.terminal import answer, bars, note, say, table
from softlabel.errors import InputError, require
from softlabel.ranges import LARGEST_SEED

if TYPE_CHECKING:
    from softlabel.lab import Result
    from softlabel.report.page import Table

__all__ = ["answer", "bars", "note", "say", "table"]

DATA, TEACHER, TRAINING, EXECUTION, OUTPUT = "Data", "Teacher", "Training", "Execution", "Output"  # help panels


def option(help: str, panel: str | None = None, *names: str, **more: Any) -> Any:
    """A Typer option in a panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="Name of a data set; a CSV, Parquet, NPZ or NPY file; a folder of images."),
]
OptionalData = Annotated[
    str | None,
    typer.Argument(metavar="DATA", help="Data set, file or folder whose γ, n and c are used."),
]
Label = Annotated[str | None, option("Label column of a file.", DATA)]
Task = Annotated[str | None, option("Rule that makes two classes, e.g. 'label>4'.", DATA)]
Classes = Annotated[str | None, option("Two classes to keep, e.g. cat,dog (−1 and +1).", DATA)]
LeaveOut = Annotated[str | None, option("Classes to leave out, e.g. 1,7,4,9.", DATA)]
Scale = Annotated[
    str | None, option("none, max (divide by the largest norm), unit (norm 1) or standard (columns).", DATA)
]
Drop = Annotated[list[str] | None, option("Input column of a file to drop; may be given several times.", DATA)]
Numeric = Annotated[
    list[str] | None, option("Column that is a number, whatever it looks like; may be given several times.", DATA)
]
Categorical = Annotated[
    list[str] | None, option("Column that is a category, e.g. a zip code; may be given several times.", DATA)
]
Group = Annotated[
    str | None, option("Column whose rows with the same entry stay in one part of the split, e.g. patient.", DATA)
]
Time = Annotated[str | None, option("Column of dates or numbers: the latest rows are the test rows.", DATA)]
TestFile = Annotated[
    Path | None, option("File of test rows with the same columns. Default: drawn from DATA.", DATA, "--test")
]
Size = Annotated[int | None, option("Resize the images of a folder to N×N pixels.", DATA, min=4)]
Rows = Annotated[int | None, option("Use only this many rows, drawn by the seed.", DATA, min=2)]
Json = Annotated[bool, option("Print one JSON document on stdout and nothing else there.", OUTPUT, "--json")]
Seed = Annotated[int, option("Random seed.", None, min=0, max=LARGEST_SEED)]
Out = Annotated[Path | None, option("Directory for the files of the run.", OUTPUT)]
TimeLimit = Annotated[
    float | None,
    option(
        "Time limit in seconds; the best interval found so far is returned, and depends on the machine. Default: no "
        "time limit, but a work limit.",
        EXECUTION, metavar="SECONDS",
    ),
]  # fmt: skip
WorkLimit = Annotated[
    float | None,
    option(
        "Work limit in floating-point operations, e.g. 1e12; the same command then gives the same numbers. Default: "
        "enough for minutes on a few cores, unless there is a time limit.",
        EXECUTION, metavar="OPERATIONS",
    ),
]  # fmt: skip
Teacher = Annotated[
    str, option("auto (trained here), an ONNX file, or a file of soft labels or logits (CSV, Parquet, NPY).", TEACHER)
]
TeacherOutput = Annotated[str | None, option("Output of an ONNX teacher to use.", TEACHER)]
TeacherKind = Annotated[str | None, option("logits or probabilities, where this is ambiguous.", TEACHER)]
Id = Annotated[str | None, option("Column of ids by which a file of soft labels is matched.", TEACHER, "--id")]
StudentFamily = Annotated[
    str, option("two-layer, tree, boosted-trees, forest, logistic; of images also vgg or resnet.", TRAINING)
]
StudentSize = Annotated[
    int | None,
    option("Size of the students: neurons, leaves, boosting rounds, trees or channels. Default: 32 neurons, 16 leaves, "
           "20 rounds or trees, 16 (vgg) or 8 (resnet) channels.", TRAINING, min=1),
]  # fmt: skip
CrossTest = Annotated[
    int | None,
    option("Test every row once, in N folds; 0: one test part. Default: 5 below 5,000 rows with teacher auto.", DATA,
           min=0, metavar="N"),
]  # fmt: skip
SearchRadius = Annotated[bool, option("Choose a radius of the papers' projection, too.", TRAINING, "--search-radius")]
Epochs = Annotated[
    int | None,
    option("Passes over the training rows. Default: by their number, doubled while students gain.", TRAINING, min=1),
]
BatchSize = Annotated[
    int | None, option("Batch size. Default: chosen from the number of training rows.", TRAINING, min=1)
]
ExecutorName = Annotated[str, option("serial, local (processes) or dask.", EXECUTION, "--executor")]
Workers = Annotated[int | None, option("Number of workers. Default: one for each core.", EXECUTION, min=1)]
Threads = Annotated[int | None, option("Threads of each worker. Default: cores / workers.", EXECUTION, min=1)]
Scheduler = Annotated[str | None, option("Address of a Dask scheduler, e.g. tcp://10.0.0.1:8786.", EXECUTION)]


@contextmanager
def interruptible() -> Iterator[None]:
    """Where the work is interrupted, print what its run directory says about that."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        for line in getattr(interrupt, "__notes__", ()):
            note(line)
        raise


def print_tables(*tables: "Table") -> None:
    """Print tables as the library made them."""
    for each in tables:
        table(each.title, each.header, each.rows)


def result_document(result: "Result") -> dict[str, Any]:
    """The JSON document of a result, with the path of its page."""
    return result.to_dict() | ({} if result.report is None else {"report": str(result.report)})


def print_result(
    run: "Callable[[], Result]", show: Callable[[dict[str, Any]], None], as_json: bool, *, answer_first: bool = False
) -> None:
    """Run, and print the document of the result, or its table (`show`) and sentences.

    answer_first    the first sentence stands above the table
    """
    with interruptible():
        result = run()
    document = result_document(result)
    if as_json:
        answer(document)
        return
    above = 1 if answer_first else 0
    say(*result.summary[:above])
    show(document)
    where = f"Reports: {result.run_dir}" if result.report is None else f"Report: {result.report}"
    say(*result.summary[above:], "", where)


def positive_integers(words: str, name: str) -> list[int]:
    """Positive integers separated by commas, sorted and unique; `name` is the parameter, for the error."""
    values = _split(words, int, f"{name} must be integers separated by commas, e.g. 64,256")
    require(values[0] >= 1, f"{name} must be positive integers, got '{words}'")
    return values


def numbers(words: str, name: str, infinite: bool = False) -> list[float]:
    """Nonnegative numbers separated by commas, sorted and unique; with `infinite` inf is one, too."""
    values = _split(words, float, f"{name} must be numbers separated by commas, e.g. 0,0.1,1")
    allowed = "nonnegative numbers or inf" if infinite else "nonnegative numbers"
    fine = all(value >= 0 and (infinite or math.isfinite(value)) for value in values)
    require(fine, f"{name} must be {allowed}, got '{words}'")
    return values


def _split(words: str, kind: type[Any], requirement: str) -> list[Any]:
    try:
        return sorted({kind(word) for word in words.split(",")})
    except ValueError:
        raise InputError(f"{requirement}, got '{words}'") from None
