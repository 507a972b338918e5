"""The content of a figure, independent of how it is drawn: panels of curves or of points with intervals."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

COLORS = {
    "soft": "#0072B2",
    "hard": "#D55E00",
    "teacher": "#009E73",
    "paper": "#7F7F7F",
    "other": "#CC79A7",
    "extra": "#E69F00",
    **{
        f"ramp {k}": color for k, color in enumerate(("#9ECAE1", "#6BAED6", "#4292C6", "#2171B5", "#08519C", "#08306B"))
    },
}


@dataclass(frozen=True)
class Series:
    """One curve, or one row of points: x values, y values, and where known the ends of their intervals.

    `role` sets the color; `marks` draws points without a line, `star` one that stands out; `faint` is for series in the
    background. `stems` draws a line from every point down to the axis, and a curve without `points` is a line only.
    `hover` is the text that an interactive figure shows for every point, by default its x and its y value.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    role: str = "other"
    marks: bool = False
    dashed: bool = False
    faint: bool = False
    star: bool = False
    stems: bool = False
    points: bool = True
    hover: Sequence[str] | None = None


@dataclass(frozen=True)
class Panel:
    """One coordinate system; `ticks` are the numbers written along the x axis, where there are few.

    `band` are the ends of a shaded range of values, `band_name` its entry in the legend. A `horizontal` panel has its
    categories along the y axis, the first on top, and its values along the x axis. `vertical_line` is the place of a
    line across a panel with numbers along the x axis, `y_range` the ends of its y axis; `powers` writes the numbers
    along logarithmic axes as powers of ten.
    """

    title: str
    series: Sequence[Series]
    x_label: str = ""
    y_label: str = ""
    zero_line: bool = False
    log_x: bool = False
    log_y: bool = False
    ticks: Sequence[float] | None = None
    band: tuple[float, float] | None = None
    band_name: str = ""
    horizontal: bool = False
    vertical_line: float | None = None
    y_range: tuple[float, float] | None = None
    powers: bool = False

    @property
    def categories(self) -> list[str]:
        """The categories along the x axis in order of appearance; empty for a numeric axis."""
        if not any(isinstance(x, str) for series in self.series for x in series.x):
            return []
        return list(dict.fromkeys(str(x) for series in self.series for x in series.x))

    def positions(self, series: Series) -> list[float]:
        """Positions of a series' points on the x axis; points of one category stand side by side."""
        names = self.categories
        if not names:
            return [float(x) for x in series.x]
        if not series.marks:
            return [float(names.index(str(x))) for x in series.x]
        beside = [other for other in self.series if other.marks and set(other.x) & set(series.x)]
        shift = 0.5 * ((beside.index(series) + 0.5) / len(beside) - 0.5)
        totals, so_far = Counter(series.x), Counter[float | str]()
        positions = []
        for x in series.x:
            spread = 0.4 / len(beside) * ((so_far[x] + 0.5) / totals[x] - 0.5)
            positions.append(names.index(str(x)) + shift + spread)
            so_far[x] += 1
        return positions

    def stem_foot(self, series: Series) -> float:
        """The y value at which the stems of a series begin: 0, or on a logarithmic axis a value below all of them."""
        if not self.log_y:
            return 0.0
        return self.y_range[0] if self.y_range else min((y for y in series.y if y > 0), default=1.0) / 2


@dataclass(frozen=True)
class Chart:
    """A figure: its file name (without suffix), title, a one-sentence caption, and its panels in rows.

    `row_height` is the height of a row of panels in pixels.
    """

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 2
    share_y: bool = True
    row_height: int = 290
