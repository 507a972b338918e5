"""`softlabel margin`: how separable a data set is in the kernel limit, with a certificate."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, grouped
from softlabel.cli.terminal import plain_text

if TYPE_CHECKING:
    from softlabel.theory.margin import Margin, Progress


@grouped
def margin(
    given: DataChoice,
    several_classes: Annotated[bool, typer.Option(help="Every class against the rest, one after another.")] = False,
    rows: Annotated[int | None, typer.Option(min=2, help="Only so many rows, drawn by the seed.")] = None,
    width: Annotated[float, typer.Option(help="Relative width of the interval at which to stop.")] = 0.05,
    budget: options.Budget = None,
    work_limit: options.WorkLimit = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the interval.")] = 0.95,
    kappa: Annotated[float, typer.Option(help="Inverse temperature of the teacher that is saved.")] = 1.0,
    start_widths: Annotated[
        str | None, typer.Option(help="Widths, e.g. 64,256,1024: the margin γ_m of students' own starts too.")
    ] = None,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Certify the separation margin γ* of a data set, and find its kernel-limit teacher.

    The interval narrows until it is as narrow as asked, or the limit is reached; then it says what it got. By default
    the work is limited, and the same command gives the same numbers; with --budget the time is, and the numbers
    depend on the machine.

    Example: softlabel margin digits --out runs/digits

    Example: softlabel margin mnist --budget 1800

    Example: softlabel margin digits --several-classes
    """
    import numpy as np

    from softlabel.errors import InputError, require
    from softlabel.lab.file_names import file_names
    from softlabel.lab.writable import check_folder
    from softlabel.memory import check_memory

    require(0 < kappa < float("inf"), f"--kappa must be positive and finite, got {kappa}")
    if start_widths is not None and out is None:
        raise InputError("--start-widths draws a figure: give --out DIR for it")
    if start_widths is not None and several_classes:
        raise InputError("--start-widths is for one task: leave out --several-classes")
    widths = _even_widths(start_widths) if start_widths is not None else []
    if several_classes and (given.task or given.classes):
        raise InputError("--several-classes takes every class against the rest: leave out --task and --classes")
    check_folder(out, folders=("figures",) if widths else ())
    posed = given.load_task(several_classes)
    x, labels = posed.train.inputs, posed.train.labels
    chosen = np.arange(len(x))
    if rows is not None and rows < len(x):
        chosen = np.random.default_rng(seed).permutation(len(x))[:rows]
    if widths:
        check_memory(4 * len(chosen) * max(widths), f"start_widths up to {max(widths):,}", "take smaller ones")
    options.note(str(posed) + (f", {len(chosen)} rows by seed {seed}" if len(chosen) < len(x) else ""))
    x, labels = x[chosen], labels[chosen]
    settings = {
        "width": width,
        "budget": budget,
        "work_limit": work_limit,
        "confidence": confidence,
        "seed": seed,
    }
    answer: dict[str, Any]
    if several_classes:
        results = []
        files = file_names(posed.classes)
        for number in np.unique(labels):
            name = posed.classes[number]
            y = np.where(labels == number, 1.0, -1.0)
            found = compute_margin(x, y, f"class {name} against the rest", settings)
            _save(found, x, y, kappa, out, f"teacher-{files[name]}.safetensors")
            results.append({"class": name, **_document(found, given.data)})
        worst = min(results, key=lambda row: row["gamma_upper"])
        answer = {key: value for key, value in worst.items() if key != "class"} | {"classes": results}
        answer["seconds"] = sum(row["seconds"] for row in results)
    else:
        y = posed.train.y[chosen].astype(np.float64)  # pyright: ignore[reportOptionalSubscript]
        found = compute_margin(x, y, "γ*", settings)
        _save(found, x, y, kappa, out, "teacher.safetensors")
        answer = _document(found, given.data)
        if widths and out is not None:
            answer["starts"] = _starts(x, y, widths, found, seed, out)
    if as_json:
        options.answer(answer)
    else:
        _show(answer)


def compute_margin(x, y, what: str, settings: dict[str, Any]) -> "Margin":
    from rich.console import Console

    from softlabel.theory.margin import margin as compute

    console = Console(stderr=True)

    def line(at: "Progress") -> str:
        return f"{what} in [{at.lower:.4g}, {at.upper:.4g}] after {at.seconds:.0f} s: {at.stage}"

    if not console.is_terminal:
        return compute(x, y, **settings)
    with console.status(plain_text(what)) as status:
        return compute(x, y, watch=lambda at: status.update(plain_text(line(at))), **settings)


def _document(found: "Margin", data: str) -> dict[str, Any]:
    return {
        "dataset": data,
        "n": found.n,
        "d": found.d,
        "gamma_lower": found.lower,
        "gamma_upper": found.upper,
        "relative_width": found.relative_width,
        "confidence": found.confidence,
        "gamma_kernel": found.kernel[1],
        "gamma_kernel_lower": found.kernel[0],
        "gamma_floor": found.floor,
        "gamma_teacher_lower": found.teacher_lower,
        "zero": None if found.zero is None else {"rows": list(found.zero.rows), "reason": found.zero.reason},
        "asymptotic": found.asymptotic,
        "limited_by": found.limited_by,
        "operations": found.operations,
        "seconds": found.seconds,
    }


def _save(found: "Margin", x, y, kappa: float, out, name: str) -> None:
    from softlabel.teachers import KernelLimitTeacher

    if out is None or found.zero is not None:
        return
    KernelLimitTeacher.of(found, x, y, kappa).save(out / name)
    options.note(f"teacher saved as {out / name}")


def _even_widths(words: str) -> list[int]:
    from softlabel.errors import InputError

    numbers = options.whole_numbers(words, "--start-widths")
    if any(number % 2 for number in numbers):
        raise InputError(f"--start-widths must be even numbers from 2 on, got '{words}'")
    return numbers


def _starts(x, y, widths: list[int], found: "Margin", seed: int, out) -> list[dict[str, float]]:
    """γ_m of students' own starts against the width: a few seeds each, and the figure."""
    from softlabel.networks.starts import draw_start
    from softlabel.report.margin_figure import draw_start_margins
    from softlabel.theory.margin import start_margin

    rows = []
    for m in widths:
        for k in range(3):
            weights, _ = draw_start("symmetric", width=m, inputs=x.shape[1], seed=seed + k)
            rows.append({"width": m, "seed": seed + k, "gamma": start_margin(x, y, weights[: m // 2])})
    path = out / "figures" / "start-margins.png"
    draw_start_margins(rows, found.lower, found.upper, path)
    options.note(f"figure saved as {path}")
    return rows


def _show(answer: dict[str, Any]) -> None:
    def line(row: dict[str, Any], name: str) -> list[str]:
        interval = f"{row['gamma_lower']:.4g} … {row['gamma_upper']:.4g}"
        return [
            name,
            interval,
            f"{row['relative_width']:.1%}",
            f"{row['gamma_teacher_lower']:.4g}",
            f"{row['gamma_kernel']:.4g}",
            f"{row['gamma_floor']:.3g}",
            f"{row['seconds']:.0f} s",
        ]

    results = answer.get("classes", [answer])
    options.table(
        f"margin of {answer['dataset']}, {answer['n']:,} points of {answer['d']} inputs, "
        f"confidence {answer['confidence']:.0%}",
        ["", "γ*", "width", "teacher's γ(v) ≥", "γ_1", "floor", "time"],
        [line(row, f"{row['class']} / rest" if "class" in row else "γ*") for row in results],
    )
    for row in results:
        if row["zero"] is not None:
            options.say(f"γ* = 0: {row['zero']['reason']}.")
    for row in answer.get("starts", []):
        options.say(f"start of width {row['width']:,}, seed {row['seed']}: γ_m = {row['gamma']:.4g}")
    options.say(f"Asymptotic: {answer['asymptotic']}.")
