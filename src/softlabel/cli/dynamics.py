"""`softlabel dynamics`: kernel-regime prediction of a student with privileged knowledge, against simulation."""

from typing import Annotated, Any

import typer

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped

BOTH = ("softplus", "tanh")


@grouped
def dynamics(
    given: DataChoice,
    rows: Annotated[int, typer.Option(min=2, help="Rows to use, drawn by the seed.")] = 200,
    width: Annotated[int, typer.Option(min=1, help="Units of the student.")] = 100,
    teacher_width: Annotated[int, typer.Option(min=1, help="Units of the teacher they are chosen from.")] = 400,
    strength: Annotated[float, typer.Option(help="λ of the privileged knowledge, from 0 to inf.")] = 1.0,
    activation: Annotated[
        str | None, typer.Option(help="relu, softplus, tanh, erf or gelu; by default softplus (--widths: and tanh).")
    ] = None,
    start: Annotated[str, typer.Option(help="teacher (from the chosen units' weights) or random.")] = "teacher",
    start_scale: Annotated[float, typer.Option(help="Standard deviation of the starting weights.")] = 1.0,
    iterations: Annotated[int, typer.Option(min=1, help="Steps of gradient descent.")] = 1000,
    step: Annotated[float | None, typer.Option(help="Step; by default a fifth of 2/λ_max.")] = None,
    widths: Annotated[
        str | None, typer.Option(help="Widths, e.g. 50,200,800: how the prediction's deviation falls with the width.")
    ] = None,
    strengths: Annotated[
        str | None, typer.Option(help="Values of λ, e.g. 0,0.01,1,inf: final error against the slowest active pole.")
    ] = None,
    distances: Annotated[
        str | None,
        typer.Option(
            help="Shifts of the start away from what is known, e.g. 0,0.1,1: what giving up Assumption 4 costs."
        ),
    ] = None,
    choices: Annotated[
        str | None,
        typer.Option(help="Numbers of the teacher's units, e.g. 10,40,160: Theorem 2, lottery ticket, two stages."),
    ] = None,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Predict how a student with privileged knowledge learns (limit, poles, curve), and train it to compare.

    Example: softlabel dynamics digits

    Example: softlabel dynamics digits --activation relu --strength 0.01 --out runs/dynamics

    Example: softlabel dynamics cifar10 --classes airplane,automobile --scale unit --strength inf

    Example: softlabel dynamics digits --strengths 0,0.01,0.1,1,10,inf --out runs/strength

    Example: softlabel dynamics digits --choices 10,40,160 --out runs/choices
    """
    import numpy as np

    from softlabel.errors import require
    from softlabel.lab.writable import check_folder
    from softlabel.ranges import check_positive
    from softlabel.studies.dynamics import Student, compare_dynamics, document
    from softlabel.studies.dynamics.comparison import SCALES

    check_positive(start_scale, "start_scale", *SCALES)
    if step is not None:
        check_positive(step, "step")
    check_folder(out, folders=("figures",))
    posed = given.load_task()
    chosen = np.random.default_rng(seed).permutation(len(posed.train))[:rows]
    assert posed.train.y is not None
    options.note(f"{posed}, {len(chosen)} rows by seed {seed}")
    x, y = posed.train.inputs[chosen].astype(np.float64), posed.train.y[chosen].astype(np.float64)
    sweeps = {"--widths": widths, "--strengths": strengths, "--distances": distances, "--choices": choices}
    asked = {name: text for name, text in sweeps.items() if text is not None}
    require(len(asked) <= 1, f"give one of {' and '.join(asked)}")
    if asked:
        shared = Student(width, teacher_width, strength, activation or "softplus", start_scale, iterations, step, seed)
        ((name, text),) = asked.items()
        _sweep(_run_sweep(name, text, x, y, shared, activation), given.data, out, as_json)
        return
    found = compare_dynamics(
        x,
        y,
        width=width,
        teacher_width=teacher_width,
        strength=strength,
        activation=activation or "softplus",
        start=start,
        scale=start_scale,
        iterations=iterations,
        step=step,
        seed=seed,
    )
    answer = document(found, given.data)
    if out is not None:
        _draw(answer, out)
    if as_json:
        options.answer(answer)
    else:
        _show(answer)


def _run_sweep(name: str, text: str, x, y, student, activation: str | None):
    from softlabel.studies.dynamics import choice_sweep, distance_sweep, strength_sweep, width_sweep

    if name == "--widths":
        return width_sweep(x, y, options.whole_numbers(text, name), student, [activation] if activation else BOTH)
    if name == "--choices":
        return choice_sweep(x, y, options.whole_numbers(text, name), student)
    sweep = strength_sweep if name == "--strengths" else distance_sweep
    return sweep(x, y, options.numbers(text, name, infinite=name == "--strengths"), student)


def _sweep(found, data: str, out, as_json: bool) -> None:
    """Rows as JSON or as a table, and the figure."""
    from softlabel.report.drawing import draw

    if out is not None:
        for path in draw(found.chart, out / "figures"):
            options.note(f"figure saved as {path}")
    if as_json:
        options.answer({"dataset": data, "rows": found.rows, **found.facts})
        return
    options.table(f"{data}, {found.title}", found.heads, found.lines)
    for sentence in found.says:
        options.say(sentence)


def _draw(answer: dict[str, Any], out) -> None:
    from softlabel.report.charts import Chart, Panel, Series
    from softlabel.report.drawing import draw

    x = [row["iteration"] for row in answer["curve"]]
    series = [
        Series(f"{name} by the kernel" if name == "predicted" else name, x, [row[name] for row in answer["curve"]],
               role=role, dashed=name == "predicted")
        for name, role in (("simulated", "soft"), ("predicted", "hard"))
    ]  # fmt: skip
    caption = "Mean squared error on the training rows."
    panel = Panel(f"{answer['dataset']}, {answer['width']} units", series, "iterations", "mean (y − f)²")
    for path in draw(Chart("dynamics", "Kernel regime: prediction and simulation", caption, [panel]), out / "figures"):
        options.note(f"figure saved as {path}")


def _show(answer: dict[str, Any]) -> None:
    strength = "∞" if answer["strength"] is None else f"{answer['strength']:g}"
    last = len(answer["curve"]) - 1
    shown = sorted({0, last // 8, last // 4, last // 2, last})
    options.table(
        f"{answer['dataset']}, {answer['n']} rows, {answer['width']} units, λ = {strength}: mean (y − f)² in training",
        ["iterations", "predicted", "simulated"],
        [
            [f"{row['iteration']:,}", f"{row['predicted']:.5f}", f"{row['simulated']:.5f}"]
            for row in (answer["curve"][place] for place in shown)
        ],
    )
    options.say(f"Largest deviation of prediction from simulation: {answer['deviation']:.2%} of ‖f(0) − y‖.")
    if answer["kernel_drift"] is not None:
        options.say(f"The kernel moved by {answer['kernel_drift']:.2%} (largest change of an H_k).")
    slowest, largest = answer["poles"]["slowest_excited"], answer["poles"]["largest"]
    options.say(f"Poles from {slowest:.3g} to {largest:.4g}; steps must stay below {answer['largest_step']:.3g}.")
    if answer["limit"] is not None:
        limit = answer["limit"]
        printed = limit["printed_error"]
        options.say(f"Limit: mean (y − f)² = {limit['error']:.3g}; Theorem 1 as printed says {printed:.3g}.")
    for found in answer["assumptions"]:
        state = {True: "holds", False: "fails", None: "unknown"}[found["holds"]]
        options.say(f"{found['name']}: {state}; {found['meaning']}.")
