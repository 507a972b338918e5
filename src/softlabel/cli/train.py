"""`softlabel train`: two-layer students on hard or soft labels, several seeds and widths in one pass."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped

if TYPE_CHECKING:
    from softlabel.networks import Labels

WATCHES = 12


@grouped
def train(
    given: DataChoice,
    width: Annotated[list[int] | None, typer.Option(help="Neurons; may be given several times.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Students of each width.")] = 5,
    soft_labels: Annotated[
        Path | None, typer.Option(help="NPY file of a teacher's probabilities, one row a training example.")
    ] = None,
    temperature: Annotated[float, typer.Option(help="Temperature of the soft labels.")] = 1.0,
    smoothing: Annotated[float, typer.Option(help="Label smoothing.")] = 0.0,
    radius: Annotated[float | None, typer.Option(help="Radius B of the projection; without it, none.")] = None,
    step: Annotated[float, typer.Option(help="Step size.")] = 1.0,
    start: Annotated[str, typer.Option(help="symmetric, gaussian, he or glorot.")] = "symmetric",
    activation: Annotated[str, typer.Option(help="relu, softplus, tanh, erf or gelu.")] = "relu",
    epochs: Annotated[int, typer.Option(help="Passes over the training data.")] = 20,
    batch_size: Annotated[int | None, typer.Option(help="Rows a step; without it, all.")] = 128,
    optimiser: Annotated[str, typer.Option(help="gradient or adam.")] = "gradient",
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Train two-layer students and show their errors.

    A set without a test part of its own is split 80/20 by the seed.

    Example: softlabel train mnist --width 4 --width 8 --radius 50

    Example: softlabel train table.csv --label sick --soft-labels teacher.npy --temperature 4
    """
    from softlabel.cli.progress import step_progress
    from softlabel.errors import DivergedError
    from softlabel.lab.writable import check_folder
    from softlabel.networks import Student, hard_labels, train_students
    from softlabel.networks.pgd import count_steps
    from softlabel.ranges import check_count

    check_folder(out, folders=("students",), files=("records.json",))
    posed = given.load_task()
    (inputs, y), (test_inputs, test_y), rows = _parts(posed, seed)
    check_count(seeds, "seeds", most=10_000)
    labels = {"hard": hard_labels(y)}
    if soft_labels is not None:
        labels["soft"] = _soft(soft_labels, len(posed.train), rows, y)
    students = [
        Student(
            width=m,
            seed=seed + k,
            labels="hard" if soft_labels is None else "soft",
            temperature=temperature,
            smoothing=smoothing,
            radius=radius,
            step=step,
            start=start,
            activation=activation,
        )
        for m in dict.fromkeys(width or [8])
        for k in range(seeds)
    ]
    options.note(str(posed))
    for remark in posed.notes:
        options.note(f"note: {remark}")
    steps = count_steps(len(inputs), epochs, batch_size)
    try:
        with step_progress("training", steps) as watch:
            run = train_students(
                inputs,
                students,
                labels,
                epochs=epochs,
                batch_size=batch_size,
                order_seed=seed,
                optimiser=optimiser,
                record_every=None if out is None else max(1, steps // WATCHES),
                observe=watch,
            )
    except DivergedError as problem:
        if out is not None:
            _keep_records(out, students, labels, run=None, failed=str(problem))
        raise
    trained = [
        {
            "width": student.settings.width,
            "seed": student.settings.seed,
            "train_error": _error(student.network.logits(inputs), y),
            "test_error": _error(student.network.logits(test_inputs), test_y),
            "parameters": student.network.parameters,
        }
        for student in run
    ]
    if out is not None:
        for student, row in zip(run, trained, strict=True):
            name = f"width{row['width']}-seed{row['seed']}.safetensors"
            student.network.save(out / "students" / name)
        _keep_records(out, students, labels, run=run, held_out=[row["test_error"] for row in trained])
        options.note(f"students saved in {out / 'students'}, their courses in {out / 'records.json'}")
    if as_json:
        options.answer({"task": str(posed), "seconds": run.seconds, "students": trained})
        return
    options.table(
        f"{students[0].labels} labels, {epochs} epochs",
        ["width", "seed", "training error", "test error"],
        [
            [str(row["width"]), str(row["seed"]), f"{row['train_error']:.2%}", f"{row['test_error']:.2%}"]
            for row in trained
        ],
    )


def _parts(posed, seed: int):
    """Training and test examples, and which rows of the set's training part the former are."""
    from softlabel.data.splits import split_given

    train, test = posed.train, posed.test
    if test is not None:
        return (train.inputs, train.y), (test.inputs, test.y), slice(None)
    rows, held = split_given(len(train), (0.8, 0.2), seed)
    return (train.inputs[rows], train.y[rows]), (train.inputs[held], train.y[held]), rows


def _soft(path: Path, expected: int, rows, y) -> "Labels":
    """Soft labels of the training examples, which are on the sides y, from a file with one row for each."""
    import numpy as np

    from softlabel.errors import InputError, require
    from softlabel.networks import soft_labels
    from softlabel.numerics.array_files import read_array
    from softlabel.numerics.local_files import local_path
    from softlabel.teachers.agreement import check_order
    from softlabel.teachers.answers import floored

    values = read_array(local_path(path))
    require(values.dtype.kind in "biuf", f"soft labels '{path}' must be numbers, got values of type {values.dtype}")
    if not values.ndim or len(values) != expected:
        count = len(values) if values.ndim else 1
        raise InputError(f"soft labels '{path}' have {count} rows, the training data has {expected}")
    labels = soft_labels(values[rows])
    if labels.values.ndim == 1:
        logits = floored(np.stack([1 - labels.values, labels.values], axis=1))
        check_order((y > 0).astype(np.int64), logits, ("−1", "+1"), f"soft labels '{path}'")
    return labels


def _keep_records(*what, **more) -> None:
    """Courses of the students, for `softlabel doctor`."""
    from softlabel.studies.doctor import write_records

    write_records(*what, **more)


def _error(logits, y) -> float:
    return float((logits * y <= 0).mean())
