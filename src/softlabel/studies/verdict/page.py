"""The page of a verdict."""

from typing import TYPE_CHECKING

from softlabel.lab.cross_test import METHOD as CROSS_TEST_METHOD
from softlabel.lab.sequential import METHOD
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.pages import column_tables, interval_cell, sorted_remarks
from softlabel.studies.students.epochs import epoch_lines
from softlabel.studies.verdict.answer import advice, costs, lead, picture
from softlabel.studies.verdict.sentences import ARM_NAMES

if TYPE_CHECKING:
    from softlabel.studies.verdict.result import Verdict

COLUMNS = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "brier_score": "Brier score",
    "calibration_error": "calibration error",
    "agreement": "agreement",
    "kl": "KL",
}
ROLES = {"hard": "hard", "soft": "soft", "smooth": "extra", "transfer": "other", "augmented": "other"}


def verdict_page(verdict: "Verdict") -> Page:
    """The page: answer, arms, teacher, charts, method."""
    settings = verdict.settings
    warnings, remarks = sorted_remarks(verdict.summary[1:])
    undecided = int(verdict.verdict == "undecided")  # then the first remark says what would decide
    return Page(
        title=f"Should you distill? {verdict.verdict.capitalize()}",
        question=f"Do students {settings.family.phrase(settings.width)} learn more from soft labels than from hard "
        f"ones, beyond the noise of seeds and test rows? {settings.data}.",
        answer=[lead(verdict), *remarks[:undecided]],
        tables=[_arms_table(verdict), *_audit_tables(verdict)],
        charts=[_verdict_chart(verdict)],
        extra_tables=[*([_comparison_table(verdict)] if verdict.comparisons else []), *column_tables(verdict.facts)],
        method=_method(verdict),
        settings=settings.model_dump(mode="json"),
        picture=picture(verdict),
        advice=advice(verdict),
        costs=costs(verdict),
        warnings=warnings,
        notes=[verdict.summary[0], *remarks[undecided:]],
    )


def _arms_table(verdict: "Verdict") -> Table:
    """Every arm with its metric, other numbers and chosen settings."""
    metric = verdict.settings.metric
    columns = [name for name in COLUMNS if name != metric.replace(" ", "_")]
    rows: list[list[Cell | str]] = []
    for name, arm in verdict.arms.items():
        chosen = verdict.settings.family.words(arm.chosen)
        numbers = [f"{arm.numbers[column]:.4f}" if column in arm.numbers else "–" for column in columns]
        rows.append([Cell(ARM_NAMES[name], chosen), interval_cell(arm.mean, arm.low, arm.high, ".4f"), *numbers])
    return Table(
        "The arms",
        f"Means over {verdict.runs} seeds on {verdict.settings.test_rows:,} test rows; {metric} with its "
        f"{verdict.settings.confidence:.0%} interval over seeds and test rows. Agreement and KL are with the teacher. "
        "Outputs are calibrated on validation rows.",
        ["", metric, *(COLUMNS[column] for column in columns)],
        rows,
    )


def _comparison_table(verdict: "Verdict") -> Table:
    tones = {"no difference": "muted", "undecided": "muted"}
    return Table(
        "Other comparisons",
        "In points, at the level of the last look divided among them.",
        ["", "gap", "verdict"],
        [
            [
                f"{ARM_NAMES[c.first]} − {ARM_NAMES[c.second]}",
                interval_cell(c.mean, c.low, c.high, "+.2f"),
                Cell(c.verdict, "", tones.get(c.verdict, "good")),
            ]
            for c in verdict.comparisons
        ],
    )


def _audit_tables(verdict: "Verdict") -> list[Table]:
    audit = verdict.facts.get("audit")
    if not audit:
        return []
    rows: list[list[Cell | str]] = [
        [part, *(f"{numbers[name]:.4f}" for name in ("accuracy", "loss", "calibration_error", "entropy"))]
        for part, numbers in audit["parts"].items()
        if numbers is not None
    ]
    words = " ".join(f"{warning}." for warning in audit["warnings"]) or "No warnings."
    return [
        Table(
            "The teacher, before any student was trained",
            f"{verdict.facts['teacher']['description']}. Entropy relative to ln K. {words}",
            ["", "accuracy", "log loss", "calibration error", "entropy"],
            rows,
        )
    ]


def _verdict_chart(verdict: "Verdict") -> Chart:
    """The gap as seeds were added, and the metric of every student."""
    history = verdict.history
    seeds = [float(at.look.seeds) for at in history]
    gaps = Series(
        "soft − hard", seeds, [at.gap.mean for at in history], [at.low for at in history],
        [at.high for at in history], role="teacher", marks=True,
    )  # fmt: skip
    equivalence = verdict.settings.equivalence
    dots = []
    for arm, scores in verdict.scores.items():
        values = [verdict.settings.metric_value(float(score)) for score in scores]
        dots.append(Series(ARM_NAMES[arm], [ARM_NAMES[arm]] * len(values), values, role=ROLES[arm], marks=True))
    return Chart(
        "verdict", "The gap as seeds were added, and every seed",
        f"Left: soft − hard in points with the interval of each look ({METHOD}); the shaded range does not matter. "
        "Right: every student, the seeds of an arm side by side.",
        [
            Panel("gap", [gaps], "seeds", "points", zero_line=True, ticks=seeds,
                  band=(-equivalence, equivalence) if equivalence else None,
                  band_name=f"equivalence range, ±{equivalence:g} points"),
            Panel("students", dots, "", verdict.settings.metric),
        ],
        share_y=False,
    )  # fmt: skip


def _method(verdict: "Verdict") -> list[str]:
    settings, recipe = verdict.settings, verdict.settings.recipe
    count = len(settings.family.choices(recipe, "hard"))
    looks = ", ".join(f"{look.seeds} (may fail with {look.failure:.4f})" for look in settings.looks)
    return [
        f"Students {settings.family.phrase(settings.width)}: {settings.family.method(recipe)}; the same for every arm.",
        *epoch_lines(recipe, verdict.lengths),
        f"Choice: {count} settings per arm ({settings.family.tuned}), by mean {settings.metric} on validation rows "
        f"over {recipe.tuning_seeds} separate seeds.",
        "Test: fresh seeds, the same for every arm; test rows are read once, after the choice. Four seeds at a "
        "time share the order of their batches.",
        *_fold_lines(verdict),
        f"Sequential method: {METHOD}. Looks at {looks}: all intervals together fail with probability "
        f"{1 - settings.confidence:.3g} at most, if the gaps of seeds are roughly normal; where a few seeds fail "
        "completely, more often.",
        "Intervals combine seeds and test rows: two-way random effects, a Student interval for each, in quadrature."
        + ("" if settings.fold_rows else " Training rows and the choice of settings are fixed."),
        f"'No difference' means that the interval lies within ±{settings.equivalence:g} points.",
    ]


def _fold_lines(verdict: "Verdict") -> list[str]:
    """How every row is tested, where it is."""
    rows = verdict.settings.fold_rows
    if not rows:
        return []
    return [
        f"Cross-testing: the {sum(rows):,} rows are divided into {len(rows)} folds. Students, settings and a teacher "
        "that is trained here know nothing of the rows of the fold that tests them: they come from the other folds. "
        "The tables show the settings and the teacher of the first fold.",
        f"Error of rows: {CROSS_TEST_METHOD}.",
    ]
