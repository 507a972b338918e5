"""The series of a panel as Plotly traces, plain dictionaries whose keys stand in Plotly's order."""

import html
from typing import Any

from softlabel.printable import printable
from softlabel.report.charts import COLORS, Panel, Series

MOST_BARS = 12  # longer curves get a band instead of one error bar per point


def literal(text: object) -> str:
    """The text as Plotly shows it literally (its labels accept some HTML)."""
    return html.escape(printable(text), quote=False)


def panel_traces(panel: Panel, axes: str, named: set[str]) -> list[dict[str, Any]]:
    """The traces of a panel on the axes x`axes` and y`axes`; series in `named` are in the legend already."""
    traces: list[dict[str, Any]] = []
    for series in panel.series:
        positions = panel.positions(series)
        if panel.horizontal:
            named_before = {*named, *panel.categories}  # a series that is a category of its own needs no entry
            traces.append(_sideways(_trace(series, positions, series.name not in named_before), series))
        else:
            if not series.marks and len(positions) > MOST_BARS:
                traces += _band(series, positions)
            if series.stems:
                traces.append(_stems(series, positions, panel.stem_foot(series)))
            traces.append(_trace(series, positions, series.name not in named))
        named.add(series.name)
    return [_ordered(trace) | {"type": "scatter", "xaxis": f"x{axes}", "yaxis": f"y{axes}"} for trace in traces]


def _ordered(value: Any) -> Any:
    """A dictionary with its keys in alphabetical order."""
    return {key: _ordered(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def _sideways(trace: dict[str, Any], series: Series) -> dict[str, Any]:
    """A trace of a horizontal panel: points with horizontal intervals."""
    trace["x"], trace["y"] = trace["y"], trace["x"]
    if (reach := trace.pop("error_y", None)) is not None:
        trace["error_x"] = reach | {"thickness": 3 if series.star else 1.5, "width": 6}
    if series.low is not None:
        trace["marker"] |= {"size": 14 if series.star else 8, "symbol": "circle"}
    trace["hovertemplate"] = "%{text}: %{x:.2f}<extra></extra>"
    return trace


def _band(series: Series, x: list[float]) -> list[dict[str, Any]]:
    """The interval as a band: its upper edge, and its lower edge with the area between them filled."""
    if series.low is None or series.high is None:
        return []
    red, green, blue = (int(COLORS[series.role][k : k + 2], 16) for k in (1, 3, 5))
    edge = {"x": x, "mode": "lines", "line": {"width": 0}, **_silent(series)}
    fill = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},.15)"}
    return [edge | {"y": list(series.high)}, edge | {"y": list(series.low)} | fill]


def _stems(series: Series, x: list[float], foot: float) -> dict[str, Any]:
    """A line from every point down to `foot`, as one trace with gaps."""
    return {
        "x": [end for position in x for end in (position, position, None)],
        "y": [end for value in series.y for end in (foot, value, None)],
        "mode": "lines",
        "line": {"color": COLORS[series.role], "width": 1},
        **_silent(series),
    }


def _silent(series: Series) -> dict[str, Any]:
    """What a part of a series has that neither the legend nor the pointer shows."""
    return {"legendgroup": series.name, "showlegend": False, "hoverinfo": "skip"}


def _trace(series: Series, x: list[float], in_legend: bool) -> dict[str, Any]:
    color = COLORS[series.role]
    y = list(series.y)
    shown = "%{text}: %{y:.2f}" if series.hover is None else "%{text}"
    trace: dict[str, Any] = {
        "x": x,
        "y": y,
        "name": literal(series.name),
        "legendgroup": series.name,
        "showlegend": in_legend,
        "opacity": 0.75 if series.faint else 1.0,
        "mode": "markers" if series.marks else "lines+markers" if series.points else "lines",
        "marker": {"color": color, "size": 8 if series.marks else 5},
        "line": {"color": color, "dash": "dash" if series.dashed else "solid"},
        "text": [literal(shown) for shown in (series.x if series.hover is None else series.hover)],
        "hovertemplate": f"{shown}<extra>%{{fullData.name}}</extra>",
    }
    if series.low is None or series.high is None or (not series.marks and len(x) > MOST_BARS):
        if series.marks:
            trace["marker"] |= {"symbol": "star", "size": 17} if series.star else {"symbol": "diamond-open"}
        return trace
    trace["error_y"] = {
        "type": "data",
        "symmetric": False,
        "array": [high - value for high, value in zip(series.high, y, strict=True)],
        "arrayminus": [value - low for low, value in zip(series.low, y, strict=True)],
        "color": color,
        "thickness": 1.2,
    }
    return trace
