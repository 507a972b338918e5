"""The charts of Table 1: the table itself, the common radius, the map, the ball, the other protocols."""

from collections.abc import Sequence

from softlabel.report.charts import Chart, Panel, Series
from softlabel.studies.table1.cells import ARMS, set_name
from softlabel.studies.table1.result import Table1Result, Table1Row


def charts(result: Table1Result) -> list[Chart]:
    """All charts of the page."""
    charts = [_table_chart(result), _radius_chart(result), _map_chart(result), _ball_chart(result)]
    if result.others:
        charts.append(_protocol_chart(result))
    return charts


def picture(result: Table1Result) -> Chart:
    """The gap by radius, mean over data sets and widths: the answer of the study."""
    gaps, band = result.mean_gaps, result.settings.equivalence
    ends = [gap.low for gap in gaps.values()], [gap.high for gap in gaps.values()]
    x = ["no limit" if radius is None else radius_name(radius) for radius in gaps]
    series = Series("soft − hard", x, [gap.mean for gap in gaps.values()], *ends, role="soft")
    panel = Panel(
        "above 0: soft labels win", [series], "how far the weights may move from their initialization (radius B)",
        "test accuracy, soft − hard (points)",
        zero_line=True, band=(-band, band), band_name=f"no difference that matters (±{band:g} points)",
    )  # fmt: skip
    caption = (
        "Gap of the test accuracy, soft − hard labels, mean over data sets and widths; both arms on the same ball "
        "around the initialization, or without one. Band around the line: 95% over seeds and test images, adjusted for "
        "the number of radii."
    )
    return Chart("gap-by-radius", "Test accuracy with soft labels minus hard labels", caption, [panel])


def _arms(rows: Sequence[Table1Row], x: Sequence[str], marks: bool) -> list[Series]:
    series = []
    for arm in ARMS:
        estimates = [row.arms[arm] for row in rows]
        low, high = zip(*(estimate.interval() for estimate in estimates), strict=True)
        means = [estimate.mean for estimate in estimates]
        series.append(Series(f"{arm} labels", x, means, low, high, role=arm, marks=marks))
    return series


def _table_chart(result: Table1Result) -> Chart:
    """Test accuracy of both arms, beside the paper's numbers."""
    panels = []
    for leave_out in result.settings.leave_out:
        rows = [row for row in result.primary if row.leave_out == leave_out]
        x = [str(row.width) for row in rows]
        series = _arms(rows, x, marks=True)
        if all(row.paper for row in rows):
            for column, arm in ((1, "hard"), (2, "soft")):
                printed = [row.paper[column] for row in rows if row.paper]
                series.append(Series(f"paper, {arm}", x, printed, role=arm, marks=True, faint=True))
        teacher = rows[0].teacher.mean
        series.append(Series("our teacher", x, [teacher] * len(x), role="teacher", dashed=True))
        panels.append(Panel(set_name(leave_out), series, "neurons of the student", "test accuracy, %"))
    caption = (
        "Each arm with the settings it chose on validation data. Bars: 95% over seeds and test images. "
        "Diamonds: the paper."
    )
    return Chart("table1", "Test accuracy against the paper", caption, panels)


def _common_rows(result: Table1Result, leave_out: tuple[int, ...], width: int) -> list[Table1Row]:
    return [row for row in result.common if (row.leave_out, row.width) == (leave_out, width)]


def _radius_chart(result: Table1Result) -> Chart:
    panels = []
    for leave_out, width in result.settings.cases:
        rows = _common_rows(result, leave_out, width)
        x = [radius_name(row.chosen["hard"].radius) for row in rows]
        title = f"{set_name(leave_out)}, {width} neurons"
        panels.append(Panel(title, _arms(rows, x, marks=False), "radius B", "test accuracy, %"))
    caption = (
        "Both arms on the same ball around the initialization; 'none' is without projection. "
        "Bands and bars: 95% over seeds and test images."
    )
    return Chart("common-radius", "Both arms on the same ball", caption, panels, columns=len(result.settings.widths))


def _map_chart(result: Table1Result) -> Chart:
    panels = []
    for leave_out, width in result.settings.cases:
        series = []
        for index, (name, means) in enumerate(result.map(leave_out, width).items()):
            x = [radius_name(radius) for radius in means]
            role = "hard" if name == "hard" else f"ramp {min(5, index - 1)}"
            series.append(Series(name, x, list(means.values()), role=role, dashed=name == "hard"))
        panels.append(Panel(f"{set_name(leave_out)}, {width} neurons", series, "radius B", "validation accuracy, %"))
    caption = "Validation accuracy of the best learning rate, mean over the tuning seeds, by radius and temperature T."
    return Chart("map", "The map: radius, temperature, width", caption, panels, columns=len(result.settings.widths))


def _ball_chart(result: Table1Result) -> Chart:
    panels = []
    for leave_out in result.settings.leave_out:
        series = []
        for arm in ARMS:
            for index, width in enumerate(result.settings.widths):
                rows = _common_rows(result, leave_out, width)
                rows = [row for row in rows if row.chosen["hard"].radius is not None]
                x = [radius_name(row.chosen["hard"].radius) for row in rows]
                y = [100 * row.on_the_ball[arm] for row in rows]
                series.append(Series(f"{arm}, {width} neurons", x, y, role=arm, dashed=index == 1, faint=index == 2))
        panels.append(Panel(set_name(leave_out), series, "radius B", "neurons on the ball, %"))
    caption = "Share of the neurons on the boundary of their ball after training, with one radius for both arms."
    return Chart("on-the-ball", "Where the radius constrains the neurons", caption, panels)


def _protocol_chart(result: Table1Result) -> Chart:
    panels = []
    for rows in zip(result.primary, *result.others, strict=True):
        x = [row.protocol.replace("trainable-output", "tr. output") for row in rows]
        series = _arms(rows, x, marks=True)
        paper = rows[0].paper
        if paper is not None:
            for arm, number in (("hard", paper[1]), ("soft", paper[2])):
                series.append(Series(f"paper, {arm}", x, [number] * len(x), role=arm, dashed=True, faint=True))
        panels.append(Panel(f"{rows[0].dataset}, {rows[0].width} neurons", series, "", "test accuracy, %"))
    caption = (
        "Every protocol chose its settings on validation data, from equally many in both arms. "
        "Dashed: the paper's cells."
    )
    return Chart(
        "protocols", "Other protocols compared with the paper", caption, panels, columns=len(result.settings.widths)
    )


def radius_name(radius: float | None) -> str:
    """A radius in words."""
    return "none" if radius is None else f"{radius:g}"
