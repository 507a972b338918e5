"""`softlabel bounds`: how many neurons soft and hard labels need, in four families."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softlabel.cli import options
from softlabel.cli.groups import OptionalDataChoice, grouped
from softlabel.cli.options import EXECUTION, OUTPUT, option

if TYPE_CHECKING:
    from softlabel.theory.bounds import Overview

GAMMA, ROWS, NORM = 0.05, 1000, 1.0  # without data


@grouped
def bounds(
    *,
    data: OptionalDataChoice,
    rows: options.Rows = None,
    gamma: Annotated[
        float | None, option(f"Margin γ of the kernel-limit teacher, 0 < γ ≤ 0.5. Default: {GAMMA}, or that of DATA.")
    ] = None,
    epsilon: Annotated[float, option("Target error ε, averaged over the iterations.")] = 0.1,
    n: Annotated[
        int | None, option(f"Number of training examples. Default: {ROWS}, or that of DATA.", None, "--n")
    ] = None,
    delta: Annotated[float, option("Failure probability is 2δ (3δ as printed), δ < 1/3.")] = 0.05,
    c: Annotated[
        float | None, option(f"Smallest norm of an input, 0 < c ≤ 1. Default: {NORM:g}, or that of DATA.", None, "--c")
    ] = None,
    kappa: Annotated[float, option("Inverse temperature κ of the soft labels.")] = 1.0,
    alpha: Annotated[float, option("Output scale α: the logit is αf.")] = 1.0,
    width: Annotated[int | None, option("Also print what this many neurons guarantee.", OUTPUT)] = None,
    figure: Annotated[
        Path | None, option("Draw widths against γ into this .png or .svg file; a missing folder is created.", OUTPUT)
    ] = None,
    rtol: Annotated[float, option("Relative width at which the interval of γ is narrow enough.", EXECUTION)] = 0.05,
    time_limit: options.TimeLimit = None,
    work_limit: options.WorkLimit = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Neurons, learning rates, iterations and radii that suffice for soft and for hard labels, and where they cross.

    With DATA, the margin γ is certified first (see softlabel margin), and n and the smallest norm c are those of the
    data.

    Example: softlabel bounds --gamma 0.05 --epsilon 0.1 --n 1000

    Example: softlabel bounds --gamma 0.1 --kappa 0.5 --width 100000 --figure bounds.png

    Example: softlabel bounds penguins.csv --label species --classes Adelie,Gentoo --epsilon 0.05
    """
    from softlabel.errors import require
    from softlabel.lab.writable import check_file
    from softlabel.studies.margin import margin as certify
    from softlabel.theory.bounds import Setting, overview

    check_file(figure, "figure")
    margin = None
    if data.data is None:
        about = vars(data) | {"rows": rows, "time_limit": time_limit, "work_limit": work_limit}
        used = [name for name, value in about.items() if value is not None]
        require(not used, f"`{(used or [''])[0]}` is about data: name a data set or a file, or leave it out")
        result = overview(
            GAMMA if gamma is None else gamma, epsilon, ROWS if n is None else n, delta, NORM if c is None else c,
            kappa, alpha, width,
        )  # fmt: skip
    else:
        named = [name for name, value in (("gamma", gamma), ("n", n), ("c", c)) if value is not None]
        require(not named, f"`{(named or [''])[0]}` is that of the data: leave it out, or leave out the data")
        overview(GAMMA, epsilon, ROWS, delta, NORM, kappa, alpha, width)  # refuses wrong numbers before the search
        margin = certify(data.loader(seed=seed), rows=rows, rtol=rtol, time_limit=time_limit, work_limit=work_limit,
                         seed=seed)  # fmt: skip
        result = margin.bounds(epsilon, delta=delta, kappa=kappa, alpha=alpha, width=width)
    used_gamma, used_n, used_c = (float(result.inputs[name] or 0) for name in ("gamma", "n", "c"))
    if figure is not None:
        from softlabel.report.bounds_figure import draw_bounds

        setting = Setting(n=int(used_n), delta=delta, c=used_c, kappa=kappa, alpha=alpha)
        draw_bounds(figure, used_gamma, epsilon, setting)
        options.note(f"figure saved as {figure}")
    if as_json:
        options.answer(result.to_dict() | ({} if margin is None else {"margin": margin.to_dict()}))
        return
    if margin is not None:
        options.print_tables(margin.table)
        options.say(f"γ = {used_gamma:.4g}, n = {used_n:,.0f}, c = {used_c:.4g}.", "")
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
