"""`softlabel train`: two-layer students on hard or soft labels, several seeds and widths in one pass."""

from typing import Annotated

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped
from softlabel.cli.options import TEACHER, TRAINING, option


@grouped
def train(
    *,
    data: DataChoice,
    test: options.TestFile = None,
    soft_labels: Annotated[
        str | None,
        option(
            "NPY file of a teacher's probabilities of the second class or of both classes, one row for each row of "
            "DATA but official test rows; or 'network', which trains a teacher.",
            TEACHER,
        ),
    ] = None,
    temperature: Annotated[float, option("Temperature of the soft labels.", TEACHER)] = 1.0,
    width: Annotated[list[int] | None, option("Hidden neurons; may be given several times. Default: 8.")] = None,
    seeds: Annotated[int, option("Students of each width.")] = 5,
    smoothing: Annotated[float, option("Label smoothing.", TRAINING)] = 0.0,
    radius: Annotated[float | None, option("Radius B of the projection. Default: no projection.", TRAINING)] = None,
    learning_rate: Annotated[float, option("Learning rate.", TRAINING)] = 1.0,
    init: Annotated[str, option("symmetric, gaussian, he, glorot or torch.", TRAINING)] = "symmetric",
    activation: Annotated[str, option("relu, softplus, tanh, erf or gelu.", TRAINING)] = "relu",
    biases: Annotated[bool, option("Neurons and outputs have biases.", TRAINING, "--biases")] = False,
    epochs: Annotated[int, option("Passes over the training rows.", TRAINING)] = 20,
    batch_size: Annotated[int | None, option("Batch size.", TRAINING)] = 128,
    optimizer: Annotated[str, option("gradient or adam.", TRAINING)] = "gradient",
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Train two-layer students for two classes, and print their training and test errors.

    The rows are split as for `verdict` and `plan`: the students learn from the training rows, and are tested on the
    test rows. With --out, `predict` reads the students and `doctor` examines their training.

    Example: softlabel train mnist --width 4 --width 8 --radius 50

    Example: softlabel train moons --width 8 --biases --soft-labels network --temperature 2

    Example: softlabel train table.csv --label sick --soft-labels teacher.npy --temperature 4
    """
    from softlabel.networks import Student
    from softlabel.studies.train import train as train_on

    problem = data.loader(seed=seed, test=test)
    widths = width or [8]
    student = Student(
        width=widths[0], temperature=temperature, smoothing=smoothing, radius=radius, learning_rate=learning_rate,
        init=init, activation=activation, biases=biases,
    )  # fmt: skip
    result = train_on(
        problem, width=widths, seeds=seeds, soft_labels=soft_labels, student=student, epochs=epochs,
        batch_size=batch_size, optimizer=optimizer, seed=seed, out=out,
    )  # fmt: skip
    if as_json:
        options.answer(result.to_dict())
        return
    options.print_tables(result.table)
