"""`softlabel dynamics`: kernel-regime prediction of a student with privileged knowledge, against simulation."""

from typing import Annotated, Any

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped
from softlabel.cli.options import DATA, TRAINING, option

SWEEP = "Sweeps (one of them)"


@grouped
def dynamics(
    *,
    data: DataChoice,
    rows: Annotated[int, option("Number of rows to use, drawn by the seed.", DATA, min=2)] = 200,
    width: Annotated[int, option("Units of the student.", min=1)] = 100,
    teacher_width: Annotated[int, option("Units of the teacher from which they are chosen.", min=1)] = 400,
    strength: Annotated[float, option("λ of the privileged knowledge, from 0 to inf.")] = 1.0,
    activation: Annotated[
        str | None,
        option("relu, softplus, tanh, erf or gelu. Default: softplus, with --widths also tanh.", TRAINING),
    ] = None,
    init: Annotated[str, option("teacher (the weights of the chosen units) or random.", TRAINING)] = "teacher",
    init_scale: Annotated[float, option("Standard deviation of random initial weights.", TRAINING)] = 1.0,
    iterations: Annotated[int, option("Steps of gradient descent.", TRAINING, min=1)] = 1000,
    learning_rate: Annotated[float | None, option("Learning rate. Default: a fifth of 2/λ_max.", TRAINING)] = None,
    test_rows: Annotated[int, option("Rows not trained on, on which the error is measured too.", DATA, min=0)] = 0,
    widths: Annotated[
        str | None, option("Widths, e.g. 50,200,800: how fast the deviation of the prediction decreases.", SWEEP)
    ] = None,
    strengths: Annotated[
        str | None, option("Values of λ, e.g. 0,0.01,1,inf: final error against the slowest active pole.", SWEEP)
    ] = None,
    distances: Annotated[
        str | None, option("Shifts of the initialization, e.g. 0,0.1,1: what violating Assumption 4 costs.", SWEEP)
    ] = None,
    choices: Annotated[
        str | None, option("Numbers of units, e.g. 10,40,160: Theorem 2, lottery ticket, two stages.", SWEEP)
    ] = None,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Predict how a student with privileged knowledge learns (limit, poles, curve), and train it for comparison.

    Example: softlabel dynamics digits --activation relu --strength 0.01 --out runs/dynamics

    Example: softlabel dynamics digits --strengths 0,0.01,0.1,1,10,inf --out runs/strength

    Example: softlabel dynamics digits --choices 10,40,160 --out runs/choices
    """
    from softlabel.studies.dynamics.dynamics import DynamicsOptions
    from softlabel.studies.dynamics.dynamics import dynamics as simulate

    texts = {"widths": widths, "strengths": strengths, "distances": distances, "choices": choices}
    sweep: Any = {name: _values(name, text) for name, text in texts.items() if text is not None}
    chosen = DynamicsOptions(activation=activation, init=init, init_scale=init_scale, learning_rate=learning_rate,
                             test_rows=test_rows)  # fmt: skip
    result = simulate(
        data.loader(seed=seed), rows=rows, width=width, teacher_width=teacher_width, strength=strength,
        iterations=iterations, sweep=sweep or None, seed=seed, out=out, options=chosen,
    )  # fmt: skip
    if as_json:
        options.answer({"dataset": data.data, **result.to_dict()})
        return
    table = result.table
    options.table(f"{data.data}, {table.title}", table.header, table.rows)
    options.say(*result.summary)


def _values(name: str, text: str) -> list[Any]:
    if name in ("widths", "choices"):
        return options.positive_integers(text, name)
    return options.numbers(text, name, infinite=name == "strengths")
