"""Number of neurons that soft and hard labels need, as a function of the margin: one interactive chart per family."""

import math
from collections.abc import Sequence

from softlabel.report.charts import Chart, Panel, Series
from softlabel.theory.bounds import ARMS, FAMILIES, Arm, Crossover, Family, Overview
from softlabel.theory.bounds.curves import WidthCurves
from softlabel.theory.bounds.families import requirement

TITLES = {
    "paper": "paper, as printed",
    "corrected": "corrected, the paper's route",
    "refined": "refined, closed form",
    "tight": "tight, solved numerically",
}
TICKS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5)


def bounds_charts(overview: Overview, gammas: Sequence[float], curves: WidthCurves) -> dict[Family, Chart]:
    """The charts of all families, with the same axes.

    overview    the case, whose margin γ and whose crossovers are marked
    gammas      the margins of the curves, in increasing order
    curves      the widths at these margins, see `softlabel.theory.bounds.width_curves`
    """
    heights = _decades(curves)
    return {family: _chart(family, overview, gammas, curves, heights) for family in FAMILIES}


def crossover_sentence(crossing: Crossover) -> str:
    """Where soft labels need fewer neurons than hard labels, or why that is not known."""
    if crossing.gamma is not None:
        return f"Soft labels need fewer neurons where γ < {crossing.gamma:.4g}."
    reason = crossing.note.removeprefix("soft always: ").removeprefix("soft never: ")
    return f"{reason[:1].upper()}{reason[1:]}."


def neurons(width: float | None) -> str:
    """A number of neurons; whole numbers exactly."""
    if width is None or not math.isfinite(width):
        return "–"
    return f"{width:,}" if isinstance(width, int) else f"{width:.4g}"


def _chart(
    family: Family,
    overview: Overview,
    gammas: Sequence[float],
    curves: WidthCurves,
    heights: tuple[float, float],
) -> Chart:
    series = [_curve(arm, gammas, curves[family][arm]) for arm in ARMS if curves[family][arm][0] is not None]
    crossing = overview.crossovers[family]
    if crossing.gamma is not None:
        width = requirement(family, "soft", crossing.gamma, overview.inputs["epsilon"], overview.setting).width
        series.append(_mark("crossover", "paper", crossing.gamma, width, marks=True))
    gamma = overview.inputs["gamma"]
    series += [_mark(f"{arm} labels at γ", arm, gamma, overview.families[family][arm].width) for arm in ARMS]
    ticks = [tick for tick in TICKS if gammas[0] <= tick <= gammas[-1]]
    panel = Panel("", series, "margin γ", "neurons", log_x=True, log_y=True, ticks=ticks, y_range=heights,
                  vertical_line=gamma, powers=True)  # fmt: skip
    return Chart(f"bounds-{family}", TITLES[family], crossover_sentence(crossing), [panel], row_height=230)


def _curve(arm: Arm, gammas: Sequence[float], widths: Sequence[float | None]) -> Series:
    hover = [f"{arm} labels: {neurons(width)}" for width in widths]
    return Series(f"{arm} labels", gammas, _heights(widths), role=arm, dashed=arm == "hard", points=False, hover=hover)


def _mark(name: str, role: str, gamma: float, width: float | None, marks: bool = False) -> Series:
    """One point; nothing where there is no width."""
    if width is None:
        return Series(name, [], [], role=role, hover=[])
    return Series(name, [gamma], _heights([width]), role=role, marks=marks, hover=[f"{name}: {neurons(width)}"])


def _heights(widths: Sequence[float | None]) -> list[float]:
    return [math.nan if width is None else float(width) for width in widths]


def _decades(curves: WidthCurves) -> tuple[float, float]:
    """The powers of ten around all widths, and a little room for the lowest number of the axis."""
    widths = [width for arms in curves.values() for values in arms.values() for width in values
              if width is not None and math.isfinite(width)] or [1.0]  # fmt: skip
    low, high = math.floor(math.log10(min(widths))), math.ceil(math.log10(max(widths)))
    return 10.0 ** (low - 0.4), 10.0 ** min(high, 308)
