"""`softlabel bounds`: how many neurons soft and hard labels need, in four families."""

from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options


def bounds(
    gamma: Annotated[float, typer.Option(help="Margin γ of the kernel-limit teacher, 0 < γ ≤ 0.5.")] = 0.05,
    epsilon: Annotated[float, typer.Option(help="Target error ε, averaged over the iterations.")] = 0.1,
    n: Annotated[int, typer.Option("--n", help="Training examples.")] = 1000,
    delta: Annotated[float, typer.Option(help="Failure probability is 2δ (3δ as printed), δ < 1/3.")] = 0.05,
    c: Annotated[float, typer.Option("--c", help="Smallest norm of an input, 0 < c ≤ 1.")] = 1.0,
    kappa: Annotated[float, typer.Option(help="Inverse temperature κ of the soft labels.")] = 1.0,
    alpha: Annotated[float, typer.Option(help="Output scale α: the logit is αf.")] = 1.0,
    width: Annotated[int | None, typer.Option(help="Also say what this many neurons guarantee.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw widths against γ into this .png or .svg file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Neurons, steps, iterations and radii that suffice for soft and for hard labels, and where they cross.

    Example: softlabel bounds --gamma 0.05 --epsilon 0.1 --n 1000

    Example: softlabel bounds --gamma 0.1 --kappa 0.5 --width 100000 --figure bounds.png
    """
    from softlabel.theory.bounds import Setting, overview

    if figure is not None:
        from softlabel.lab.writable import check_file

        check_file(figure, "figure")
    document = overview(gamma, epsilon, n, delta, c, kappa, alpha, width)
    if figure is not None:
        from softlabel.report.bounds_figure import draw_bounds

        draw_bounds(figure, gamma, epsilon, Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha))
        options.note(f"figure drawn in {figure}")
    if as_json:
        options.answer(document)
        return
    _show(document)


def _show(document: dict[str, Any]) -> None:
    inputs, families = document["inputs"], document["families"]
    given = "γ = {gamma:g}, ε = {epsilon:g}, n = {n:,}, δ = {delta:g}, c = {c:g}, κ = {kappa:g}, α = {alpha:g}"
    rows = [
        [f"{family}, {arm}", *_cells(answers[arm])] for family, answers in families.items() for arm in ("soft", "hard")
    ]
    rows.append(["without n, soft", *_cells(document["n_free"]["soft"])])
    rows.append(["γ⁻⁸ (order only), hard", _number(document["without_projection"]["hard"]), "", "", ""])
    options.table(
        f"sufficient for {given.format(**inputs)}", ["family, labels", "neurons", "step", "iterations", "radius"], rows
    )
    options.say("Soft labels need fewer neurons below the crossover margin:")
    for family, answers in families.items():
        crossing = answers["crossover_gamma"]
        options.say(f"  {family}: {answers['crossover_note'] if crossing is None else f'γ < {crossing:.4g}'}")
    for note in _notes(families):
        options.say(f"Note: {note}.")
    if inputs["width"] is not None:
        _show_guarantees(document)
    options.say("", "What these numbers are:")
    for line in document["says"]:
        options.say(f"  {line}")


def _show_guarantees(document: dict[str, Any]) -> None:
    inputs = document["inputs"]
    rows = [
        [f"{family}, {arm}", *(_share(answer[arm][name]) for name in ("epsilon", "gamma"))]
        for family, answer in document["guarantees"].items()
        for arm in ("soft", "hard")
    ]
    options.say("")
    options.table(
        f"what {inputs['width']:,} neurons guarantee",
        ["family, labels", f"error at γ = {inputs['gamma']:g}", f"margin needed for ε = {inputs['epsilon']:g}"],
        rows,
    )


def _cells(answer: dict[str, Any]) -> list[str]:
    return [_number(answer["width"]), _number(answer["step"]), _number(answer["iterations"]), _number(answer["radius"])]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, int) and value < 10**13:
        return f"{value:,}"
    return f"{value:.4g}"


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _notes(families: dict[str, Any]) -> list[str]:
    found = [answers[arm]["note"] for answers in families.values() for arm in ("soft", "hard")]
    return list(dict.fromkeys(note for note in found if note))
