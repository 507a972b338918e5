"""Number of neurons that soft and hard labels need, as a function of the margin, one panel per family."""

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from softlabel.errors import require
from softlabel.numerics.files import replacing
from softlabel.report.bounds_chart import TITLES
from softlabel.theory.bounds import ARMS, FAMILIES, Arm, Family, Setting, scaling_without_projection
from softlabel.theory.bounds.crossover import crossover_in
from softlabel.theory.bounds.families import real_needs, silence
from softlabel.theory.bounds.needs import even_ceiling
from softlabel.theory.bounds.setting import check_epsilon, check_gamma

SOFT, HARD, REFERENCE, INK = "#0072B2", "#D55E00", "#9A9A9A", "#333333"
COLORS = {"soft": SOFT, "hard": HARD}
SMALLEST, LARGEST = 1e-12, 0.5


def draw_bounds(path: Path, gamma: float, epsilon: float, setting: Setting) -> None:
    """Draw `bounds_figure` into a PNG or SVG file."""
    check_ending(path)
    figure = bounds_figure(gamma, epsilon, setting)
    with replacing(path) as part:
        figure.savefig(part, format=path.suffix.lower()[1:], dpi=150)


def check_ending(path: Path) -> None:
    """Refuse a file that is neither PNG nor SVG."""
    require(path.suffix.lower() in (".png", ".svg"), f"figure must end in .png or .svg, got '{path}'; rename it")


def bounds_figure(gamma: float, epsilon: float, setting: Setting) -> Figure:
    """Widths against γ in every family, with the crossovers, as a Matplotlib figure."""
    check_gamma(gamma)
    check_epsilon(epsilon)
    smallest = max(SMALLEST, min(2e-3, gamma / 4))  # below that the lines continue straight
    margins = [min(margin, LARGEST) for margin in np.geomspace(smallest, LARGEST, 160).tolist()]
    figure = Figure(figsize=(9.6, 7.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for index, (axes, family) in enumerate(zip(panels.flat, FAMILIES, strict=True)):
        _panel(axes, family, margins, gamma, epsilon, setting)
        if index % 2 == 0:
            axes.set_ylabel("neurons m")
        if index >= 2:
            axes.set_xlabel("margin γ")
    _legend(figure)
    panels[0, 0].set(xlim=(margins[0], LARGEST), ylim=_heights(margins, epsilon, setting))
    figure.suptitle(_title(epsilon, setting), x=0.01, ha="left", fontsize=12.5, fontweight="bold", color=INK)
    return figure


def _panel(axes: Axes, family: Family, margins: list[float], gamma: float, epsilon: float, setting: Setting) -> None:
    reference = [scaling_without_projection(margin) for margin in margins]
    axes.plot(margins, reference, color=REFERENCE, lw=1.2, ls=(0, (1, 2)))
    silent = [arm for arm in ARMS if silence(family, arm, setting)]
    heights: dict[Arm, float] = {}
    for arm in ARMS:
        if arm in silent:
            continue
        widths = [real_needs(family, arm, margin, epsilon, setting).width for margin in margins]
        axes.plot(margins, widths, color=COLORS[arm], lw=2.2, ls="-" if arm == "soft" else (0, (6, 2)))
        heights[arm] = real_needs(family, arm, gamma, epsilon, setting).width
        axes.plot([gamma], [heights[arm]], "o", color=COLORS[arm], ms=6, mec="white", mew=0.8, zorder=4)
    axes.axvline(gamma, color=INK, lw=0.7, alpha=0.35)
    _labels(axes, gamma, heights, _crossing(axes, family, epsilon, setting))
    if silent:
        text = f"{' and '.join(silent)}: no version with this κ, α"
        axes.text(0.04, 0.06, text, transform=axes.transAxes, fontsize=9, color=INK)
    axes.set(xscale="log", yscale="log")
    axes.set_title(TITLES[family], loc="left", fontsize=10.5, color=INK)
    axes.yaxis.set_major_locator(LogLocator(numticks=9))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.22, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)


def _labels(axes: Axes, gamma: float, heights: dict[Arm, float], crossing: str) -> None:
    """Write into the corner where the lines cross, and the widths at the margin γ."""
    lines = [(crossing, INK)] if crossing else []
    lines += [(f"{arm} at γ = {gamma:g}: {_power(height)}", COLORS[arm]) for arm, height in heights.items()]
    for index, (line, color) in enumerate(lines):
        axes.annotate(
            line,
            (0.98, 0.97),
            xytext=(0, -14 * index),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=9,
            color=color,
            bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.6},
        )


def _power(value: float) -> str:
    """A number of neurons in readable form: 3,240 or 5.8·10⁵."""
    if not math.isfinite(value):
        return "beyond floating point"
    if value < 1e5:
        return f"{even_ceiling(value):,}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _heights(margins: list[float], epsilon: float, setting: Setting) -> tuple[float, float]:
    """Limits of the neuron axis: the widths of all families with some room; the reference line may leave at the top."""
    widths = [
        real_needs(family, arm, margin, epsilon, setting).width
        for family in FAMILIES
        for arm in ARMS
        if not silence(family, arm, setting)
        for margin in (margins[0], LARGEST)
    ]
    shown = [width for width in widths if math.isfinite(width)] or [1.0]
    return min(shown) / 20, max(shown) * 50


def _crossing(axes: Axes, family: Family, epsilon: float, setting: Setting) -> str:
    """Mark the crossover γ_×, shade the margins where soft labels need fewer neurons, and describe them in words."""
    crossing = crossover_in(family, epsilon, setting)
    if crossing.gamma is None:
        if crossing.note.startswith("soft always"):
            axes.axvspan(SMALLEST / 1e3, LARGEST, color=SOFT, alpha=0.07, lw=0)
            return "soft needs fewer at every γ ≤ ½"
        return "hard needs fewer at every γ" if crossing.note.startswith("soft never") else ""
    height = real_needs(family, "soft", crossing.gamma, epsilon, setting).width
    axes.axvspan(SMALLEST / 1e3, crossing.gamma, color=SOFT, alpha=0.07, lw=0)
    axes.plot([crossing.gamma], [height], "D", color="white", mec=INK, mew=1.3, ms=6.5, zorder=5)
    return f"soft needs fewer where γ < {crossing.gamma:.3g}"


def _legend(figure: Figure) -> None:
    """One legend for all panels."""
    handles = [
        Line2D([], [], color=SOFT, lw=2.2, label="soft labels"),
        Line2D([], [], color=HARD, lw=2.2, ls=(0, (6, 2)), label="hard labels"),
        Line2D([], [], color=REFERENCE, lw=1.2, ls=(0, (1, 2)), label="γ⁻⁸, order only (hard, no projection)"),
        Line2D([], [], marker="D", color="white", mec=INK, mew=1.3, ms=6.5, label="crossover"),
        Patch(color=SOFT, alpha=0.12, lw=0, label="soft needs fewer"),
    ]
    figure.legend(
        handles=handles,
        title="Sufficient conditions for the training error averaged over iterations; no lower bounds are known.",
        title_fontsize=8.5,
        loc="outside lower center",
        ncol=5,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )


def _title(epsilon: float, setting: Setting) -> str:
    extra = "".join(
        f", {symbol} = {value:g}"
        for symbol, value in (("c", setting.c), ("κ", setting.kappa), ("α", setting.alpha))
        if not math.isclose(value, 1.0)
    )
    return f"Neurons that suffice for error ε = {epsilon:g}   (n = {setting.n:,}, δ = {setting.delta:g}{extra})"
