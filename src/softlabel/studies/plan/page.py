"""The page of a plan."""

from typing import TYPE_CHECKING

from softlabel.lab.statistics import Estimate
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.pages import column_tables, interval_cell, sorted_remarks
from softlabel.studies.plan.answer import advice, costs, lead, picture, promise
from softlabel.studies.plan.cells import ARMS, tuned_widths
from softlabel.studies.plan.quantize import quantized_bytes
from softlabel.studies.plan.search import ATTEMPTS
from softlabel.studies.students.epochs import epoch_lines

if TYPE_CHECKING:
    from softlabel.studies.plan.result import Plan


def plan_page(plan: "Plan") -> Page:
    """The page of a plan."""
    settings = plan.settings
    warnings, remarks = sorted_remarks(plan.summary)
    return Page(
        title=f"How small can the student be? Accuracy {settings.target:g}"
        + ("" if plan.compresses else ": no smaller than the teacher"),
        question=f"The smallest student whose fresh copies reach the target with probability ≥ {settings.share:.0%}. "
        f"{settings.data}. Teacher: {plan.facts.get('teacher', {}).get('description', settings.teacher)}.",
        answer=[lead(plan), *promise(plan)],
        tables=[_plan_table(plan)],
        charts=[_plan_chart(plan)],
        extra_tables=[_curve_table(plan), *column_tables(plan.facts)],
        method=_method(plan),
        settings=settings.model_dump(mode="json"),
        picture=picture(plan),
        advice=advice(plan),
        costs=costs(plan),
        warnings=warnings,
        notes=remarks,
    )


def _interval(plan: "Plan", estimate: Estimate) -> Cell:
    interval = plan.interval(estimate)
    return interval_cell(interval.mean, interval.low, interval.high, ".4f")


def _plan_table(plan: "Plan") -> Table:
    """The planned student of every arm."""
    settings = plan.settings
    rows: list[list[Cell | str]] = []
    for planned in plan.arms.values():
        width = Cell("none", f"best: {planned.accuracy_width}", "bad") if planned.width is None else str(planned.width)
        exported = next((e for e in plan.facts.get("exported", []) if e["arm"] == planned.arm), None)
        rows.append([
            f"{planned.arm} labels", width,
            "–" if planned.parameters is None else Cell(f"{planned.parameters:,}", planned.size.words),
            _interval(plan, planned.accuracy), f"{planned.calibration_error:.3f}",
            f"{planned.reached} of {planned.of}",
            "–" if exported is None else f"{exported['bytes']:,}",
            "–" if exported is None else Cell(f"{exported['milliseconds']:.3f}",
                                              f"{exported['milliseconds_thousand']:.2f} per thousand"),
        ])  # fmt: skip
    rival = plan.rival
    if rival is not None:
        size = quantized_bytes(rival.width, settings.inputs, settings.outputs)
        rows.append([
            Cell("hard labels, 8 bits", "same size in bytes"), str(rival.width), f"{rival.parameters:,}",
            _interval(plan, rival.accuracy), "–", f"{rival.reached} of {rival.accuracy.runs}", f"{size:,}", "–",
        ])  # fmt: skip
    return Table(
        "The plan",
        f"Target {settings.target:g} on {settings.test_rows:,} test rows. Accuracy: mean over fresh students with its "
        f"{settings.confidence:.0%} interval over seeds and test rows. Size is the ONNX file's, time the student's on "
        "this machine. Calibration error: mean difference between the stated probability and how often it is right.",
        [
            "",
            settings.family.unit,
            "parameters",
            "accuracy",
            "calibration error",
            "reached the target",
            "bytes",
            "ms per row",
        ],
        rows,
    )


def _curve_table(plan: "Plan") -> Table:
    """Every width that was tried: its students of the search and the fresh ones of its confirmation."""
    rows: list[list[Cell | str]] = []
    for arm in ARMS:
        planned = plan.arms[arm]
        searched = {point.width: point for point in plan.points(arm)}
        tried = {width: attempt for width, *attempt in planned.attempts}
        for width in sorted(searched.keys() | tried):
            row: list[Cell | str] = [arm, str(width), "–", "–", "–", "–", "–"]
            if (point := searched.get(width)) is not None:
                row[2:6] = [f"{point.parameters:,}", _interval(plan, point.accuracy),
                            f"{point.reached} of {point.students}", f"{point.limit:.4f}"]  # fmt: skip
            elif width == planned.width:
                row[2:4] = [f"{planned.parameters:,}", _interval(plan, planned.accuracy)]
            if width in tried:
                reached, of, passed = tried[width]
                row[6] = Cell(f"{reached} of {of}", *(("confirmed", "good") if passed else ("not confirmed", "bad")))
            rows.append(row)
    return Table(
        "Every size that was tried",
        f"The tolerance limit is what {plan.settings.share:.0%} of students exceed, with the stated confidence. Sizes "
        "are confirmed by fresh students; one that was not part of the search has the accuracy of these.",
        ["", plan.settings.family.unit, "parameters", "accuracy", "reached", "tolerance limit", "fresh students"],
        rows,
    )


def _plan_chart(plan: "Plan") -> Chart:
    """Error against width, and the share of students that reach the target."""
    settings = plan.settings
    series: list[Series] = []
    for arm in ARMS:
        points = plan.points(arm)
        ends = [plan.interval(point.accuracy) for point in points]
        series.append(
            Series(f"{arm} labels", [float(p.width) for p in points], [_error(p.accuracy.mean) for p in points],
                   [_error(end.high) for end in ends], [_error(end.low) for end in ends], role=arm)
        )  # fmt: skip
        width = plan.arms[arm].width
        if width is not None:
            value = _error(plan.arms[arm].accuracy.mean)
            series.append(Series(f"planned, {arm}", [float(width)], [value], role=arm, marks=True))
    reach = [float(settings.widths[0]), float(settings.limit)]
    series.append(Series("target", reach, [_error(settings.target)] * 2, role="paper", dashed=True))
    teacher = plan.facts.get("audit", {}).get("parts", {}).get("test")
    if teacher:
        series.append(Series("teacher", reach, [_error(teacher["accuracy"])] * 2, role="teacher", dashed=True))
    shares = [
        Series(f"{arm} labels", [float(p.width) for p in plan.points(arm)],
               [p.reached / p.students for p in plan.points(arm)], role=arm)
        for arm in ARMS
    ]  # fmt: skip
    unit = settings.family.unit
    return Chart(
        "plan",
        "Error against size",
        "Mean test errors over seeds with intervals over seeds and test rows; right, the share of students that reach "
        "the target.",
        [
            Panel("test error", series, unit, "error", log_x=True, log_y=True, ticks=settings.widths),
            Panel("share that reach the target", shares, unit, "share", log_x=True, ticks=settings.widths),
        ],
        share_y=False,
    )


def _error(accuracy: float) -> float:
    """For a logarithmic axis: never quite 0."""
    return max(1 - accuracy, 1e-4)


def _method(plan: "Plan") -> list[str]:
    settings, recipe = plan.settings, plan.settings.recipe
    tuned = " and ".join(str(width) for width in tuned_widths(settings))
    tried = len(settings.family.choices(recipe, "hard"))
    used = recipe.model_copy(update={"epochs": plan.length.epochs})
    lines = [
        f"Students: {settings.student}, {settings.family.method(used)}; the same for both arms. Settings ({tried} in "
        f"each arm) were chosen on validation rows at size {tuned}; other sizes take those of the nearest one.",
        *epoch_lines(recipe, [plan.length]),
        f"Search: sizes {', '.join(map(str, settings.widths))}, {settings.seeds} seeds each, then bisection. A size "
        f"passes where the lower tolerance limit (share {settings.share:.0%}) of its accuracies reaches the target.",
    ]
    if settings.confirm:
        lines.append(
            f"Confirmation: {settings.confirm} fresh students of the candidate; so few may miss that a size with a "
            f"smaller probability than {settings.share:.0%} would pass at most {1 - settings.confidence:.1%} of the "
            f"time in all (at most {ATTEMPTS} attempts, binomial test of students taken as independent)."
        )
    else:
        lines.append(
            "No confirmation: what is said rests on normal tolerance limits; the confidence is shared between the "
            "ladder (tested from its largest size down) and the bisections."
        )
    lines.append(
        "The answer is about fresh seeds on these test rows. On new rows accuracies shift by what the choice of test "
        "rows leaves open: the interval of the mean accounts for it."
    )
    if settings.student == "two-layer":
        lines.append("Four seeds at a time share the order of batches.")
    return lines
