"""What live training shows: curves over the steps, and the plane with decision boundary and neurons."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from softlabel.app.work.live import EDGE, LiveFrame, LiveStart, grid
from softlabel.app.work.live_settings import ARM_NAMES, LiveSettings
from softlabel.report.charts import COLORS, Panel, Series

FIRST_CLASS, SECOND_CLASS = COLORS["other"], COLORS["teacher"]
FADED = [[0, "#e9bfd7"], [0.5, "#ffffff"], [1, "#a9dccb"]]  # their colors, light enough for points and lines above
REACH = 2.0  # log-odds beyond which the colors of the map no longer change
ARROW = 0.9  # length of the longest neuron in the plane


def curve_panels(settings: LiveSettings, frames: Sequence[LiveFrame]) -> list[Panel]:
    """Loss, test error, displacement and flipped activations over the steps."""
    ball = "displacement, share of the ball" if settings.radius else "displacement · √width"
    shown = (("loss", "training loss", 1.0), ("test error", "test error, %", 100.0), ("displacement", ball, 1.0),
             ("flipped", "flipped activations, %", 100.0))  # fmt: skip
    return [Panel(title, _series(settings, frames, name, factor), "step") for name, title, factor in shown]


def _series(settings: LiveSettings, frames: Sequence[LiveFrame], name: str, factor: float) -> list[Series]:
    if name == "test error":
        frames = frames[1:]  # before the first step all outputs are 0, which counts as an error
    steps = [float(frame.step) for frame in frames]
    return [
        Series(
            ARM_NAMES[arm],
            steps,
            [round(factor * frame.values[arm][name], 4) for frame in frames],
            role=arm,
            points=False,
            dashed=arm == "hard",
        )
        for arm in settings.arms
    ]


def plane_figure(arm: str, start: LiveStart, first: LiveFrame, now: LiveFrame) -> dict[str, Any]:
    """The plane as one student sees it, as Plotly's `data` and `layout`."""
    across = [round(float(x), 3) for x in grid()]
    axis = {"range": [-EDGE, EDGE], "visible": False, "fixedrange": True}
    length = max(float(np.linalg.norm(one.neurons[arm], axis=1).max()) for one in (first, now)) or 1.0
    data = [
        {"type": "contour", "x": across, "y": across, "z": np.round(now.maps[arm], 2).tolist(), "showscale": False,
         "zmin": -REACH, "zmax": REACH, "colorscale": FADED, "contours": {"start": 0, "end": 0, "size": 1,
         "coloring": "heatmap"}, "line": {"color": COLORS[arm], "width": 3.5}, "hoverinfo": "skip"},
        _examples(start, -1.0),
        _examples(start, 1.0),
        _directions(first.neurons[arm], first.votes[arm], length, "#6e7781", 1.2),
        _directions(now.neurons[arm], now.votes[arm], length, COLORS[arm], 2.5),
    ]  # fmt: skip
    layout = {
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8}, "height": 380, "showlegend": False,
        "xaxis": axis, "yaxis": axis | {"scaleanchor": "x"}, "plot_bgcolor": "rgba(0,0,0,0)",
        "paper_bgcolor": "rgba(0,0,0,0)", "template": {"data": {"scatter": [{"type": "scatter"}]}},
    }  # fmt: skip
    return {"data": data, "layout": layout}


def _examples(start: LiveStart, sign: float) -> dict[str, Any]:
    points = np.round(start.points[start.signs == sign], 3)
    second = sign > 0
    return {
        "type": "scatter", "mode": "markers", "x": points[:, 0].tolist(), "y": points[:, 1].tolist(),
        "hoverinfo": "skip",
        "marker": {"size": 5, "opacity": 0.75, "color": SECOND_CLASS if second else FIRST_CLASS,
                   "symbol": "x" if second else "circle"},
    }  # fmt: skip


def _directions(weights: np.ndarray, votes: np.ndarray, length: float, color: str, width: float) -> dict[str, Any]:
    """A line from the center for each neuron; its end is filled where the neuron votes for the second class."""
    ends = np.round(ARROW / length * weights, 3)
    x = [one for end in ends[:, 0].tolist() for one in (0.0, end, None)]
    y = [one for end in ends[:, 1].tolist() for one in (0.0, end, None)]
    symbols = [one for vote in votes for one in ("circle", "circle" if vote > 0 else "circle-open", "circle")]
    sizes = [one for _ in votes for one in (0, 8, 0)]
    return {
        "type": "scatter", "mode": "lines+markers", "x": x, "y": y, "hoverinfo": "skip",
        "line": {"color": color, "width": width},
        "marker": {"symbol": symbols, "size": sizes, "color": color, "opacity": 1},
    }  # fmt: skip
