"""Does what soft labels gain depend on the number of training rows?"""

import math

from softlabel.studies.conditions import (
    Condition,
    ConditionsResult,
    ConditionsSettings,
    ConditionsStudy,
    Endpoint,
    MarginsOfRows,
)
from softlabel.studies.conditions.margins import margin_exponent
from softlabel.studies.questions.recipes import PGD, presets, trend
from softlabel.theory import bounds

ROWS = (500, 2000, 8000, 30_000, 60_000)
MARGINS = {
    "quick": MarginsOfRows(most_rows=2000, runs=1, work_limit=2e11),
    "standard": MarginsOfRows(most_rows=8000),
    "paper": MarginsOfRows(most_rows=60_000, work_limit=1e14),
}
GAMMA, EPSILON = 0.03, 0.1  # of the bounds beside the measurements


def _conditions(quick: bool) -> list[Condition]:
    return [
        Condition(name=f"{rows:,} rows", position=rows, rows=rows, radius=25.0)
        for rows in (ROWS[:3] if quick else ROWS)
    ]


class SampleSizeStudy(ConditionsStudy):
    """Question: how does the gap between soft and hard labels change with the number of training rows?

    Students of 8 neurons on MNIST (label > 4), model of the theory, ball of radius 25, 500 to 60,000 images for
    training and validation, drawn anew for every seed. Primary endpoint: slope of the gap per tenfold number of rows,
    with a 95% interval over seeds and test images. Secondary: the same slope of each arm's accuracy, and the certified
    separation margin γ* of up to 8,000 rows against their number.
    """

    name = "sample-size"
    title = "Does the number of training rows matter for soft labels?"
    question = "Training sets of 500 to 60,000 images; the theory's hard-label bound grows with the logarithm of n."
    axis = "training and validation rows"
    log_axis = True
    presets = presets(PGD, _conditions, margins=MARGINS)

    def endpoints(self, settings: ConditionsSettings) -> list[Endpoint]:
        """Slopes per tenfold number of rows."""
        by_log = [one.model_copy(update={"position": math.log10(one.position or 1)}) for one in settings.conditions]
        return [
            Endpoint.slope("gap per tenfold number of rows", by_log),
            Endpoint.slope("accuracy with hard labels per tenfold number of rows", by_log, "hard"),
            Endpoint.slope("accuracy with soft labels per tenfold number of rows", by_log, "soft"),
        ]

    def answer(self, result: ConditionsResult) -> str:
        """The primary endpoint in words."""
        slope = result.primary
        return (
            f"The gain from soft labels {trend(slope.low, slope.high)} with the number of training rows: {slope:+.2f} "
            "points per tenfold number."
        )

    def remarks(self, result: ConditionsResult) -> list[str]:
        """What the bounds say about n."""
        rows = [row.condition.rows or 0 for row in result.rows]
        few, many = (bounds.overview(GAMMA, EPSILON, n).families["tight"]["soft"].width for n in (rows[0], rows[-1]))
        free = bounds.soft_without_n(GAMMA, EPSILON).width
        return [
            f"Theory at γ = {GAMMA:g}, ε = {EPSILON:g}: from {rows[0]:,} to {rows[-1]:,} rows the tight soft-label "
            f"bound grows from {few:,} to {many:,} neurons; the bound without n is {free:,}.",
            *_about_margins(result),
        ]


def _about_margins(result: ConditionsResult) -> list[str]:
    """How γ* falls with the number of rows, where margins were certified."""
    exponent = margin_exponent(list(result.margins.values()))
    if exponent is None:
        return []
    rows = [margins[0].rows for margins in result.margins.values()]
    harder = (
        ": more rows are harder to separate, so that bounds at the γ* of the data grow with n faster than at a fixed γ"
        if exponent.high < 0
        else ""
    )
    return [
        f"The certified margin γ* of {rows[0]:,} to {rows[-1]:,} training rows changes as n^{exponent.mean:.2f} "
        f"(by the certified intervals of {len(next(iter(result.margins.values())))} single seeds exponents from "
        f"{exponent.low:.2f} to {exponent.high:.2f} are possible){harder}."
    ]
