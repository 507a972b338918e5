"""`softlabel doctor`: what is wrong with a run, or with files?"""

from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli import options


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
    as_json: options.Json = False,
) -> None:
    """Name known mistakes in a run or in files, with evidence and remedies.

    A run is the directory of a verdict, plan, reproduce or train: learning rates, widths and radii that are too large
    or too small, dead neurons, seeds that disagree, failed work. A file with the label column is data (the first has
    the training rows, others are more splits), any other a file of a teacher's labels: leaks, duplicates, labels in
    another order, logits mistaken for probabilities.

    Example: softlabel doctor runs/verdict-heart-1a2b3c4d

    Example: softlabel doctor train.csv test.csv --label sick

    Example: softlabel doctor heart.csv labels.csv --label sick --id patient --json
    """
    from softlabel.studies.doctor import doctor as examine

    diagnosis = examine(*paths, label=label, id_column=id_column)
    if as_json:
        options.answer(diagnosis.to_dict())
    else:
        options.say(*str(diagnosis).split("\n"))
