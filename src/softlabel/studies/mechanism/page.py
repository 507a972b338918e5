"""The page of the study of the mechanism."""

from softlabel.lab.statistics import Interval, student_interval
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.mechanism.result import RATIOS, MechanismResult, MechanismRow
from softlabel.studies.mechanism.settings import ALL
from softlabel.studies.pages import interval_cell, written_before

QUESTION = "The papers explain the smaller need of soft labels by weights that stay near their initialization. Do they?"
ROLES = {
    "hard": "hard",
    "soft": "soft",
    "overconfident": "other",
    "underconfident": "extra",
    "corrupted": "paper",
    "kernel limit": "teacher",
}
TITLES = {
    "displacement": "displacement (√m × root mean square)",
    "flipped": "flipped activations, share",
    "kernel": "drift of the gradient kernel, relative",
    "margin": "margin γ_m of the features",
    "cosine": "cosine with U",
    "multiple": "multiple of U",
}


def mechanism_page(result: MechanismResult) -> Page:
    """The page of a run."""
    from softlabel.studies.mechanism.study import MechanismStudy

    settings = result.settings
    return Page(
        title="Does training with soft labels stay near its initialization?",
        question=QUESTION,
        answer=result.summary,
        picture=_chart(result, "displacement", ("displacement", "flipped"), None),
        tables=[_ratio_table(result)],
        charts=[
            _chart(result, "features", ("kernel", "margin"), None),
            _chart(result, "direction", ("cosine", "multiple"), None),
            _chart(result, "ball", ("displacement", "flipped"), settings.radius),
        ],
        extra_tables=[_end_table(result)],
        method=[
            written_before(MechanismStudy),
            f"Students: {settings.width} neurons, {settings.rows} rows drawn anew for each of {settings.runs} seeds, "
            f"learning rate {settings.learning_rate:g}, {settings.iterations:,} full-batch steps. Teachers: 512 "
            f"neurons, trained on {settings.teacher_rows * 5 // 6:,} rows; their logits are scaled to a root mean "
            f"square of {settings.label_scale:g}, times {settings.miscalibration:g} (overconfident) or divided by it "
            f"(underconfident); {settings.corrupted:.0%} of the labels of a corrupted teacher have the wrong sign.",
            f"The ball has radius {settings.radius:g}. Intervals are over seeds, adjusted for {result.comparisons} "
            "comparisons in the table; the primary endpoint is not adjusted.",
        ],
        settings=settings.model_dump(mode="json"),
    )


def _ball(row: MechanismRow) -> str:
    return "no ball" if row.radius is None else f"B = {row.radius:g}"


def _cell(value: Interval | None) -> Cell:
    return Cell("–") if value is None else interval_cell(value.mean, value.low, value.high)


def _ratio_table(result: MechanismResult) -> Table:
    rows: list[list[Cell | str]] = [
        [Cell(row.labels, f"{row.dataset}, {_ball(row)}"), *(_cell(getattr(row, name)) for name in RATIOS)]
        for row in result.rows
        if row.labels != "hard"
    ]
    header = [
        "labels",
        "displacement",
        "flipped",
        "kernel drift",
        f"displacement at {result.settings.matched_error:.0%} error",
    ]
    about = (
        "Ratios to hard labels of the same seeds, geometric means with "
        f"{result.settings.confidence:.0%} intervals over seeds, adjusted for {result.comparisons} comparisons; below "
        "1 is nearer."
    )
    return Table("How far, relative to hard labels", about, header, rows)


def _end_table(result: MechanismResult) -> Table:
    names = ("error", *TITLES)
    rows: list[list[Cell | str]] = [
        [
            Cell(row.labels, f"{row.dataset}, {_ball(row)}"),
            *(f"{row.end[name]:.3g}" for name in names),
            f"{row.test:.2f}",
        ]
        for row in result.rows
    ]
    header = ["labels", "training error", *TITLES.values(), "test accuracy, %"]
    return Table("At the end", "Means over seeds.", header, rows)


def _chart(result: MechanismResult, name: str, measures: tuple[str, str], radius: float | None) -> Chart:
    panels = []
    for measure in measures:
        series = []
        for row in result.rows:
            if row.dataset == ALL and row.radius == radius:
                numbers = student_interval(result.curves(row, measure), result.settings.confidence)
                mean, low, high = (values.tolist() for values in numbers)
                series.append(Series(row.labels, result.steps, mean, low, high, role=ROLES[row.labels]))
        panels.append(Panel(TITLES[measure], series, "steps", ""))
    where = "without a ball" if radius is None else f"on a ball of radius {radius:g}"
    titles = {
        "displacement": "How far the weights move",
        "features": "What happens to the features",
        "direction": "Along the direction of the theory",
        "ball": "On a ball that binds",
    }
    confidence = f"{result.settings.confidence:.0%}"
    caption = f"Means over {result.settings.runs} seeds with {confidence} intervals over seeds, all digits, {where}."
    return Chart(name, titles[name], caption, panels, share_y=False)
