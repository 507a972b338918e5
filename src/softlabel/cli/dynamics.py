"""`softlabel dynamics`: kernel-regime prediction of a student with privileged knowledge, against simulation."""

from typing import Annotated, Any

import typer

from softlabel.cli import options


def dynamics(
    data: options.Data,
    label: options.Label = None,
    task: options.Task = None,
    classes: options.Classes = None,
    leave_out: options.LeaveOut = None,
    scale: options.Scale = None,
    drop: options.Drop = None,
    rows: Annotated[int, typer.Option(min=2, help="Rows to use, drawn by the seed.")] = 200,
    width: Annotated[int, typer.Option(min=1, help="Units of the student.")] = 100,
    teacher_width: Annotated[int, typer.Option(min=1, help="Units of the teacher they are chosen from.")] = 400,
    strength: Annotated[float, typer.Option(help="λ of the privileged knowledge, from 0 to inf.")] = 1.0,
    activation: Annotated[str, typer.Option(help="relu, softplus, tanh, erf or gelu.")] = "softplus",
    start: Annotated[str, typer.Option(help="teacher (from the chosen units' weights) or random.")] = "teacher",
    start_scale: Annotated[float, typer.Option(help="Standard deviation of the starting weights.")] = 1.0,
    iterations: Annotated[int, typer.Option(min=1, help="Steps of gradient descent.")] = 1000,
    step: Annotated[float | None, typer.Option(help="Step; by default a fifth of 2/λ_max.")] = None,
    widths: Annotated[
        str | None,
        typer.Option(help="Widths, e.g. 50,200,800: how the deviation falls with it, softplus and tanh, three seeds."),
    ] = None,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Predict how a student with privileged knowledge learns (limit, poles, curve), and train it to compare.

    Example: softlabel dynamics digits

    Example: softlabel dynamics digits --activation relu --strength 0.01 --out runs/dynamics

    Example: softlabel dynamics cifar10 --classes airplane,automobile --scale unit --strength inf
    """
    import math

    import numpy as np

    from softlabel.data import load_task
    from softlabel.errors import require
    from softlabel.studies.dynamics import compare_dynamics, document

    require(strength >= 0, f"--strength must lie between 0 and inf, got {strength}")
    require(step is None or (math.isfinite(step) and step > 0), f"--step must be a positive number, got {step}")
    posed = load_task(data, label, task, classes, leave_out, scale, drop or ())
    chosen = np.random.default_rng(seed).permutation(len(posed.train))[:rows]
    assert posed.train.y is not None
    options.note(f"{posed}, {len(chosen)} rows by seed {seed}")
    x, y = posed.train.inputs[chosen].astype(np.float64), posed.train.y[chosen].astype(np.float64)
    if widths is not None:
        _widths(x, y, options.whole_numbers(widths, "--widths"), strength, iterations, data, out, as_json)
        return
    found = compare_dynamics(
        x,
        y,
        width=width,
        teacher_width=teacher_width,
        strength=strength,
        activation=activation,
        start=start,
        scale=start_scale,
        iterations=iterations,
        step=step,
        seed=seed,
    )
    answer = document(found, data)
    if out is not None:
        _draw(answer, out)
    if as_json:
        options.answer(answer)
    else:
        _show(answer)


def _widths(x, y, widths: list[int], strength: float, iterations: int, data: str, out, as_json: bool) -> None:
    """How the deviation of prediction from simulation falls with the width."""
    import numpy as np

    from softlabel.errors import require
    from softlabel.report.charts import Chart, Panel, Series
    from softlabel.report.drawing import draw
    from softlabel.studies.dynamics import deviation_by_width, fitted_power

    require(len(widths) >= 2, f"--widths must be at least two whole numbers, got {widths[0]}")
    rows = deviation_by_width(x, y, widths, strength=strength, iterations=iterations)
    names = list(dict.fromkeys(row["activation"] for row in rows))
    powers = {name: fitted_power([row for row in rows if row["activation"] == name]) for name in names}
    if out is not None:
        series = []
        for name, role in zip(names, ("soft", "hard"), strict=True):
            held = [
                [row["deviation"] for row in rows if (row["activation"], row["width"]) == (name, m)] for m in widths
            ]
            series.append(Series(f"{name}: m^{powers[name]:.2f}", widths, [float(np.mean(part)) for part in held],
                                 [min(part) for part in held], [max(part) for part in held], role=role))  # fmt: skip
        first = series[0].y[0]
        guide = [first * (widths[0] / m) ** 0.5 for m in widths]
        series.append(Series("m^−½, for comparison", widths, guide, role="paper", dashed=True))
        panel = Panel(
            f"{data}, {len(x)} rows, λ = {strength:g}",
            series,
            "units m",
            "deviation / ‖f(0) − y‖",
            log_x=True,
            log_y=True,
        )
        caption = "Largest deviation along the run; bands from the smallest to the largest of three seeds."
        chart = Chart("kernel-deviation", "Kernel prediction against simulation", caption, [panel])
        for path in draw(chart, out / "figures"):
            options.note(f"figure saved as {path}")
    if as_json:
        options.answer({"dataset": data, "rows": rows, "powers": powers})
        return
    options.table(
        f"{data}, {len(x)} rows, λ = {strength:g}: largest deviation over ‖f(0) − y‖, mean of three seeds",
        ["units", *names],
        [
            [f"{m:,}", *(f"{np.mean([r['deviation'] for r in rows if (r['activation'], r['width']) == (name, m)]):.2e}"
                         for name in names)]
            for m in widths
        ],
    )  # fmt: skip
    for name, power in powers.items():
        print(f"{name}: falls like m^{power:.2f} (theory: m^−0.5 or faster).")


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
    print(f"Largest deviation of prediction from simulation: {answer['deviation']:.2%} of ‖f(0) − y‖.")
    if answer["kernel_drift"] is not None:
        print(f"The kernel moved by {answer['kernel_drift']:.2%} (largest change of an H_k).")
    slowest, largest = answer["poles"]["slowest_excited"], answer["poles"]["largest"]
    print(f"Poles from {slowest:.3g} to {largest:.4g}; steps must stay below {answer['largest_step']:.3g}.")
    if answer["limit"] is not None:
        limit = answer["limit"]
        print(f"Limit: mean (y − f)² = {limit['error']:.3g}; Theorem 1 as printed says {limit['printed_error']:.3g}.")
    for found in answer["assumptions"]:
        state = {True: "holds", False: "fails", None: "unknown"}[found["holds"]]
        print(f"{found['name']}: {state}; {found['meaning']}.")
