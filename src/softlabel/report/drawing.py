"""Charts as Matplotlib figures, and as PNG and SVG files."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, NullLocator

from softlabel.numerics.files import replacing
from softlabel.printable import printable
from softlabel.report.charts import COLORS, Chart, Panel, Series

INK = "#333333"
ROOM = 60  # characters of category names that fit below a panel
LONGEST_SLANTED = 20  # characters of a category name; more short names than fit are drawn slanted
SVG = {"format": "svg", "metadata": {"Date": None}}  # without a date, equal figures are equal files


def figure_text(text: object) -> str:
    """The text as Matplotlib draws it literally: a dollar sign begins no formula, and nothing is invisible."""
    return printable(text).replace("$", r"\$")


def chart_figure(chart: Chart) -> Figure:
    """The chart as a Matplotlib figure."""
    columns = min(chart.columns, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    height = 3.2 * chart.row_height / Chart.row_height
    figure = Figure(figsize=(max(6.4, 4.4 * columns), 0.7 + height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey="row" if chart.share_y else False)
    for axes in grid.flat[len(chart.panels) :]:
        axes.set_visible(False)
    for index, (axes, panel) in enumerate(zip(grid.flat, chart.panels, strict=False)):
        _panel(axes, panel, first=index % columns == 0 or not chart.share_y)
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.suptitle(figure_text(chart.title), x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    return figure


def draw(chart: Chart, directory: Path) -> list[Path]:
    """Write the chart into the directory as PNG and SVG; returns the files."""
    figure = chart_figure(chart)
    files = [directory / f"{chart.name}.png", directory / f"{chart.name}.svg"]
    for path, settings in zip(files, ({"format": "png", "dpi": 130}, SVG), strict=True):
        with replacing(path) as part:
            save(figure, part, **settings)
    return files


def save(figure: Figure, target: Any, **settings: Any) -> None:
    """Save a figure; a name in a script that the font lacks is drawn as boxes, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(target, **settings)


def _panel(axes: Axes, panel: Panel, first: bool) -> None:
    if panel.horizontal:
        _horizontal_panel(axes, panel)
        return
    for series in panel.series:
        positions = panel.positions(series)
        if series.stems:
            axes.vlines(positions, panel.stem_foot(series), series.y, color=COLORS[series.role], linewidth=1)
        _series(axes, series, positions)
    if panel.categories:
        axes.set_xticks(range(len(panel.categories)), [figure_text(name) for name in panel.categories])
        axes.set_xlim(-0.5, len(panel.categories) - 0.5)
        longest = max(map(len, panel.categories))
        if len(panel.categories) * longest > ROOM and longest <= LONGEST_SLANTED:
            for text in axes.get_xticklabels():
                text.set(rotation=30, ha="right", rotation_mode="anchor")
    elif panel.log_x:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis)
    if panel.ticks is not None:
        axes.set_xticks(list(panel.ticks), [f"{tick:g}" for tick in panel.ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    if panel.log_y:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    if panel.band is not None:
        gray, name = COLORS["paper"], figure_text(panel.band_name)
        axes.axhspan(*panel.band, facecolor=(gray, 0.25), edgecolor=(gray, 0.7), linewidth=0.8, label=name)
    if panel.zero_line:
        axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_title(figure_text(panel.title), fontsize=10, loc="left", color=INK)
    axes.set_xlabel(figure_text(panel.x_label))
    if first:
        axes.set_ylabel(figure_text(panel.y_label))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _horizontal_panel(axes: Axes, panel: Panel) -> None:
    """Points with horizontal intervals, one row for each category, the first on top."""
    for series in panel.series:
        rows, color = panel.positions(series), COLORS[series.role]
        reach = None
        if series.low is not None and series.high is not None:
            reach = [np.subtract(series.y, series.low), np.subtract(series.high, series.y)]
        axes.errorbar(
            series.y, rows, xerr=reach, fmt="o" if reach else "D", fillstyle="full" if reach else "none",
            markersize=8 if series.star else 5, capsize=4, color=color, linewidth=2.5 if series.star else 1.5,
            label=None if series.name in panel.categories else figure_text(series.name),
        )  # fmt: skip
    axes.set_yticks(range(len(panel.categories)), [figure_text(name) for name in panel.categories])
    axes.set_ylim(len(panel.categories) - 0.5, -0.5)
    if panel.band is not None:
        gray = COLORS["paper"]
        axes.axvspan(*panel.band, facecolor=(gray, 0.25), linewidth=0, label=figure_text(panel.band_name))
    if panel.zero_line:
        axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel(figure_text(panel.x_label))
    axes.set_title(figure_text(panel.title), fontsize=10, loc="left", color=INK)
    axes.grid(alpha=0.25, axis="x")
    axes.spines[["top", "right", "left"]].set_visible(False)


class _PlainNumbers(LogFormatterSciNotation):
    """Labels of a logarithmic axis: 0.2 and 20; only very small and very large numbers are powers of ten.

    Where the axis covers most of a decade, only numbers that begin with 1, 2 or 4 have labels.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        text = super().__call__(x, pos)
        assert self.axis is not None
        axis: Any = self.axis  # its type in Matplotlib's annotations allows None
        low, high = sorted(axis.get_view_interval())
        if high > 6 * low and f"{x:.0e}"[0] not in "124":
            return ""
        return f"{x:.6f}".rstrip("0").rstrip(".") if text and 1e-4 <= x <= 1e4 else text


def _plain_numbers(axis: Axis) -> None:
    axis.set_major_formatter(_PlainNumbers())
    axis.set_minor_formatter(_PlainNumbers())


def _series(axes: Axes, series: Series, x: list[float]) -> None:
    color, label = COLORS[series.role], figure_text(series.name)
    alpha = 0.45 if series.faint else 1.0
    if series.marks:
        if series.low is not None and series.high is not None:
            reach = [np.subtract(series.y, series.low), np.subtract(series.high, series.y)]
            axes.errorbar(x, series.y, reach, fmt="o", markersize=5, capsize=3, color=color, label=label, alpha=alpha)
        else:
            mark = {"marker": "*", "markersize": 15} if series.star else {"marker": "D", "markersize": 5}
            full = "full" if series.star else "none"
            axes.plot(x, series.y, linestyle="", color=color, label=label, alpha=alpha, fillstyle=full, **mark)
        return
    style = "--" if series.dashed else "-"
    marker = "o" if series.points else ""
    axes.plot(x, series.y, style, marker=marker, markersize=3.5, color=color, label=label, alpha=alpha)
    if series.low is not None and series.high is not None and len(x) == 1:  # a band of one point has no width
        axes.vlines(x, series.low, series.high, color=color, alpha=0.5)
    elif series.low is not None and series.high is not None:
        axes.fill_between(x, series.low, series.high, color=color, alpha=0.15, linewidth=0)
