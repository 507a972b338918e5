"""Charts as Plotly figures for the page. The Plotly script is embedded once, so the page needs no network."""

import html
from typing import Any

from softlabel.printable import printable
from softlabel.report.charts import COLORS, Chart, Panel, Series

MOST_BARS = 12  # longer curves get a band instead of one error bar per point
MARGINS = 130


def plotly_json(chart: Chart) -> str:
    """The chart as the JSON that Plotly.newPlot takes."""
    from plotly.graph_objects import Figure
    from plotly.subplots import make_subplots

    columns = min(chart.columns, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    figure: Figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=[_literal(panel.title) for panel in chart.panels],
        shared_yaxes=chart.share_y,
        horizontal_spacing=0.06,
        vertical_spacing=0.26 / rows if rows > 1 else 0.0,
    )
    named: set[str] = set()
    for index, panel in enumerate(chart.panels):
        row, column = index // columns + 1, index % columns + 1
        _panel(figure, panel, row, column, named, first=column == 1 or not chart.share_y)
    figure.update_layout(
        height=MARGINS + chart.row_height * rows,
        margin={"l": 55, "r": 15, "t": 80, "b": MARGINS - 80},
        legend={"orientation": "h", "y": 1 + 28 / (chart.row_height * rows), "yanchor": "bottom", "x": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 12},
        hovermode="closest",
        template="none",
        meta={"row_height": chart.row_height},
    )
    figure.update_annotations(font_size=12)
    figure.update_xaxes(gridcolor="rgba(128,128,128,.2)", zeroline=False, automargin=True)
    figure.update_yaxes(gridcolor="rgba(128,128,128,.2)", zeroline=False, automargin=True)
    return _inert(str(figure.to_json()))


def _literal(text: object) -> str:
    """The text as Plotly shows it literally (its labels accept some HTML)."""
    return html.escape(printable(text), quote=False)


def _inert(text: str) -> str:
    """JSON that is safe inside a script element: none of its characters starts or ends a tag or a comment."""
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def plotly_script() -> str:
    """The Plotly script, to be embedded."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _panel(figure: Any, panel: Panel, row: int, column: int, named: set[str], first: bool) -> None:
    if panel.horizontal:
        _horizontal_panel(figure, panel, row, column, named)
        return
    for series in panel.series:
        positions = panel.positions(series)
        if not series.marks and len(positions) > MOST_BARS:
            for edge in _band(series, positions):
                figure.add_trace(edge, row=row, col=column)
        figure.add_trace(_trace(series, positions, series.name not in named), row=row, col=column)
        named.add(series.name)
    axis: dict[str, Any] = {"title_text": _literal(panel.x_label), "title_standoff": 4}
    if panel.categories:
        count = len(panel.categories)
        axis |= {
            "tickvals": list(range(count)),
            "ticktext": [_literal(name) for name in panel.categories],
            "range": [-0.5, count - 0.5],
        }
    elif panel.log_x:
        axis["type"] = "log"
    if panel.ticks is not None:
        axis |= {"tickvals": list(panel.ticks), "ticktext": [f"{tick:g}" for tick in panel.ticks]}
    figure.update_xaxes(**axis, row=row, col=column)
    if first:
        figure.update_yaxes(title_text=_literal(panel.y_label), title_standoff=4, row=row, col=column)
    if panel.log_y:
        figure.update_yaxes(type="log", row=row, col=column)
    if panel.band is not None:
        shown = {"name": _literal(panel.band_name), "showlegend": True, "fillcolor": COLORS["paper"], "opacity": 0.25}
        figure.add_hrect(y0=panel.band[0], y1=panel.band[1], **shown, line_width=0, layer="below", row=row, col=column)
    if panel.zero_line:
        figure.add_hline(y=0, line_width=1, line_color="gray", row=row, col=column)


def _horizontal_panel(figure: Any, panel: Panel, row: int, column: int, named: set[str]) -> None:
    """Points with horizontal intervals, one row for each category, the first on top; names stand above the points.

    A series that is a category of its own is not named again in the legend.
    """
    for series in panel.series:
        trace = _trace(series, panel.positions(series), series.name not in {*named, *panel.categories})
        named.add(series.name)
        trace["x"], trace["y"] = trace["y"], trace["x"]
        if (reach := trace.pop("error_y", None)) is not None:
            trace["error_x"] = reach | {"thickness": 3 if series.star else 1.5, "width": 6}
        if series.low is not None:
            trace["marker"] |= {"size": 14 if series.star else 8, "symbol": "circle"}
        trace["hovertemplate"] = "%{text}: %{x:.2f}<extra></extra>"
        figure.add_trace(trace, row=row, col=column)
    for number, name in enumerate(panel.categories):
        figure.add_annotation(
            x=0, xref="x domain", y=number - 0.42, text=_literal(name), xanchor="left", yanchor="middle",
            showarrow=False, row=row, col=column,
        )  # fmt: skip
    figure.update_xaxes(title_text=_literal(panel.x_label), title_standoff=4, row=row, col=column)
    figure.update_yaxes(
        range=[len(panel.categories) - 0.5, -0.6], showticklabels=False, showgrid=False, row=row, col=column
    )
    if panel.band is not None:
        shown = {"name": _literal(panel.band_name), "showlegend": True, "fillcolor": COLORS["paper"], "opacity": 0.25}
        figure.add_vrect(x0=panel.band[0], x1=panel.band[1], **shown, line_width=0, layer="below", row=row, col=column)
    if panel.zero_line:
        figure.add_vline(x=0, line_width=1, line_color="gray", row=row, col=column)


def _band(series: Series, x: list[float]) -> list[dict[str, Any]]:
    """The interval as a band: its upper edge, and its lower edge with the area between them filled."""
    if series.low is None or series.high is None:
        return []
    red, green, blue = (int(COLORS[series.role][k : k + 2], 16) for k in (1, 3, 5))
    edge = {
        "type": "scatter",
        "x": x,
        "mode": "lines",
        "line": {"width": 0},
        "legendgroup": series.name,
        "showlegend": False,
        "hoverinfo": "skip",
    }
    fill = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},.15)"}
    return [edge | {"y": list(series.high)}, edge | {"y": list(series.low)} | fill]


def _trace(series: Series, x: list[float], in_legend: bool) -> dict[str, Any]:
    color = COLORS[series.role]
    y = list(series.y)
    trace: dict[str, Any] = {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": _literal(series.name),
        "legendgroup": series.name,
        "showlegend": in_legend,
        "opacity": 0.75 if series.faint else 1.0,
        "mode": "markers" if series.marks else "lines+markers",
        "marker": {"color": color, "size": 8 if series.marks else 5},
        "line": {"color": color, "dash": "dash" if series.dashed else "solid"},
        "text": [_literal(x_value) for x_value in series.x],
        "hovertemplate": "%{text}: %{y:.2f}<extra>%{fullData.name}</extra>",
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
