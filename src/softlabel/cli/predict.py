"""`softlabel predict`: what a model predicts for the rows of a file."""

from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli import options
from softlabel.cli.options import DATA, OUTPUT, option


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A student (.safetensors, .npz or .onnx), or any ONNX classifier.")
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, Parquet, NPZ or NPY file, or the name of a data set; for models of images an NPZ file "
            "(images) or a folder.",
        ),
    ],
    label: Annotated[str | None, option("Label column of the file; with labels, scores are printed.", DATA)] = None,
    id_column: Annotated[str | None, option("Column of the file that identifies the rows.", DATA, "--id")] = None,
    drop: options.Drop = None,
    out: Annotated[
        Path | None, option("File for all predictions: .csv, .parquet, or .npy (probabilities alone).", OUTPUT)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Predict the class of every row with a model, and the probabilities of all classes.

    The outputs of a student that was trained on labels of a temperature other than 1 are not probabilities. This is
    printed on stderr, and stated in the JSON key `probabilities_are` and in the names of columns (softened_CLASS
    instead of p_CLASS).

    Columns are matched by name if the model has column names (other columns are ignored), otherwise by position. Text,
    dates and missing values are read as in training if the model takes them. Labels are not needed.

    Example: softlabel predict runs/plan/students/soft-24.onnx new.csv --id patient --out predictions.csv

    Example: softlabel predict runs/train/students/width8-seed0.safetensors test.parquet --label sick

    Example: softlabel predict runs/pets/students/soft.safetensors photos/ --json
    """
    from softlabel.studies.predict import predict as apply

    result = apply(model, data, label=label, id_column=id_column, drop=drop or (), out=out)
    if as_json:
        options.answer(result.to_dict())
        return
    options.print_tables(result.table, result.class_table)
    options.say(*result.summary[1:])
