"""The top of a verdict's page: the answer in one sentence, one picture, what to do and what it costs."""

from typing import TYPE_CHECKING

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.studies.pages import cost_table, kilobytes, signed, teacher_costs

if TYPE_CHECKING:
    from softlabel.studies.verdict.result import Verdict

NAMES = {
    "hard": "hard",
    "soft": "soft",
    "smooth": "smoothed",
    "transfer": "soft labels on more rows",
    "augmented": "soft labels on synthetic rows too",
}


def lead(verdict: "Verdict") -> str:
    """The answer in one sentence."""
    gap, settings = verdict.gap, verdict.settings
    students = f"students {settings.family.phrase(settings.width)}"
    confidence = f"{settings.confidence:.0%} interval {signed(gap.low)} to {signed(gap.high)}"
    gain = f"{abs(gap.mean):.1f} points of {settings.metric} ({confidence})"
    if verdict.verdict == "soft wins":
        return f"Yes, distill: {students} that learn from the teacher's soft labels gain {gain}."
    if verdict.verdict == "hard wins":
        return f"No, do not distill: {students} that learn from the teacher's soft labels lose {gain}."
    change = f"the teacher's soft labels change {settings.metric} of {students} by {signed(gap.mean)} points"
    if verdict.verdict == "no difference":
        return (
            f"No need to distill: {change} ({confidence}), which is within the ±{settings.equivalence:g} points that "
            "do not matter."
        )
    return f"Undecided: {change}, but anything from {signed(gap.low)} to {signed(gap.high)} points is plausible."


def picture(verdict: "Verdict") -> Chart:
    """The gap with its interval against the range that does not matter; below it the other comparisons."""
    settings, gap = verdict.settings, verdict.gap
    rows = [("soft − hard labels", gap.mean, gap.low, gap.high)]
    rows += [(f"{NAMES[c.first]} − {NAMES[c.second]}", c.mean, c.low, c.high) for c in verdict.comparisons]
    series = [
        Series(name, [name], [mean], [low], [high], role="paper" if number else "soft", marks=True, star=number == 0)
        for number, (name, mean, low, high) in enumerate(rows)
    ]
    equivalence = settings.equivalence
    return Chart(
        "answer",
        "The gap",
        "Difference between students on soft and on hard labels with its interval (blue). An interval right of 0 means "
        "that soft labels win, left of 0 that hard labels win; inside the shaded range the difference does not matter. "
        "Gray: other comparisons, for which the intervals are wider.",
        [
            Panel("", series, f"points of {settings.metric}", zero_line=True,
                  band=(-equivalence, equivalence) if equivalence else None,
                  band_name=f"does not matter: within ±{equivalence:g} points", horizontal=True)
        ],
        row_height=60 + 55 * len(rows),
    )  # fmt: skip


def advice(verdict: "Verdict") -> list[str]:
    """What to do."""
    settings, arms = verdict.settings, verdict.arms
    chosen = {arm: settings.family.words(result.chosen) for arm, result in arms.items()}
    plain = f"Train students on the labels of the data ({chosen['hard']})"
    lines = {
        "soft wins": [f"Train students on the teacher's soft labels ({chosen['soft']})."],
        "hard wins": [f"{plain}; no teacher is needed."],
        "no difference": [f"{plain}; a teacher brings nothing that matters here."],
        "undecided": [f"Until this is decided, hard labels are the cheaper choice: they need no teacher. {plain}."],
    }[verdict.verdict]
    smoothing = next((c for c in verdict.comparisons if (c.first, c.second) == ("soft", "smooth")), None)
    if (
        verdict.verdict == "soft wins"
        and smoothing is not None
        and smoothing.verdict in ("no difference", "smooth wins")
    ):
        lines.append("Label smoothing does as well without a teacher: consider it first.")
    lines.append(
        "To find the smallest student that is good enough, and how fast it is, use the command softlabel plan."
    )
    return lines


def costs(verdict: "Verdict") -> Table:
    """Score, size and time of a student and of the teacher."""
    facts, settings, metric = verdict.facts.get("teacher") or {}, verdict.settings, verdict.settings.metric
    student = verdict.arms["soft" if verdict.verdict == "soft wins" else "hard"]
    teacher = "–" if verdict.teacher_metric is None else f"{verdict.teacher_metric:.4f}"
    return cost_table(
        f"Score: mean {metric} of the students. Size: parameters as 4-byte numbers. The teacher's time to train "
        "includes the models that label its own training rows.",
        [
            ("student", settings.family.phrase(settings.width),
             [f"{student.mean:.4f}", f"{student.parameters:,}", kilobytes(student.parameters), "–", "–"]),
            ("teacher", "needed for soft labels only", [teacher, *teacher_costs(facts)]),
        ],
    )  # fmt: skip
