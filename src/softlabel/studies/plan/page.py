"""A plan as JSON, in sentences, and as a page."""

from typing import Any

from softlabel.lab.statistics import Mean
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.citations import citations
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.plan.cells import ARMS, tuned_widths
from softlabel.studies.plan.judging import Judgement, Planned
from softlabel.studies.plan.quantise import float_bytes, quantised_bytes
from softlabel.studies.plan.search import ATTEMPTS
from softlabel.studies.practice.theory import theory_sentence

UNITS = {"two-layer": "neurons", "vgg": "channels", "resnet": "channels"}


def document(judged: Judgement, report: str) -> dict[str, Any]:
    """What `plan --json` prints; accuracies as shares."""
    settings = judged.settings
    return {
        "target": settings.target,
        "arms": {arm: _arm_document(judged, planned) for arm, planned in judged.arms.items()},
        "saved": _saved(judged),
        "curve": [
            {"arm": point.arm, "width": point.width, **_mean(judged, point.accuracy), "reached": point.reached,
             "students": point.students, "tolerance_limit": point.limit, "parameters": point.parameters}
            for point in judged.curve
        ],
        "fit": {
            arm: None if fit is None else vars(fit) | {"missed_by": fit.missed_by} for arm, fit in judged.fits.items()
        },
        "rival": _rival_document(judged),
        "theory": judged.facts.get("theory", {}),
        "teacher": judged.facts.get("teacher"),
        "audit": judged.facts.get("audit"),
        "exported": [path for entry in judged.facts.get("exported", []) for path in entry["files"]],
        "students": judged.facts.get("exported", []),
        "promise": {"probability": settings.share, "confidence": settings.confidence, "confirmed_by": settings.confirm},
        "warnings": [*judged.size_warnings, *judged.facts.get("warnings", [])],
        "settings": settings.model_dump(mode="json"),
        "report": report,
    }  # fmt: skip


def _mean(judged: Judgement, mean: Mean) -> dict[str, float]:
    low, high = judged.interval(mean)
    return {"mean": mean.value, "low": low, "high": high}


def _arm_document(judged: Judgement, planned: Planned) -> dict[str, Any]:
    return {
        "width": planned.width,
        "accuracy": _mean(judged, planned.accuracy),
        "accuracy_width": planned.accuracy_width,
        "parameters": planned.parameters,
        "size": planned.size.document(),
        "calibration_error": planned.calibration_error,
        "probabilities_are": planned.softening.meaning,
        "reached": planned.reached,
        "of": planned.of,
        "probability": planned.probability,
        "candidate": planned.candidate,
        "attempts": [dict(zip(("width", "reached", "of", "confirmed"), row, strict=True)) for row in planned.attempts],
        "chosen": {"step": planned.chosen.step, "temperature": planned.chosen.temperature,
                   "radius": planned.chosen.radius},
    }  # fmt: skip


def _saved(judged: Judgement) -> dict[str, Any] | None:
    hard, soft = judged.arms["hard"], judged.arms["soft"]
    if hard.width is None or soft.width is None or hard.parameters is None or soft.parameters is None:
        return None
    return {"width": hard.width - soft.width, "parameters": hard.parameters - soft.parameters,
            "share": 1 - soft.parameters / hard.parameters}  # fmt: skip


def _rival_document(judged: Judgement) -> dict[str, Any] | None:
    rival, settings = judged.rival, judged.settings
    if rival is None:
        return None
    return {
        "width": rival.width, "bits": 8, "bytes": quantised_bytes(rival.width, settings.inputs, settings.outputs),
        **_mean(judged, rival.accuracy), "float_accuracy": rival.float_accuracy, "reached": rival.reached,
        "of": rival.accuracy.runs,
    }  # fmt: skip


def summary(judged: Judgement) -> list[str]:
    """The answer in plain words."""
    lines = [_answer(judged, planned) for planned in (judged.arms["soft"], judged.arms["hard"])]
    lines += [f"Warning: {warning}." for warning in judged.size_warnings]
    saved = _saved(judged)
    if saved is not None:
        lines.append(_saving(judged, saved))
    lines += [
        _rival(judged),
        _files(judged),
        *_softened(judged),
        *_fits(judged),
        theory_sentence(judged.facts.get("theory")),
    ]
    lines += [f"Warning: {warning}." for warning in judged.facts.get("warnings", [])]
    return [line for line in lines if line]


def _answer(judged: Judgement, planned: Planned) -> str:
    settings, unit = judged.settings, UNITS[judged.settings.family]
    low, high = judged.interval(planned.accuracy)
    seen = f"{planned.accuracy.value:.4f} ({low:.4f} … {high:.4f})"
    compared = f", {planned.size.words}" if planned.size.words else ""
    size = f"{planned.arm.capitalize()} labels: {planned.width} {unit} ({planned.parameters or 0:,} parameters"
    size += f"{compared})."
    if planned.width is not None and not settings.confirm:
        return (
            f"{size} Students of this size seem to reach {settings.target:g}: {planned.reached} of the {planned.of} by "
            "which it was chosen did; nothing was confirmed by fresh students. Mean accuracy with new seeds and new "
            f"rows {seen}."
        )
    if planned.width is not None:
        below = "; on new rows it may fall short of the target" if low < settings.target else ""
        return (
            f"{size} A fresh student of this size reaches {settings.target:g} on these test rows with probability ≥ "
            f"{settings.share:.0%}, stated with {settings.confidence:.0%} confidence ({planned.reached} of "
            f"{planned.of} fresh ones did); mean accuracy with new seeds and new rows {seen}{below}."
        )
    text = (
        f"{planned.arm.capitalize()} labels: no width up to {settings.limit} {unit} is shown to reach "
        f"{settings.target:g} with probability ≥ {settings.share:.0%}. The best, {planned.accuracy_width} {unit}, has "
        f"mean accuracy {seen}; {planned.reached} of {planned.of} students reached the target"
    )
    if planned.attempts:
        tried = "; ".join(f"{width}: {reached} of {of}" for width, reached, of, _ in planned.attempts)
        text += f". Fresh students that were to confirm it: {tried}"
    return text + "."


def _saving(judged: Judgement, saved: dict[str, Any]) -> str:
    unit = UNITS[judged.settings.family]
    if saved["width"] == 0:
        return "Soft and hard labels need the same size."
    word = "save" if saved["width"] > 0 else "cost"
    return (
        f"Soft labels {word} {abs(saved['width'])} {unit}, {abs(saved['parameters']):,} parameters "
        f"({abs(saved['share']):.0%})."
    )


def _rival(judged: Judgement) -> str:
    rival, settings = judged.rival, judged.settings
    if rival is None:
        return ""
    width = judged.arms["soft"].width or judged.arms["hard"].width or 0
    size = float_bytes(width, settings.inputs, settings.outputs)
    low, high = judged.interval(rival.accuracy)
    return (
        f"Rival at the same size ({size:,} bytes): {rival.width} neurons trained on hard labels, weights in 8 bits: "
        f"{rival.accuracy.value:.4f} ({low:.4f} … {high:.4f}), {rival.reached} of {rival.accuracy.runs} reach the "
        "target."
    )


def _files(judged: Judgement) -> str:
    parts = [
        f"{entry['arm']}: {entry['files'][0]} ({entry['bytes']:,} bytes, {entry['milliseconds']:.3f} ms a row, test "
        f"accuracy {entry['accuracy']:.4f})"
        for entry in judged.facts.get("exported", [])
    ]
    if not parts:
        return ""
    teacher = (judged.facts.get("teacher") or {}).get("milliseconds")
    times = "" if teacher is None else f" The teacher takes {teacher:.3f} ms a row on this machine."
    return f"Exported, each the best of its arm on validation rows: {'; '.join(parts)}.{times}"


def _softened(judged: Judgement) -> list[str]:
    """Which arms have outputs that are no probabilities."""
    remarks = (
        planned.softening.remark(f"Students on {arm} labels", planned.calibration_error)
        for arm, planned in judged.arms.items()
    )
    return [remark for remark in remarks if remark]


def _fits(judged: Judgement) -> list[str]:
    return [
        f"Fitted curve, {arm} labels: accuracy rises from chance to {fit.top:.4f}, half of the way at {fit.half:.2g} "
        f"(power {fit.power:.2g}); at {fit.held_out}, which was held out, it misses by {100 * fit.missed_by:+.2f} "
        "points."
        for arm, fit in judged.fits.items()
        if fit is not None
    ]


def page(judged: Judgement, environment: dict[str, Any], again: str) -> Page:
    """The page of a plan."""
    settings = judged.settings
    return Page(
        title=f"How small can the student be? Accuracy {settings.target:g}"
        + ("" if judged.compresses else ": no smaller than the teacher"),
        question=f"The smallest student whose fresh copies reach the target with probability ≥ {settings.share:.0%}. "
        f"{settings.data}. Teacher: {judged.facts.get('teacher', {}).get('description', settings.teacher)}.",
        answer=summary(judged),
        tables=[_table(judged)],
        charts=[_chart(judged)],
        further_tables=[_curve_table(judged)],
        method=_method(judged),
        settings=settings.model_dump(mode="json"),
        environment=environment,
        again=again,
        citations=citations("plan"),
    )


def _interval(judged: Judgement, mean: Mean) -> Cell:
    low, high = judged.interval(mean)
    return Cell(f"{mean.value:.4f}", f"{low:.4f} … {high:.4f}")


def _table(judged: Judgement) -> Table:
    settings = judged.settings
    rows: list[list[Cell | str]] = []
    for planned in judged.arms.values():
        width = Cell("none", f"best: {planned.accuracy_width}", "bad") if planned.width is None else str(planned.width)
        exported = next((e for e in judged.facts.get("exported", []) if e["arm"] == planned.arm), None)
        rows.append([
            f"{planned.arm} labels", width,
            "–" if planned.parameters is None else Cell(f"{planned.parameters:,}", planned.size.words),
            _interval(judged, planned.accuracy), f"{planned.calibration_error:.3f}",
            f"{planned.reached} of {planned.of}",
            "–" if exported is None else f"{exported['bytes']:,}",
            "–" if exported is None else Cell(f"{exported['milliseconds']:.3f}",
                                              f"{exported['milliseconds_thousand']:.2f} a thousand"),
        ])  # fmt: skip
    rival = judged.rival
    if rival is not None:
        size = quantised_bytes(rival.width, settings.inputs, settings.outputs)
        rows.append([
            Cell("hard labels, 8 bits", "rival of the same size"), str(rival.width), f"{rival.parameters:,}",
            _interval(judged, rival.accuracy), "–", f"{rival.reached} of {rival.accuracy.runs}", f"{size:,}", "–",
        ])  # fmt: skip
    return Table(
        "The plan",
        f"Target {settings.target:g} on {settings.test_rows:,} test rows. Accuracy: mean over fresh students with its "
        f"{settings.confidence:.0%} interval over seeds and test rows. Size is the ONNX file's, time the student's on "
        "this machine. Calibration error: mean difference between the stated probability and how often it is right. "
        + " ".join(_softened(judged)),
        [
            "",
            UNITS[settings.family],
            "parameters",
            "accuracy",
            "calibration error",
            "reached the target",
            "bytes",
            "ms a row",
        ],
        rows,
    )


def _curve_table(judged: Judgement) -> Table:
    return Table(
        "Every width of the search",
        f"The tolerance limit is what {judged.settings.share:.0%} of students exceed, with the stated confidence.",
        ["", UNITS[judged.settings.family], "parameters", "accuracy", "reached", "tolerance limit"],
        [
            [point.arm, str(point.width), f"{point.parameters:,}", _interval(judged, point.accuracy),
             f"{point.reached} of {point.students}", f"{point.limit:.4f}"]
            for point in judged.curve
        ],
    )  # fmt: skip


def _chart(judged: Judgement) -> Chart:
    settings = judged.settings
    series: list[Series] = []
    for arm in ARMS:
        points = judged.points(arm)
        ends = [judged.interval(point.accuracy) for point in points]
        series.append(
            Series(f"{arm} labels", [float(p.width) for p in points], [_error(p.accuracy.value) for p in points],
                   [_error(high) for _, high in ends], [_error(low) for low, _ in ends], role=arm)
        )  # fmt: skip
        width = judged.arms[arm].width
        if width is not None:
            value = _error(judged.arms[arm].accuracy.value)
            series.append(Series(f"planned, {arm}", [float(width)], [value], role=arm, marks=True))
    reach = [float(settings.widths[0]), float(settings.limit)]
    series.append(Series("target", reach, [_error(settings.target)] * 2, role="paper", dashed=True))
    teacher = judged.facts.get("audit", {}).get("parts", {}).get("test")
    if teacher:
        series.append(Series("teacher", reach, [_error(teacher["accuracy"])] * 2, role="teacher", dashed=True))
    shares = [
        Series(f"{arm} labels", [float(p.width) for p in judged.points(arm)],
               [p.reached / p.students for p in judged.points(arm)], role=arm)
        for arm in ARMS
    ]  # fmt: skip
    unit = UNITS[settings.family]
    return Chart(
        "plan",
        "Error against width",
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


def _method(judged: Judgement) -> list[str]:
    settings, recipe = judged.settings, judged.settings.recipe
    tuned = " and ".join(str(width) for width in tuned_widths(settings))
    tried = len(recipe.temperatures) * len(recipe.steps) * len(recipe.all_radii)
    lines = [
        f"Students: {settings.family}, Adam, {recipe.epochs} epochs in batches of {recipe.batch}, {recipe.precision} "
        f"products, the same for both arms. Settings ({tried} in each arm) were chosen on validation rows at width "
        f"{tuned}; other widths take those of the nearer one.",
        f"Search: widths {', '.join(map(str, settings.widths))}, {settings.seeds} seeds each, then bisection. A width "
        f"passes where the lower tolerance limit (share {settings.share:.0%}) of its accuracies reaches the target.",
    ]
    if settings.confirm:
        lines.append(
            f"Confirmation: {settings.confirm} fresh students of the candidate; so few may miss that a width with a "
            f"smaller probability than {settings.share:.0%} would pass at most {1 - settings.confidence:.1%} of the "
            f"time in all (at most {ATTEMPTS} attempts, binomial test of students taken as independent)."
        )
    else:
        lines.append(
            "No confirmation: what is said rests on normal tolerance limits; the confidence is shared between the "
            "ladder (tested from its widest width down) and the bisections."
        )
    lines.append(
        "The answer is about fresh seeds on these test rows. On new rows accuracies shift by what the choice of test "
        "rows leaves open: the interval of the mean accounts for it."
    )
    if settings.family == "two-layer":
        lines.append("Four seeds at a time share the order of batches.")
    return lines
