"""A verdict as JSON, in sentences, and as a page."""

from typing import Any

from softlabel.lab.sequential import METHOD
from softlabel.lab.statistics import Mean
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.citations import citations
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.practice.theory import theory_sentence
from softlabel.studies.verdict.judging import ArmFound, Judgement

COLUMNS = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
    "agreement": "agreement",
    "kl": "KL",
}
ROLES = {"hard": "hard", "soft": "soft", "smooth": "extra", "transfer": "other"}
NAMES = {
    "hard": "hard labels",
    "soft": "soft labels",
    "smooth": "smoothed labels",
    "transfer": "soft labels, more rows",
}


def document(judged: Judgement, report: str) -> dict[str, Any]:
    """What `verdict --json` prints; gaps in points, metrics as they are (the log loss as loss)."""
    at = judged.standing
    return {
        "verdict": at.verdict,
        "gap": {"mean": at.gap.value, "low": at.low, "high": at.high, "failure": at.look.failure},
        "arms": {arm: _arm_document(judged, found) for arm, found in judged.arms.items()},
        "runs": judged.runs,
        "runs_needed": at.needed,
        "test_rows_needed": at.rows,
        "test_rows": {"rows": judged.settings.test_rows, "half_width": at.examples, "needed": at.rows},
        "metric": judged.settings.metric,
        "margin": judged.settings.margin,
        "method": METHOD,
        "looks": [
            {"seeds": look.look.seeds, "mean": look.gap.value, "low": look.low, "high": look.high,
             "verdict": look.verdict}
            for look in judged.history
        ],
        "comparisons": [vars(comparison) for comparison in judged.comparisons],
        "teacher": {"metric": shown(judged, judged.teacher_score), **judged.facts.get("teacher", {})},
        "size": judged.size.document(),
        "audit": judged.facts.get("audit"),
        "theory": judged.facts.get("theory"),
        "warnings": warnings(judged),
        "settings": judged.settings.model_dump(mode="json"),
        "report": report,
    }  # fmt: skip


def _arm_document(judged: Judgement, found: ArmFound) -> dict[str, Any]:
    ends = _ends(judged, found.metric)
    return {
        "mean": shown(judged, found.metric.value), "low": ends[0], "high": ends[1], **found.numbers,
        "validation": shown(judged, found.numbers["validation"]),
        "parameters": found.parameters,
        "probabilities_are": found.chosen.softening.meaning,
        "chosen": {"step": found.chosen.step, "temperature": found.chosen.temperature,
                   "smoothing": found.chosen.smoothing, "radius": found.chosen.radius},
    }  # fmt: skip


def _ends(judged: Judgement, mean: Mean) -> list[float]:
    """Both ends of an arm's interval as people know the metric; shares stay between 0 and 1."""
    ends = sorted(shown(judged, value) or 0.0 for value in mean.interval(judged.settings.confidence))
    return ends if judged.settings.metric == "log loss" else [min(max(end, 0.0), 1.0) for end in ends]


def shown(judged: Judgement, value: float | None) -> float | None:
    """The metric as people know it: scores of the log loss are its negative."""
    return -value if value is not None and judged.settings.metric == "log loss" else value


def summary(judged: Judgement) -> list[str]:
    """The answer in plain words."""
    at, settings = judged.standing, judged.settings
    gap = f"soft − hard {at.gap.value:+.2f} points of {settings.metric} ({at.low:+.2f} … {at.high:+.2f})"
    if settings.metric == "log loss":
        gap += " (positive: soft labels lose less)"
    about = f"{gap}, {judged.runs} paired seeds, {settings.test_rows:,} test rows, students of {settings.width} neurons"
    words = {
        "soft wins": "Yes, distil: soft labels win",
        "hard wins": "No, do not distil: hard labels win",
        "no difference": f"No, distilling does not help here: no difference beyond ±{settings.margin:g} points",
        "undecided": "Undecided",
    }
    lines = [f"{words[at.verdict]}. {about}."]
    if judged.size_warning is not None:
        lines.append(f"Warning: {judged.size_warning}.")
    if at.verdict == "undecided":
        lines.append(_more(judged))
    lines += [
        _smoothing(judged),
        *_transfer(judged),
        _fidelity(judged),
        *_softened(judged),
        _cost(judged),
        theory_sentence(judged.facts.get("theory")),
    ]
    lines += [f"Warning: {warning}." for warning in judged.facts.get("warnings", [])]
    return [line for line in lines if line]


def warnings(judged: Judgement) -> list[str]:
    """Of the sizes, the data and the teacher."""
    size = [] if judged.size_warning is None else [judged.size_warning]
    return [*size, *judged.facts.get("warnings", [])]


def _more(judged: Judgement) -> str:
    at = judged.standing
    if at.rows is not None:
        return (
            f"More seeds would not decide it: the choice of {judged.settings.test_rows:,} test rows alone leaves "
            f"±{at.examples:.2f} points open, as measured by {judged.runs} seeds; if gap and spread stay as they are, "
            f"about {at.rows:,} test rows would decide."
        )
    assert at.needed is not None
    return (
        f"If gap and spread stay as they are, {at.needed} seeds would decide, {at.needed - judged.runs} more; the test "
        f"rows are enough for that (their choice leaves ±{at.examples:.2f} points open)."
    )


def _smoothing(judged: Judgement) -> str:
    found = next((c for c in judged.comparisons if (c.first, c.second) == ("soft", "smooth")), None)
    if found is None:
        return ""
    why = {
        "soft wins": "the teacher's knowledge counts, not softness alone",
        "smooth wins": "plain label smoothing does better, without a teacher",
        "no difference": "label smoothing does the same without a teacher",
        "undecided": "whether label smoothing would do the same is open",
    }
    return f"Against label smoothing: {found.mean:+.2f} ({found.low:+.2f} … {found.high:+.2f}); {why[found.verdict]}."


def _transfer(judged: Judgement) -> list[str]:
    return [
        f"With the teacher's labels on unlabelled rows too, against {NAMES[found.second]}: {found.mean:+.2f} "
        f"({found.low:+.2f} … {found.high:+.2f}); {found.verdict}."
        for found in judged.comparisons
        if found.first == "transfer"
    ]


def _fidelity(judged: Judgement) -> str:
    soft, hard = judged.arms["soft"].numbers, judged.arms["hard"].numbers
    text = (
        "Calibration error (mean difference between the stated probability of the predicted class and how often it is "
        f"right): soft {soft['calibration_error']:.3f}, hard {hard['calibration_error']:.3f}"
    )
    if "agreement" in soft:
        text += f"; agreement with the teacher: soft {soft['agreement']:.1%}, hard {hard['agreement']:.1%}"
    return text + "."


def _softened(judged: Judgement) -> list[str]:
    """Which arms have outputs that are no probabilities."""
    remarks = (
        found.chosen.softening.remark(f"Students of the arm '{NAMES[arm]}'", found.numbers["calibration_error"])
        for arm, found in judged.arms.items()
        if arm != "smooth"  # there for comparison alone
    )
    return [remark for remark in remarks if remark]


def _cost(judged: Judgement) -> str:
    facts = judged.facts.get("teacher")
    if not facts:
        return ""
    text = f"The teacher ({facts['description']}) took {facts['seconds']:.1f} s to make ready and ask"
    if judged.teacher_score is not None:
        text += f" and has {judged.settings.metric} {shown(judged, judged.teacher_score):.4f} on the test rows"
    if facts.get("parameters"):
        text += f"; it has {facts['parameters']:,} parameters, a student {judged.arms['soft'].parameters:,}"
    return text + "; hard labels need none of this."


def page(judged: Judgement, environment: dict[str, Any], again: str) -> Page:
    """The page of a verdict."""
    settings = judged.settings
    return Page(
        title=f"Should you distil? {judged.standing.verdict.capitalize()}",
        question=f"Do students of {settings.width} neurons learn more from soft labels than from hard ones, beyond the "
        f"noise of seeds and test rows? {settings.data}.",
        answer=summary(judged),
        tables=[_arms_table(judged), *_audit_tables(judged)],
        charts=_charts(judged),
        further_tables=[_comparison_table(judged)] if judged.comparisons else [],
        method=_method(judged),
        settings=settings.model_dump(mode="json"),
        environment=environment,
        again=again,
        citations=citations("verdict"),
    )


def _interval(judged: Judgement, mean: Mean) -> Cell:
    ends = _ends(judged, mean)
    return Cell(f"{shown(judged, mean.value):.4f}", f"{ends[0]:.4f} … {ends[1]:.4f}")


def _arms_table(judged: Judgement) -> Table:
    known = judged.settings.metric.replace(" ", "_")
    columns = [name for name in COLUMNS if name != known]
    rows: list[list[Cell | str]] = []
    for arm, found in judged.arms.items():
        chosen = f"step {found.chosen.step:g}"
        chosen += f", T = {found.chosen.temperature:g}" if arm in ("soft", "transfer") else ""
        chosen += f", smoothing {found.chosen.smoothing:g}" if arm == "smooth" else ""
        chosen += f", B = {found.chosen.radius:g}" if found.chosen.radius is not None else ""
        numbers = [f"{found.numbers[name]:.4f}" if name in found.numbers else "–" for name in columns]
        rows.append([Cell(NAMES[arm], chosen), _interval(judged, found.metric), *numbers])
    return Table(
        "The arms",
        f"Means over {judged.runs} seeds on {judged.settings.test_rows:,} test rows; {judged.settings.metric} with its "
        f"{judged.settings.confidence:.0%} interval over seeds and test rows. Agreement and KL are with the teacher. "
        + " ".join(_softened(judged)),
        ["", judged.settings.metric, *(COLUMNS[name] for name in columns)],
        rows,
    )


def _comparison_table(judged: Judgement) -> Table:
    tones = {"no difference": "muted", "undecided": "muted"}
    return Table(
        "Comparisons on the side",
        "In points, at the level of the last look divided among them.",
        ["", "gap", "verdict"],
        [
            [
                f"{NAMES[c.first]} − {NAMES[c.second]}",
                Cell(f"{c.mean:+.2f}", f"{c.low:+.2f} … {c.high:+.2f}"),
                Cell(c.verdict, "", tones.get(c.verdict, "good")),
            ]
            for c in judged.comparisons
        ],
    )


def _audit_tables(judged: Judgement) -> list[Table]:
    audit = judged.facts.get("audit")
    if not audit:
        return []
    rows: list[list[Cell | str]] = [
        [part, *(f"{found[name]:.4f}" for name in ("accuracy", "loss", "calibration_error", "entropy"))]
        for part, found in audit["parts"].items()
        if found is not None
    ]
    words = " ".join(f"{warning}." for warning in audit["warnings"]) or "Nothing to warn of."
    return [
        Table(
            "The teacher, before anything was trained",
            f"{judged.facts['teacher']['description']}. Entropy relative to ln K. {words}",
            ["", "accuracy", "log loss", "calibration error", "entropy"],
            rows,
        )
    ]


def _charts(judged: Judgement) -> list[Chart]:
    looks = judged.history
    seeds = [float(look.look.seeds) for look in looks]
    gaps = Series(
        "soft − hard", seeds, [look.gap.value for look in looks], [look.low for look in looks],
        [look.high for look in looks], role="extra",
    )  # fmt: skip
    margin = judged.settings.margin
    edges = [
        Series("equivalence margin", [seeds[0], seeds[-1]], [side, side], role="paper", dashed=True)
        for side in (margin, -margin)
    ][: 2 if len(seeds) > 1 else 0]
    dots = [
        Series(NAMES[arm], [NAMES[arm]] * len(values), [shown(judged, float(v)) or 0.0 for v in values],
               role=ROLES[arm], marks=True)
        for arm, values in judged.scores.items()
    ]  # fmt: skip
    return [
        Chart(
            "verdict", "The gap as seeds were added, and every seed",
            f"Left: soft − hard in points with the interval of each look ({METHOD}). Right: every student.",
            [
                Panel("gap", [gaps, *edges], "seeds", "points", zero_line=True, ticks=seeds),
                Panel("students", dots, "", judged.settings.metric),
            ],
            share_y=False,
        )
    ]  # fmt: skip


def _method(judged: Judgement) -> list[str]:
    settings = judged.settings
    recipe = settings.recipe
    tried = len(recipe.temperatures) * len(recipe.steps) * len(recipe.all_radii)
    looks = ", ".join(f"{look.seeds} (may fail with {look.failure:.4f})" for look in judged.looks)
    return [
        f"Students: two layers, {settings.width} neurons, biases and output layer trained, Adam with a step that falls "
        f"to 0 by a cosine, {recipe.epochs} epochs in batches of {recipe.batch}; "
        f"{recipe.precision} products; the same for every arm.",
        f"Choice: {tried} settings in each arm (soft: temperature × step, smoothing: smoothing × step, hard: steps), "
        f"by mean {settings.metric} on validation rows over {recipe.tuning_seeds} seeds of their own.",
        "Test: fresh seeds, the same for every arm; test rows are read once, after the choice. Four seeds at a "
        "time share the order of their batches.",
        f"Sequential method: {METHOD}. Looks at {looks}: all intervals together fail with probability "
        f"{1 - settings.confidence:.3g} at most, if gaps of seeds are roughly normal; where seeds fail rarely and far "
        "off, more often.",
        "Intervals join seeds and test rows: two-way random effects, a Student interval for each, in quadrature. "
        "Training rows and the choice of settings are held fixed.",
        f"'No difference' means that the interval lies within ±{settings.margin:g} points.",
    ]
