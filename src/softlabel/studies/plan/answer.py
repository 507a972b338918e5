"""The top of a plan's page: the answer in one sentence, one picture, what to do and what it costs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.studies.pages import cost_table, milliseconds, teacher_costs
from softlabel.studies.plan.cells import ARMS

if TYPE_CHECKING:
    from softlabel.studies.plan.result import Plan, PlannedArm


def recommended(plan: "Plan") -> "PlannedArm | None":
    """The smaller of the planned students; hard labels at equal sizes, since they need no teacher."""
    planned = [arm for arm in (plan.hard, plan.soft) if arm.width is not None]
    return min(planned, key=lambda arm: arm.parameters or 0, default=None)


def lead(plan: "Plan") -> str:
    """The answer in one sentence."""
    settings, best = plan.settings, recommended(plan)
    unit = settings.family.unit
    if best is None:
        nearest = max(plan.arms.values(), key=lambda arm: arm.accuracy.mean)
        start = f"No student of up to {settings.limit} {unit} is shown to reach accuracy {settings.target:g}"
        best_size = f"{nearest.accuracy_width} {unit} on {nearest.arm} labels"
        if nearest.accuracy.mean < settings.target:
            return f"{start}: the best, {best_size}, have {nearest.accuracy.mean:.4f} on average."
        return (
            f"{start} reliably: {nearest.reached} of {nearest.of} students of the best size, {best_size}, did, which "
            f"is too little evidence for a probability of at least {settings.share:.0%}."
        )
    ratio = best.size.ratio
    smaller = f", {1 / ratio:.3g} times fewer than the teacher" if ratio is not None and ratio < 1 else ""
    verb = "reaches" if settings.confirm else "appears to reach"
    text = (
        f"A student of {best.width} {unit} ({best.parameters:,} parameters{smaller}) {verb} accuracy "
        f"{settings.target:g} when it learns from {best.arm} labels"
    )
    other = plan.hard if best.arm == "soft" else plan.soft
    if other.width is None:
        return f"{text}; on {other.arm} labels no student of up to {settings.limit} {unit} is shown to."
    if other.width == best.width:
        return f"{text}, and needs the same size on {other.arm} labels."
    return f"{text}; on {other.arm} labels it takes {other.width} {unit}."


def promise(plan: "Plan") -> list[str]:
    """What exactly is promised of the recommended student."""
    settings, best = plan.settings, recommended(plan)
    if best is None:
        return []
    accuracy = plan.interval(best.accuracy)
    mean = f"mean accuracy {accuracy.mean:.4f} ({accuracy.low:.4f} to {accuracy.high:.4f} with new seeds and new rows)"
    if not settings.confirm:
        return [
            f"{best.reached} of the {best.of} students by which this size was chosen reached the target, {mean}; no "
            "fresh students confirmed it."
        ]
    return [
        f"A newly trained student reaches the target on these test rows with probability of at least "
        f"{settings.share:.0%} (stated with {settings.confidence:.0%} confidence: {best.reached} of {best.of} fresh "
        f"students did); {mean}."
    ]


def picture(plan: "Plan") -> Chart:
    """Accuracy against size, the chosen student marked."""
    settings, best = plan.settings, recommended(plan)
    series = []
    for arm in ARMS:
        points = plan.points(arm)
        ends = [plan.interval(point.accuracy) for point in points]
        series.append(
            Series(f"{arm} labels", [float(p.width) for p in points], [p.accuracy.mean for p in points],
                   [end.low for end in ends], [end.high for end in ends], role=arm)
        )  # fmt: skip
    reach = [float(settings.widths[0]), float(settings.limit)]
    series.append(Series(f"target {settings.target:g}", reach, [settings.target] * 2, role="paper", dashed=True))
    teacher = plan.facts.get("audit", {}).get("parts", {}).get("test")
    if teacher:
        series.append(Series("teacher", reach, [teacher["accuracy"]] * 2, role="teacher", dashed=True))
    if best is not None and best.width is not None:
        name = f"chosen: {best.width} {settings.family.unit}, {best.arm} labels"
        series.append(Series(name, [float(best.width)], [best.accuracy.mean], role=best.arm, marks=True, star=True))
    return Chart(
        "answer",
        "Accuracy and size",
        "Mean test accuracy of students of each size, with intervals over seeds and test rows. "
        + ("The star is the smallest student that reaches the target." if best else "No size reaches the target."),
        [Panel("", series, f"size ({settings.family.unit})", "test accuracy", log_x=True, ticks=settings.widths)],
        row_height=330,
    )


def advice(plan: "Plan") -> list[str]:
    """What to do."""
    best = recommended(plan)
    if best is None:
        return [
            "Allow larger students, train more of each size (more seeds), accept a lower accuracy, or use the teacher.",
            "The command softlabel doctor, applied to the directory of this run, names known mistakes.",
        ]
    entry = _exported(plan, best.arm)
    lines = []
    if entry is not None:
        name = Path(entry["files"][0]).name
        lines.append(f"Use students/{name} of this run, the best of its kind on validation rows: its test accuracy is "
                     f"{entry['accuracy']:.4f}.")  # fmt: skip
    saved = plan.saved
    if saved is not None and saved["width"] > 0:
        lines.append(f"Soft labels save {saved['parameters']:,} parameters ({saved['share']:.0%}) against hard ones.")
    elif saved is not None:
        lines.append("Hard labels do it with a student that is no larger, and need no teacher.")
    rival = plan.rival
    if rival is not None:
        count = f"{rival.reached} of {rival.accuracy.runs}"
        lines.append(
            f"Another way to save the same bytes: {rival.width} neurons on hard labels with 8-bit weights have mean "
            f"accuracy {rival.accuracy.mean:.4f}; {count} reach the target."
        )
    return lines


def _exported(plan: "Plan", arm: str) -> dict[str, Any] | None:
    return next((entry for entry in plan.facts.get("exported", []) if entry["arm"] == arm and entry.get("files")), None)


def costs(plan: "Plan") -> Table:
    """Score, size and time of the students and of the teacher."""
    columns = []
    for planned in plan.arms.values():
        entry = _exported(plan, planned.arm) or {}
        size = f"{planned.accuracy_width} {plan.settings.family.unit}"
        values = [
            f"{planned.accuracy.mean:.4f}", f"{planned.parameters:,}" if planned.parameters else "–",
            f"{entry['bytes'] / 1000:,.1f} kB" if "bytes" in entry else "–",
            milliseconds(entry.get("milliseconds")), "–",
        ]  # fmt: skip
        remark = size if planned.width is not None else f"{size}: the best, not confirmed"
        columns.append((f"{planned.arm} labels", remark, values))
    audit = plan.facts.get("audit", {}).get("parts", {}).get("test")
    teacher = [f"{audit['accuracy']:.4f}" if audit else "–", *teacher_costs(plan.facts.get("teacher") or {})]
    return cost_table(
        "Score: mean accuracy of the students. Size: of the ONNX file, for the teacher its parameters as 4-byte "
        "numbers. Time: for one row on this machine. The teacher's time to train includes the models that label its "
        "own training rows.",
        [*columns, ("teacher", "for soft labels only", teacher)],
    )
