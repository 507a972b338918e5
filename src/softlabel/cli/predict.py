"""`softlabel predict`: what a model says about the rows of a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli import options

if TYPE_CHECKING:
    import numpy as np

    from softlabel.export.loading import Model
    from softlabel.export.rows import Rows

SHOWN = 10
ENDINGS = (".csv", ".parquet", ".npy")


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A student (.safetensors, .npz or .onnx), or any ONNX classifier.")
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, Parquet, NPZ or NPY file, or a data set's name; for models of images an NPZ file (images), or "
            "a folder.",
        ),
    ],
    label: Annotated[str | None, typer.Option(help="Label column of the file; with it the scores are shown.")] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column of the file that names its rows.")] = None,
    drop: options.Drop = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for all predictions: .csv or .parquet, or .npy for the probabilities alone."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Ask a model for the class of every row, with a probability for each class.

    A student that was trained on labels of another temperature than 1 imitates softened labels: its numbers are not
    probabilities, which is said on stderr, in the JSON key `probabilities_are` and in the names of columns
    (softened_CLASS in place of p_CLASS).

    Columns are found by name where the model knows names (others are ignored), and by position otherwise; labels are
    not needed.

    Example: softlabel predict runs/heart/student.onnx new.csv --id patient --out predictions.csv

    Example: softlabel predict runs/heart/student.safetensors test.parquet --label sick

    Example: softlabel predict runs/pets/students/soft.safetensors photos/ --json
    """
    from softlabel.errors import require
    from softlabel.export.loading import load_model
    from softlabel.export.rows import rows_for

    _check_out(out, model, data)
    held = load_model(model)
    options.note(f"{model.name}: {held.kind}, inputs {' × '.join(map(str, held.shape))}, {len(held.classes)} classes")
    if held.softening.note is not None:
        options.note(f"note: {held.softening.note}")
    rows = rows_for(held, data, label, id_column, drop or ())
    for remark in rows.notes:
        options.note(f"note: {remark}")
    likely = held.probabilities(rows.inputs)
    places = likely.argmax(axis=1)
    scores = _scores(likely, rows.labels)
    if out is not None:
        if id_column is not None and out.suffix.lower() == ".npy":
            options.note("note: an .npy file holds probabilities alone, without ids")
        require(
            rows.ids is None or rows.ids.name not in _columns(held),
            f"the id column cannot be called '{id_column}' in '{out}': rename it in '{data}'",
        )
        _write(out, held, rows, likely)
        options.note(f"{len(rows):,} predictions written to {out}")
    counts = {name: int((places == place).sum()) for place, name in enumerate(held.classes)}
    if as_json:
        options.answer(
            {
                "model": str(model),
                "rows": len(rows),
                "classes": list(held.classes),
                "counts": counts,
                **scores,
                "probabilities_are": held.softening.meaning,
                **held.softening.to_dict(),
                "predictions": _predictions(held, rows, likely),
                "out": None if out is None else str(out),
            }
        )
        return
    _show(held, rows, likely, counts, scores)


def _check_out(out: Path | None, model: Path, data: str) -> None:
    from softlabel.errors import require
    from softlabel.lab.writable import check_file

    if out is None:
        return
    require(out.suffix.lower() in ENDINGS, f"--out '{out}' must end in {', '.join(ENDINGS)}")
    check_file(out)
    for given in (model, Path(data)):
        require(not given.exists() or out.resolve() != given.resolve(), f"--out '{out}' would overwrite '{given}'")


def _scores(likely: "np.ndarray", labels: "np.ndarray | None") -> dict[str, float | None]:
    """Accuracy, −mean ln p of the given class (p at least 2·10⁻¹⁶), and calibration error; None without labels."""
    import numpy as np

    from softlabel.networks.deep.evaluation import calibration_error

    if labels is None:
        return dict.fromkeys(("accuracy", "log_loss", "calibration_error"))
    own = likely[np.arange(len(labels)), labels]
    loss = -np.log(np.maximum(own, np.finfo(np.float64).eps)).mean()
    right = (likely.argmax(axis=1) == labels).astype(np.float64)
    return {
        "accuracy": float(right.mean()),
        "log_loss": float(loss),
        "calibration_error": calibration_error(likely.max(axis=1), right),
    }


def _columns(held: "Model") -> list[str]:
    return ["predicted", *(f"{held.softening.column_prefix}{name}" for name in held.classes)]


def _write(out: Path, held: "Model", rows: "Rows", likely: "np.ndarray") -> None:
    import io

    import numpy as np
    import polars as pl

    from softlabel.lab.spreadsheets import csv_bytes
    from softlabel.numerics.files import write_bytes

    content = io.BytesIO()
    if out.suffix.lower() == ".npy":
        np.save(content, likely)
    else:
        names = rows.ids if rows.ids is not None else pl.Series("row", range(1, len(rows) + 1), dtype=pl.Int64)
        said = np.array(held.classes)[likely.argmax(axis=1)].tolist()
        frame = pl.DataFrame([names, pl.Series("predicted", said, dtype=pl.String)]).hstack(
            pl.DataFrame(likely, schema=_columns(held)[1:])
        )
        content.write(csv_bytes(frame)) if out.suffix.lower() == ".csv" else frame.write_parquet(content)
    write_bytes(out, content.getvalue())


def _predictions(held: "Model", rows: "Rows", likely: "np.ndarray") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"row": row + 1, "class": held.classes[place], "probabilities": each}
        for row, (place, each) in enumerate(zip(likely.argmax(axis=1).tolist(), likely.tolist(), strict=True))
    ]
    if rows.ids is not None:
        for entry, name in zip(found, rows.ids.to_list(), strict=True):
            entry["id"] = name if isinstance(name, int | str | None) else str(name)
    return found


def _show(
    held: "Model",
    rows: "Rows",
    likely: "np.ndarray",
    counts: dict[str, int],
    scores: dict[str, float | None],
) -> None:
    names = range(1, len(rows) + 1) if rows.ids is None else rows.ids.to_list()
    places = likely.argmax(axis=1)
    options.table(
        f"first {SHOWN} of {len(rows):,} rows" if len(rows) > SHOWN else "predictions",
        ["row" if rows.ids is None else rows.ids.name, "class", held.softening.word or "probability"],
        [
            [name, held.classes[place], f"{each[place]:.4f}"]
            for name, place, each in list(zip(names, places.tolist(), likely, strict=True))[:SHOWN]
        ],
    )
    options.table(
        "predicted classes",
        ["class", "rows", "share"],
        [[name, f"{count:,}", f"{count / len(rows):.1%}"] for name, count in counts.items()],
    )
    if scores["accuracy"] is not None:
        of = f" (of outputs that are {held.softening.meaning})" if held.softening.word else ""
        options.say(
            f"Accuracy {scores['accuracy']:.2%}, log loss {scores['log_loss']:.4f}, calibration error "
            f"{scores['calibration_error']:.4f}{of}."
        )
