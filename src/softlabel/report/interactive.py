"""Charts as Plotly figures, for pages and for the explorer.

A figure is a plain dictionary that is built without Plotly's Python classes, which check every value and take fifty
times as long. The Plotly script is embedded once in a page, so the page needs no network.
"""

import math
from typing import Any

import numpy as np

from softlabel.report.charts import COLORS, Chart, Panel
from softlabel.report.plotly_traces import literal, panel_traces

MARGINS = 130
ACROSS, DOWN = 0.06, 0.26  # gaps between columns, and between rows divided by their number
GRID = {"gridcolor": "rgba(128,128,128,.2)", "zeroline": False, "automargin": True}


def plotly_figure(chart: Chart) -> dict[str, Any]:
    """The chart as the `data` and `layout` that Plotly.newPlot takes, made of plain JSON values."""
    columns = min(chart.columns, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    layout: dict[str, Any] = {"template": {"data": {"scatter": [{"type": "scatter"}]}}}
    titles: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    named: set[str] = set()
    for index in range(rows * columns):
        panel = chart.panels[index] if index < len(chart.panels) else None
        own = _number(index)
        x_axis, y_axis = _cell(index, rows, columns)
        if chart.share_y and index % columns:
            y_axis |= {"matches": f"y{_number(index - index % columns)}", "showticklabels": False}
        if panel is not None:
            data += panel_traces(panel, own, named)
            if panel.title:
                titles.append(_title(panel, x_axis["domain"], y_axis["domain"]))
            notes += _names(panel, own)
            shapes += _shapes(panel, own)
            x_axis |= _x_axis(panel)
            y_axis |= _y_axis(panel, first=index % columns == 0 or not chart.share_y)
        layout |= {f"xaxis{own}": x_axis | GRID, f"yaxis{own}": y_axis | GRID}
    layout |= {name: items for name, items in (("annotations", titles + notes), ("shapes", shapes)) if items}
    return _plain({"data": data, "layout": layout | _frame(chart, rows)})


def plotly_json(chart: Chart) -> str:
    """The chart as the JSON that Plotly.newPlot takes, safe inside a script element."""
    from plotly.io.json import to_json_plotly

    return _inert(str(to_json_plotly(plotly_figure(chart))))


def plotly_script() -> str:
    """The Plotly script, to be embedded."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _inert(text: str) -> str:
    """JSON that is safe inside a script element: none of its characters starts or ends a tag or a comment."""
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _plain(value: Any) -> Any:
    """The value without NumPy's numbers, and with None in the place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(index: int) -> str:
    """What follows x and y in the names of a panel's axes: nothing for the first panel, then 2, 3, …"""
    return "" if index == 0 else str(index + 1)


def _cell(index: int, rows: int, columns: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The axes of a panel with their places in the figure."""
    row, column = divmod(index, columns)
    down = DOWN / rows if rows > 1 else 0.0
    width, height = (1.0 - ACROSS * (columns - 1)) / columns, (1.0 - down * (rows - 1)) / rows
    left = sum([width] * column) + column * ACROSS  # rounds as Plotly's own grid does
    bottom = sum([height] * (rows - 1 - row)) + (rows - 1 - row) * down
    own = _number(index)
    x_axis = {"anchor": f"y{own}", "domain": [left, min(1.0, left + width)]}
    return x_axis, {"anchor": f"x{own}", "domain": [bottom, min(1.0, bottom + height)]}


def _title(panel: Panel, across: list[float], up: list[float]) -> dict[str, Any]:
    return {
        "font": {"size": 12},
        "showarrow": False,
        "text": literal(panel.title),
        "x": sum(across) / 2.0,
        "xanchor": "center",
        "xref": "paper",
        "y": up[1],
        "yanchor": "bottom",
        "yref": "paper",
    }


def _names(panel: Panel, own: str) -> list[dict[str, Any]]:
    """The categories of a horizontal panel, above their points."""
    if not panel.horizontal:
        return []
    place = {"xanchor": "left", "xref": f"x{own} domain"}
    return [
        {"showarrow": False, "text": literal(name), "x": 0, **place, "y": number - 0.42, "yanchor": "middle",
         "yref": f"y{own}", "font": {"size": 12}}
        for number, name in enumerate(panel.categories)
    ]  # fmt: skip


def _x_axis(panel: Panel) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": literal(panel.x_label), "standoff": 4}}
    if panel.horizontal:
        return axis
    if panel.categories:
        count = len(panel.categories)
        names = [literal(name) for name in panel.categories]
        axis |= {"tickvals": list(range(count)), "ticktext": names, "range": [-0.5, count - 0.5]}
    elif panel.log_x:
        axis |= _logarithmic(panel)
    if panel.ticks is not None:
        axis |= {"tickvals": list(panel.ticks), "ticktext": [f"{tick:g}" for tick in panel.ticks]}
    return axis


def _y_axis(panel: Panel, first: bool) -> dict[str, Any]:
    if panel.horizontal:
        return {"range": [len(panel.categories) - 0.5, -0.6], "showticklabels": False, "showgrid": False}
    axis: dict[str, Any] = {"title": {"text": literal(panel.y_label), "standoff": 4}} if first else {}
    if panel.log_y:
        axis |= _logarithmic(panel)
    if panel.y_range is not None:
        axis["range"] = [math.log10(end) if panel.log_y else end for end in panel.y_range]
    return axis


def _logarithmic(panel: Panel) -> dict[str, Any]:
    return {"type": "log", "exponentformat": "power"} if panel.powers else {"type": "log"}


def _shapes(panel: Panel, own: str) -> list[dict[str, Any]]:
    """The shaded range of a panel, and its lines."""
    x, y = (f"x{own}", f"y{own} domain") if panel.horizontal else (f"x{own} domain", f"y{own}")
    shapes: list[dict[str, Any]] = []
    if panel.band is not None:
        shapes.append(
            {"fillcolor": COLORS["paper"], "layer": "below", "line": {"width": 0}, "name": literal(panel.band_name),
             "opacity": 0.25, "showlegend": True, "type": "rect", **_ends(panel.band, x, y, panel.horizontal)}
        )  # fmt: skip
    if panel.zero_line:
        shapes.append(_line(_ends((0, 0), x, y, panel.horizontal)))
    if panel.vertical_line is not None:
        place = panel.vertical_line
        shapes.append(_line(_ends((place, place), f"x{own}", f"y{own} domain", along_x=True)))
    return shapes


def _ends(ends: tuple[float, float], x: str, y: str, along_x: bool) -> dict[str, Any]:
    """Where a shape begins and ends: at `ends` along one axis, and from side to side along the other."""
    across, up = (ends, (0, 1)) if along_x else ((0, 1), ends)
    return {"x0": across[0], "x1": across[1], "xref": x, "y0": up[0], "y1": up[1], "yref": y}


def _line(ends: dict[str, Any]) -> dict[str, Any]:
    return {"line": {"color": "gray", "width": 1}, "type": "line", **ends}


def _frame(chart: Chart, rows: int) -> dict[str, Any]:
    """What surrounds the panels."""
    return {
        "margin": {"l": 55, "r": 15, "t": 80, "b": MARGINS - 80},
        "legend": {"orientation": "h", "y": 1 + 28 / (chart.row_height * rows), "yanchor": "bottom", "x": 0},
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "height": MARGINS + chart.row_height * rows,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "meta": {"row_height": chart.row_height},
    }
