"""The page of a study of conditions."""

from collections.abc import Sequence

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.conditions.cells import ARMS
from softlabel.studies.conditions.problem import VALIDATION_SHARE
from softlabel.studies.conditions.result import COLLAPSED, ConditionRow, ConditionsResult
from softlabel.studies.conditions.settings import ConditionsSettings
from softlabel.studies.pages import accuracy_cell, interval_cell, written_before

TONES = {"soft wins": "good", "hard wins": "bad"}


def conditions_page(result: ConditionsResult) -> Page:
    """The page of a run."""
    study, settings = result.study, result.settings
    return Page(
        title=study.title,
        question=study.question,
        answer=result.summary,
        picture=_chart(result),
        tables=[_endpoint_table(result), _gap_table(result), _spread_table(result)],
        charts=[_margin_chart(result)] if result.margins else [],
        extra_tables=[_choice_table(result), *([_margin_table(result)] if result.margins else [])],
        method=[*_method(settings), written_before(study)],
        settings=settings.model_dump(mode="json"),
    )


def _endpoint_table(result: ConditionsResult) -> Table:
    rows: list[list[Cell | str]] = [
        [
            Cell(name, "primary endpoint" if number == 0 else ""),
            interval_cell(one.mean, one.low, one.high, ".3f" if name.endswith("(ratio)") else "+.3f"),
        ]
        for number, (name, one) in enumerate(result.endpoints.items())
    ]
    others = len(rows) - 1
    about = (
        f"In percentage points unless another unit is named, with {result.settings.confidence:.0%} intervals over "
        "seeds and test rows."
    )
    about += f" Those below the primary endpoint are adjusted for {others} comparisons." if others > 1 else ""
    return Table("Endpoints", about, ["endpoint", "value"], rows)


def _gap_table(result: ConditionsResult) -> Table:
    rows = [
        [
            row.condition.name,
            accuracy_cell(row.teacher, result.settings.confidence),
            accuracy_cell(row.arms["hard"], result.settings.confidence),
            accuracy_cell(row.arms["soft"], result.settings.confidence),
            interval_cell(row.gap.mean, row.gap.low, row.gap.high, "+.2f"),
            _verdict(row),
        ]
        for row in result.rows
    ]
    about = (
        f"Test accuracy in per cent, {result.settings.runs} seeds, {result.settings.confidence:.0%} intervals over "
        f"seeds and test rows; the intervals of the gaps are adjusted for {len(rows)} comparisons. A run that has less "
        f"than {COLLAPSED:.0%} of the teacher's accuracy collapsed; such runs count."
    )
    return Table("Every condition", about, ["", "teacher", "hard", "soft", "gap soft − hard", "verdict"], rows)


def _spread_table(result: ConditionsResult) -> Table:
    rows = [
        [
            row.condition.name,
            *(f"{row.spread[arm]:.2f}" for arm in ARMS),
            *(f"{row.disagreement[arm]:.2f}" for arm in ARMS),
        ]
        for row in result.rows
    ]
    about = (
        "Spread: standard deviation of the test accuracy over seeds, in points. Disagreement: share of the test rows, "
        "in per cent, on which one of two seeds is right and the other is not."
    )
    return Table("Seed to seed", about, ["", "spread: hard", "soft", "disagreement: hard", "soft"], rows)


def _verdict(row: ConditionRow) -> Cell:
    lines = [f"{row.collapsed[arm]} of {row.gap.runs} {arm} runs collapsed" for arm in ARMS if row.collapsed[arm]]
    if row.verdict == "undecided":
        lines.insert(0, f"{row.needed} seeds may decide" if row.needed else "needs more test rows")
    return Cell(row.verdict, lines, TONES.get(row.verdict, "muted"))


def _choice_table(result: ConditionsResult) -> Table:
    rows = [
        [
            row.condition.name,
            row.condition.settings_of or "chosen here",
            f"{row.chosen['hard'].learning_rate:g}",
            f"{row.chosen['soft'].learning_rate:g}",
            f"{row.chosen['soft'].label_scale:g}",
        ]
        for row in result.rows
    ]
    about = "By mean validation accuracy over the tuning seeds, collapsed runs included."
    header = ["", "settings of", "learning rate: hard", "soft", "size of soft logits"]
    return Table("Chosen settings", about, header, rows)


def _method(settings: ConditionsSettings) -> list[str]:
    recipe = settings.recipe
    model = "output layer trained too" if recipe.train_output else "output signs fixed"
    biases = "with biases" if recipe.biases else "without biases"
    optimizer = "Adam" if recipe.optimizer == "adam" else "(projected) gradient descent"
    return [
        f"Students: two-layer ReLU networks, {model}, {biases}; mini-batch {optimizer}, {recipe.iterations:,} steps of "
        f"{recipe.batch_size} rows, schedule {recipe.schedule}; the weights of the best of {recipe.checks} validation "
        "checks are tested. With two classes an output of exactly 0 (all neurons dead) is wrong, as in the theory.",
        f"Choice: {len(recipe.hard_learning_rates)} settings in each arm (soft: size of the logits × learning rate, "
        f"hard: learning rates only), by mean validation accuracy over {settings.tuning_seeds} tuning seeds.",
        "Soft labels: the teacher's logits, divided by the temperature at which their root mean square is the chosen "
        "size; the temperature is on the labels only.",
        f"Test: {settings.runs} new seeds, the same for both arms. A seed sets the training rows (where only some are "
        f"taken), the validation rows (a share of {VALIDATION_SHARE:.3g}), label noise, teacher, initialization and "
        "order of batches. The test rows are used once, after the choice.",
        "Intervals: two-way random effects (seeds and test rows), a Student interval for each, combined in quadrature; "
        "arms are paired by seed and row. Samples of different data sets are independent.",
        f"'No difference' means that the adjusted interval lies within ±{settings.equivalence:g} points.",
    ]


def _chart(result: ConditionsResult) -> Chart:
    """Accuracy of both arms and of the teacher, and the gap, by condition."""
    study, rows = result.study, result.rows
    ordered = all(row.condition.position is not None for row in rows)
    x: Sequence[float | str] = [row.condition.position if ordered else row.condition.name for row in rows]  # type: ignore[misc]
    names = not ordered
    series = []
    for arm in ARMS:
        low, high = zip(*(row.arms[arm].interval(result.settings.confidence) for row in rows), strict=True)
        means = [row.arms[arm].mean for row in rows]
        series.append(Series(f"{arm} labels", x, means, low, high, role=arm, marks=names))
    teachers = [row.teacher.mean for row in rows]
    series.append(Series("teacher", x, teachers, role="teacher", marks=names, dashed=True))
    gaps = [row.gap for row in rows]
    gap = Series("soft − hard", x, [one.mean for one in gaps], [one.low for one in gaps], [one.high for one in gaps],
                 role="extra", marks=names)  # fmt: skip
    band = result.settings.equivalence
    axis = {"log_x": study.log_axis and ordered, "ticks": x if ordered else None, "horizontal": names}
    panels = [
        Panel(title, shown, unit if names else study.axis, "" if names else unit, **axis, **more)  # type: ignore[arg-type]
        for title, shown, unit, more in (
            ("test accuracy, %", series, "per cent", {}),
            ("gap soft − hard, points", [gap], "points",
             {"zero_line": True, "band": (-band, band), "band_name": f"no difference (±{band:g})"}),
        )
    ]  # fmt: skip
    caption = (
        f"Means over {result.settings.runs} seeds. Intervals: {result.settings.confidence:.0%} over seeds and test "
        f"rows; those of the gaps are adjusted for {len(rows)} comparisons."
    )
    height = 90 + 52 * len(rows) if names else Chart.row_height
    return Chart(study.name, study.title, caption, panels, share_y=False, row_height=height)


def _margin_table(result: ConditionsResult) -> Table:
    rows = [
        [name, f"{one.rows:,}", str(one.seed), f"{one.lower:.4g} … {one.upper:.4g}"]
        for name, margins in result.margins.items()
        for one in margins
    ]
    about = "Certified intervals of γ* (95%, rounding included) for the training rows of a seed, as `softlabel margin`."
    return Table("Separation margins", about, ["", "training rows", "seed", "γ*"], rows)


def _margin_chart(result: ConditionsResult) -> Chart:
    """The certified interval of γ* of each seed against the number of training rows."""
    seeds = range(min(len(margins) for margins in result.margins.values()))
    series = []
    for number in seeds:
        margins = [same[number] for same in result.margins.values()]
        name = f"seed {margins[0].seed}"
        series.append(
            Series(name, [one.rows for one in margins], [one.middle for one in margins],
                   [one.lower for one in margins], [one.upper for one in margins], role="extra")
        )  # fmt: skip
    ticks = sorted({one.rows for margins in result.margins.values() for one in margins})
    panel = Panel("γ*", series, "training rows", "separation margin γ*", log_x=True, log_y=True, ticks=ticks)
    caption = "Certified intervals of the separation margin, and the geometric means of their ends."
    return Chart(f"{result.study.name}-margins", "Separation margin by number of training rows", caption, [panel])
