"""`softlabel bounds`: how many neurons soft and hard labels need, in four families."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softlabel.cli import options
from softlabel.cli.bounds_options import MarginSearch, Numbers, OptionalDataChoice
from softlabel.cli.groups import grouped
from softlabel.cli.options import OUTPUT, option

if TYPE_CHECKING:
    from softlabel.theory.bounds import Overview


@grouped
def bounds(
    *,
    data: OptionalDataChoice,
    numbers: Numbers,
    search: MarginSearch,
    width: Annotated[int | None, option("Also print what this many neurons guarantee.", OUTPUT)] = None,
    figure: Annotated[
        Path | None, option("Draw widths against γ into this .png or .svg file; a missing folder is created.", OUTPUT)
    ] = None,
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
    from softlabel.theory.bounds import overview

    check_file(figure, "figure")
    if figure is not None:
        from softlabel.report.bounds_figure import check_ending

        check_ending(figure)
    margin, result = None, overview(**numbers.complete, width=width)  # also checks the numbers before a search
    if data.data is None:
        named = [name for name, value in (vars(data) | vars(search)).items() if value is not None]
        require(not named, f"`{(named or [''])[0]}` is about data: name a data set or a file, or leave it out")
    else:
        named = [name for name in ("gamma", "n", "c") if getattr(numbers, name) is not None]
        require(not named, f"`{(named or [''])[0]}` is that of the data: leave it out, or leave out the data")
        margin = search.certified(data, seed)
        result = margin.bounds(**numbers.besides, width=width)
    if figure is not None:
        from softlabel.report.bounds_figure import draw_bounds

        draw_bounds(figure, result.inputs["gamma"], result.inputs["epsilon"], result.setting)
        options.note(f"figure saved as {figure}")
    if as_json:
        options.answer(result.to_dict() | ({} if margin is None else {"margin": margin.to_dict()}))
        return
    if margin is not None:
        options.print_tables(margin.table)
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
