"""`softlabel bounds`: how many neurons soft and hard labels need, in four families."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softlabel.cli import options
from softlabel.cli.options import OUTPUT, option

if TYPE_CHECKING:
    from softlabel.theory.bounds import Overview


def bounds(
    gamma: Annotated[float, option("Margin γ of the kernel-limit teacher, 0 < γ ≤ 0.5.")] = 0.05,
    epsilon: Annotated[float, option("Target error ε, averaged over the iterations.")] = 0.1,
    n: Annotated[int, option("Number of training examples.", None, "--n")] = 1000,
    delta: Annotated[float, option("Failure probability is 2δ (3δ as printed), δ < 1/3.")] = 0.05,
    c: Annotated[float, option("Smallest norm of an input, 0 < c ≤ 1.", None, "--c")] = 1.0,
    kappa: Annotated[float, option("Inverse temperature κ of the soft labels.")] = 1.0,
    alpha: Annotated[float, option("Output scale α: the logit is αf.")] = 1.0,
    width: Annotated[int | None, option("Also print what this many neurons guarantee.", OUTPUT)] = None,
    figure: Annotated[
        Path | None, option("Draw widths against γ into this .png or .svg file; a missing folder is created.", OUTPUT)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Neurons, learning rates, iterations and radii that suffice for soft and for hard labels, and where they cross.

    Example: softlabel bounds --gamma 0.05 --epsilon 0.1 --n 1000

    Example: softlabel bounds --gamma 0.1 --kappa 0.5 --width 100000 --figure bounds.png
    """
    from softlabel.lab.writable import check_file
    from softlabel.theory.bounds import Setting, overview

    check_file(figure, "figure")
    result = overview(gamma, epsilon, n, delta, c, kappa, alpha, width)
    if figure is not None:
        from softlabel.report.bounds_figure import draw_bounds

        draw_bounds(figure, gamma, epsilon, Setting(n=n, delta=delta, c=c, kappa=kappa, alpha=alpha))
        options.note(f"figure saved as {figure}")
    if as_json:
        options.answer(result.to_dict())
    else:
        _show(result)


def _show(result: "Overview") -> None:
    from softlabel.report.bounds_tables import crossover_sentences, guarantee_table, requirement_table
    from softlabel.theory.bounds import CAVEATS

    options.print_tables(requirement_table(result))
    options.say(*crossover_sentences(result))
    guarantees = guarantee_table(result)
    if guarantees is not None:
        options.say("")
        options.print_tables(guarantees)
    options.say("", "What these numbers mean:", *(f"  {line}" for line in CAVEATS))
