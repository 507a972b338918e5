"""The page of the study of widths."""

import math
from collections.abc import Sequence

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.pages import written_before
from softlabel.studies.width_scaling.bound_slopes import PRINTED, crossover_words
from softlabel.studies.width_scaling.comparison import WidthRatio
from softlabel.studies.width_scaling.result import (
    QUANTITIES,
    SOFT,
    SOURCES,
    Exponent,
    NeededWidth,
    WidthScalingResult,
)
from softlabel.studies.width_scaling.settings import ARMS, Source

QUESTION = (
    "The bounds say that soft labels need O(γ⁻²) neurons and hard labels O(γ⁻⁴) (O(γ⁻⁸) without projection). They are "
    "sufficient conditions: what do students need?"
)
ROLES = {
    "soft, theorem": "soft",
    "soft, tempered": "teacher",
    "hard": "hard",
    "hard, free": "other",
    "hard, scaled": "extra",
}
MAIN = ("soft, theorem", "hard")
SLOPES, SLOPES_NAME = (2, 4, 8), "γ⁻², γ⁻⁴, γ⁻⁸, from flat to steep"  # exponents of the bounds
TITLES = {"pairs": "synthetic pairs", "xor": "2-XOR", "images": "images"}
NAMES = {"train": "training error, mean over iterations", "test": "test error, last iteration"}


def width_scaling_page(result: WidthScalingResult) -> Page:
    """The page of a run."""
    from softlabel.studies.width_scaling.study import WidthScalingStudy

    settings = result.settings
    sources: list[Source] = [one for one in SOURCES if any(level.source == one for level in settings.levels)]
    return Page(
        title="How many neurons do soft and hard labels need?",
        question=QUESTION,
        answer=result.summary,
        picture=_chart(result, "pairs"),
        tables=[_exponent_table(result), *(_ratio_table(result, source) for source in sources)],
        charts=[_chart(result, source) for source in sources[1:]],
        extra_tables=[_needed_table(result)],
        method=[
            written_before(WidthScalingStudy),
            f"{settings.runs} seeds; a seed draws data and initialization. {settings.rows} training rows; iterations: "
            f"{settings.steps:g}/γ², at most {settings.most_iterations:,}.",
            f"Widths in steps of at most a factor of {settings.width_step:g}: up to {settings.widths[-1]:,} for soft "
            f"labels as in Theorem 2 (fewer where iterations × width exceed {settings.most_work:.2g}), up to "
            f"{settings.narrow:,} for the others.",
            f"Learning rate {settings.learning_rate:g}; the refined theorem for soft labels has 1 and about 16/(εγ²) "
            "iterations, more than here, so that the mean over iterations gives the first ones more weight here.",
            "2-XOR has no further points: its test error is that of the training points after the last iteration.",
        ],
        settings=settings.model_dump(mode="json"),
    )


def _exponent_table(result: WidthScalingResult) -> Table:
    rows: list[list[Cell | str]] = []
    for source in SOURCES:
        for arm in ARMS if any(level.source == source for level in result.settings.levels) else ():
            both = [result.exponent(source, arm, quantity) for quantity in QUANTITIES]
            name = Cell(result.arm_name(arm), TITLES[source])
            rows.append(
                [name, *(_exponent_cell(one) for one in both), _bound_cell(arm, result.bound_exponent(both[0]))]
            )
    return Table(
        "Exponents p in m ∝ γ⁻ᵖ",
        f"m neurons suffice for an error of {result.settings.epsilon:g}; means over seeds, with intervals adjusted for "
        f"{len(result.exponents)} fits and widened for the steps between widths. In small print also the margins at "
        "which widths were measured; beside them the exponent of the bound as γ → 0, and of the refined bound over "
        "these margins.",
        ["", *NAMES.values(), "bound"],
        rows,
    )


def _bound_cell(arm: str, measured: float | None) -> Cell:
    return Cell(str(PRINTED[arm]), "" if measured is None else f"{measured:.1f} over these margins")


def _exponent_cell(one: Exponent) -> Cell:
    if one.interval is None:
        return Cell("–", f"usable margins: {one.levels}, too few for a fit")
    ends = f"{one.interval.low:.2f} … {one.interval.high:.2f}"
    return Cell(f"{one.interval.mean:.2f}", [ends, f"γ from {one.low_gamma:.2g} to {one.high_gamma:.2g}"])


def _ratio_table(result: WidthScalingResult, source: Source) -> Table:
    """Soft over hard at every margin of a source of data, by ε."""
    rows: list[list[Cell | str]] = []
    for level in result.settings.levels:
        if level.source != source:
            continue
        for arm in SOFT:
            ratios = [result.ratios[level, arm, epsilon] for epsilon in result.settings.epsilons]
            gamma = result.needed_at(level, arm, "train", result.settings.epsilon).gamma
            rows.append([Cell(f"γ = {gamma:.2g}", result.arm_name(arm)), *(_ratio_cell(ratio) for ratio in ratios)])
    known = result.crossovers()
    rows.append([Cell("bounds (refined)", "soft labels need fewer"), *(crossover_words(one) for one in known.values())])
    return Table(
        f"Neurons with soft labels over neurons with hard labels, {TITLES[source]}",
        "Training error averaged over iterations; geometric means over seeds, with intervals adjusted for "
        f"{len(result.ratios)} comparisons and widened for the steps between widths. Where a seed needs more than the "
        "widths that were tried there is no mean, and a difference counts only if larger widths could not reverse it.",
        ["", *(f"ε = {epsilon:g}" for epsilon in known)],
        rows,
    )


def _ratio_cell(ratio: WidthRatio) -> Cell:
    tone = {"fewer": "good", "more": "bad"}.get(ratio.word, "muted")
    if ratio.interval is None:
        return Cell("beyond the widths tried" if ratio.word == "not told apart" else ratio.word, "", tone)
    low, high = (f"{value:.2g}" for value in (ratio.interval.low, ratio.interval.high))
    return Cell(f"{ratio.interval.mean:.2g}", [f"{low} … {high}", ratio.word], tone)


def _needed_table(result: WidthScalingResult) -> Table:
    rows: list[list[Cell | str]] = []
    for level in result.settings.levels:
        for epsilon in result.settings.epsilons:
            for quantity in QUANTITIES:
                needs = [result.needed_at(level, arm, quantity, epsilon) for arm in ARMS]
                name = Cell(f"{TITLES[level.source]}, {level}", f"γ = {needs[0].gamma:.3g}")
                rows.append([name, f"{epsilon:g}", NAMES[quantity], *(_widths(one) for one in needs)])
    about = "Median over seeds of the width that suffices; in small print, the largest width that fails."
    return Table("Widths", about, ["data", "ε", "error", *map(result.arm_name, ARMS)], rows)


def _widths(one: NeededWidth) -> Cell:
    return Cell(
        "more" if math.isinf(one.suffices) else f"{one.suffices:,.0f}", f"{one.fails:,.0f} fails" if one.fails else ""
    )


def _chart(result: WidthScalingResult, source: Source) -> Chart:
    """Widths that suffice against the margin: soft and hard labels, then hard labels and the variants."""
    main, others = (
        [curve for arm in arms if (curve := _curve(result, source, arm)).x]
        for arms in (MAIN, [arm for arm in ARMS if arm != MAIN[0]])
    )
    panels = [
        Panel(title, [*series, *_slopes(series)], "margin γ", "neurons that suffice", log_x=True, log_y=True)
        for title, series in (("soft and hard labels", main), ("variants", others))
    ]
    caption = (
        f"Geometric mean over {result.settings.runs} seeds of the width that suffices for a training error of "
        f"{result.settings.epsilon:g}, averaged over iterations, where all seeds have one. Dashed: the bounds' slopes."
    )
    return Chart(f"widths-{source}", f"Neurons against the margin, {TITLES[source]}", caption, panels)


def _curve(result: WidthScalingResult, source: Source, arm: str) -> Series:
    points = [
        (result.needed_at(level, arm, "train", result.settings.epsilon).gamma, width)
        for level in result.settings.levels
        if level.source == source and (width := result.mean_width(level, arm, "train")) is not None
    ]
    gammas, widths = [point[0] for point in points], [point[1] for point in points]
    return Series(result.arm_name(arm), gammas, widths, role=ROLES[arm])


def _slopes(series: Sequence[Series]) -> list[Series]:
    """Lines of the bounds' slopes through the largest margin."""
    points = [(x, y) for one in series for x, y in zip(one.x, one.y, strict=True)]
    if not points:
        return []
    x = sorted(float(point[0]) for point in points)
    top, first = max(point[1] for point in points), min(point[1] for point in points)
    lines = []
    for slope in SLOPES:
        ends = [(gamma, first * (x[-1] / gamma) ** slope) for gamma in (x[-1], x[0])]
        if ends[1][1] > 4 * top:  # drawn only as far as the widths go
            ends[1] = (x[-1] / (4 * top / first) ** (1 / slope), 4 * top)
        gammas, widths = ([end[k] for end in ends] for k in range(2))
        lines.append(Series(SLOPES_NAME, gammas, widths, role="paper", dashed=True, faint=True))
    return lines
