"""The figures of Table 1: the table itself, the common radius, the map, the ball, the other protocols."""

from collections.abc import Sequence

from softlabel.report.charts import Chart, Panel, Series
from softlabel.studies.table1.cells import ARMS, set_name
from softlabel.studies.table1.judging import Judgement, Row


def charts(judged: Judgement) -> list[Chart]:
    charts = [_table_chart(judged), _radius_chart(judged), _map_chart(judged), _ball_chart(judged)]
    if judged.further:
        charts.append(_protocol_chart(judged))
    return charts


def _arms(rows: Sequence[Row], x: Sequence[str], marks: bool) -> list[Series]:
    series = []
    for arm in ARMS:
        means = [row.arms[arm] for row in rows]
        ends = [mean.interval() for mean in means]
        low, high = [end[0] for end in ends], [end[1] for end in ends]
        values = [mean.value for mean in means]
        series.append(Series(f"{arm} labels", x, values, low, high, role=arm, marks=marks))
    return series


def _table_chart(judged: Judgement) -> Chart:
    panels = []
    for leave_out in judged.settings.leave_out:
        rows = [row for row in judged.primary if row.leave_out == leave_out]
        x = [str(row.width) for row in rows]
        series = _arms(rows, x, marks=True)
        if all(row.paper for row in rows):
            for place, arm in ((1, "hard"), (2, "soft")):
                printed = [row.paper[place] for row in rows if row.paper]
                series.append(Series(f"paper, {arm}", x, printed, role=arm, marks=True, faint=True))
        teacher = rows[0].teacher.value
        series.append(Series("our teacher", x, [teacher] * len(x), role="teacher", dashed=True))
        panels.append(Panel(set_name(leave_out), series, "neurons of the student", "test accuracy, %"))
    caption = (
        "Each arm with its own settings, chosen on validation data. Bars: 95% over seeds and test images. "
        "Diamonds: the paper."
    )
    return Chart("table1", "Test accuracy against the paper", caption, panels)


def _radius_chart(judged: Judgement) -> Chart:
    panels = []
    for leave_out in judged.settings.leave_out:
        for width in judged.settings.widths:
            rows = [row for row in judged.common if (row.leave_out, row.width) == (leave_out, width)]
            x = [radius_name(row.chosen["hard"].radius) for row in rows]
            panels.append(
                Panel(
                    f"{set_name(leave_out)}, {width} neurons",
                    _arms(rows, x, marks=False),
                    "radius B",
                    "test accuracy, %",
                )
            )
    caption = (
        "Both arms on the same ball round the start; 'none' is without projection. "
        "Bands and bars: 95% over seeds and test images."
    )
    return Chart("common-radius", "The radius decides", caption, panels, columns=len(judged.settings.widths))


def _map_chart(judged: Judgement) -> Chart:
    panels = []
    for leave_out in judged.settings.leave_out:
        for width in judged.settings.widths:
            series = []
            found = judged.map(leave_out, width)
            for place, (name, values) in enumerate(found.items()):
                x = [radius_name(radius) for radius in values]
                role = "hard" if name == "hard" else f"ramp {min(5, place - 1)}"
                series.append(Series(name, x, list(values.values()), role=role, dashed=name == "hard"))
            panels.append(
                Panel(f"{set_name(leave_out)}, {width} neurons", series, "radius B", "validation accuracy, %")
            )
    caption = "Validation accuracy of the best step, on average over the tuning seeds, by radius and temperature T."
    return Chart("map", "The map: radius, temperature, width", caption, panels, columns=len(judged.settings.widths))


def _ball_chart(judged: Judgement) -> Chart:
    panels = []
    for leave_out in judged.settings.leave_out:
        series = []
        for arm in ARMS:
            for place, width in enumerate(judged.settings.widths):
                rows = [
                    row
                    for row in judged.common
                    if (row.leave_out, row.width) == (leave_out, width) and row.chosen["hard"].radius is not None
                ]
                x = [radius_name(row.chosen["hard"].radius) for row in rows]
                y = [100 * row.on_the_ball[arm] for row in rows]
                series.append(Series(f"{arm}, {width} neurons", x, y, role=arm, dashed=place == 1, faint=place == 2))
        panels.append(Panel(set_name(leave_out), series, "radius B", "neurons held by the ball, %"))
    caption = "Share of neurons at the edge of their ball after training, with one radius for both arms."
    return Chart("on-the-ball", "Where the radius binds", caption, panels)


def _protocol_chart(judged: Judgement) -> Chart:
    panels = []
    for leave_out in judged.settings.leave_out:
        for width in judged.settings.widths:
            rows = [
                next(row for row in rows if (row.leave_out, row.width) == (leave_out, width))
                for rows in (judged.primary, *judged.further)
            ]
            x = [row.protocol.replace("trainable-output", "tr. output") for row in rows]
            series = _arms(rows, x, marks=True)
            for place, arm in ((1, "hard"), (2, "soft")):
                if rows[0].paper is not None:
                    series.append(
                        Series(f"paper, {arm}", x, [rows[0].paper[place]] * len(x), role=arm, dashed=True, faint=True)
                    )
            panels.append(Panel(f"{set_name(leave_out)}, {width} neurons", series, "", "test accuracy, %"))
    caption = (
        "Every protocol chose its settings on validation data, with equal budgets in both arms. "
        "Dashed: the paper's cells."
    )
    return Chart("protocols", "How near other protocols come", caption, panels, columns=len(judged.settings.widths))


def radius_name(radius: float | None) -> str:
    """A radius in words."""
    return "none" if radius is None else f"{radius:g}"
