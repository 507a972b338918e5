"""`softlabel doctor`: what is wrong with a run, or with files?"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options

VERBS = ("train", "plan", "verdict")  # whose options remedies name


def doctor(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|FILES", help="A run directory; or data files and files of a teacher's labels, in any mix."
        ),
    ],
    label: options.Label = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of ids in data and labels, by which they are matched.")
    ] = None,
    drop: options.Drop = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    group: options.Group = None,
    time: options.Time = None,
    as_json: options.Json = False,
) -> None:
    """Name known mistakes in a run or in files, with evidence and remedies.

    A run is the directory of a verdict, plan, reproduce or train: learning rates, widths and radii that are too large
    or too small, dead neurons, seeds that disagree, failed work. A file with the label column is data (the first has
    the training rows, others are more splits), any other a file of a teacher's labels: leaks, duplicates, labels in
    another order, logits mistaken for probabilities. The columns of the training rows are listed with what becomes of
    them.

    Example: softlabel doctor runs/verdict-heart-1a2b3c4d

    Example: softlabel doctor train.csv test.csv --label sick

    Example: softlabel doctor heart.csv labels.csv --label sick --id patient --json
    """
    from softlabel.data import ColumnRoles
    from softlabel.studies.doctor import doctor as examine

    roles = ColumnRoles(numeric or (), categorical or (), group, time)
    diagnosis = examine(*paths, label=label, id_column=id_column, drop=drop or (), roles=roles)
    remedied = tuple(replace(one, remedy=with_options(one.remedy)) for one in diagnosis.findings)
    diagnosis = replace(diagnosis, findings=remedied)
    if as_json:
        options.answer(diagnosis.to_dict())
    else:
        options.say(*str(diagnosis).split("\n"))


def with_options(remedy: str) -> str:
    """A remedy with the options of the verbs instead of the parameters of the library, which stand in backticks.

    Columns behind a parameter, as in "`drop` 'a', 'b'", get an option each.
    """
    from softlabel.cli.main import app

    commands: Any = typer.main.get_command(app)
    names = {
        each.name: max(each.opts, key=len)
        for verb in VERBS
        for each in commands.commands[verb].params
        if each.param_type_name == "option"
    }
    remedy = re.sub(r"\buse (`\w+`) None", r"leave out \1", remedy)
    remedy = re.sub(r"(`\w+`) ('[^']*'(?:, '[^']*')+)", lambda several: _repeated(several[1], several[2]), remedy)
    return re.sub(r"`\w+`", lambda match: names.get(match[0].strip("`"), match[0].strip("`")), remedy)


def _repeated(option: str, values: str) -> str:
    return " ".join(f"{option} {value}" for value in re.findall(r"'[^']*'", values))
