"""The page of Table 1."""

from collections.abc import Sequence
from typing import Any

from softlabel.lab.statistics import Estimate
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.pages import accuracy_cell, claim_cell, interval_cell
from softlabel.studies.table1.cells import ARMS
from softlabel.studies.table1.charts import charts, picture, radius_name
from softlabel.studies.table1.result import Table1Result, Table1Row
from softlabel.studies.table1.settings import PRIMARY, Table1Settings

QUESTION = (
    "With 4, 6 or 8 neurons: does a student learn more from a teacher's soft labels than from hard ones? "
    "Digits above 4 against the others, two-layer students, projected gradient descent "
    "(Mandal, Lin and Srikant, Table 1)."
)
ARM_CONFIDENCE = 0.95  # of the accuracy of one arm, as the tables say


def table1_page(result: Table1Result) -> Page:
    """The page of a run."""
    settings = result.settings
    return Page(
        title=f"Table 1: soft against hard labels for very small students ({settings.data}, {settings.task})",
        question=QUESTION,
        answer=result.summary,
        picture=picture(result),
        tables=[_paper_table(result), *_drop_tables(result)],
        extra_tables=[
            _gap_table(
                "Common radius: both arms on the same ball",
                "One radius for both arms; each arm chose its learning rate and temperature on validation data, from "
                f"equally many settings. Intervals are adjusted for {len(result.common)} comparisons.",
                result.common,
            ),
            *_protocol_tables(result),
        ],
        charts=charts(result),
        method=_method(settings),
        settings=_flat(settings),
    )


def _verdict(row: Table1Row) -> Cell:
    tone = {"soft wins": "good", "hard wins": "bad"}.get(row.verdict, "muted")
    lines = [f"{row.collapsed[arm]} of {row.gap.runs} {arm} runs collapsed" for arm in ARMS if row.collapsed[arm]]
    if row.verdict == "undecided":
        lines.insert(0, f"{row.needed} runs may decide" if row.needed else "needs more test images")
    return Cell(row.verdict, lines, tone)


def _against(estimate: Estimate, printed: float | None) -> Cell:
    """Our mean and interval, and the difference from the paper's number."""
    low, high = estimate.interval(ARM_CONFIDENCE)
    lines = [f"{low:.2f} … {high:.2f}"]
    tone = ""
    if printed is not None:
        miss = estimate.mean - printed
        tone = "bad" if printed > high else ""
        lines.append(f"paper {printed:.2f} ({miss:+.2f})")
    return Cell(f"{estimate.mean:.2f}", lines, tone)


def _paper_table(result: Table1Result) -> Table:
    """The paper's table, our numbers beside the printed ones."""
    rows: list[list[Cell | str]] = []
    for row in result.primary:
        printed = row.paper or (None, None, None)
        estimates = (row.teacher, row.arms["hard"], row.arms["soft"])
        rows.append(
            [
                Cell(row.dataset, f"{row.width} neurons"),
                *(_against(estimate, number) for estimate, number in zip(estimates, printed, strict=True)),
                Cell(f"{row.gap.mean:+.2f}", [f"{row.low:+.2f} … {row.high:+.2f}", _printed_gap(row)]),
                _verdict(row),
            ]
        )
    return Table(
        "Primary: each arm with the settings it chose",
        "Test accuracy in per cent, mean over runs with 95% intervals over seeds and test images; the interval of the "
        f"gap is adjusted for {len(result.primary)} comparisons. Each arm chose its settings on validation data from "
        "equally many. In parentheses: our number minus the paper's; red: the paper's number lies above our interval.",
        ["", "teacher", "hard", "soft", "gap soft − hard", "verdict"],
        rows,
    )


def _printed_gap(row: Table1Row) -> str:
    return "" if row.paper is None else f"paper {row.paper[2] - row.paper[1]:+.2f}"


def _gap_table(title: str, about: str, rows: Sequence[Table1Row]) -> Table:
    return Table(
        title,
        about,
        ["", "radius hard / soft", "hard", "soft", "gap", "verdict", "on the ball: hard / soft", "temperature"],
        [
            [
                Cell(row.dataset, f"{row.width} neurons"),
                " / ".join(radius_name(row.chosen[arm].radius) for arm in ARMS),
                accuracy_cell(row.arms["hard"], ARM_CONFIDENCE),
                accuracy_cell(row.arms["soft"], ARM_CONFIDENCE),
                interval_cell(row.gap.mean, row.low, row.high, "+.2f"),
                _verdict(row),
                f"{row.on_the_ball['hard']:.0%} / {row.on_the_ball['soft']:.0%}",
                f"{row.chosen['soft'].temperature:g}",
            ]
            for row in rows
        ],
    )


def _protocol_tables(result: Table1Result) -> list[Table]:
    return [
        _gap_table(f"Protocol '{rows[0].protocol}'", result.settings.protocol(rows[0].protocol).about + ".", rows)
        for rows in result.others
    ]


def _drop_tables(result: Table1Result) -> list[Table]:
    if not result.drops:
        return []
    rows = [
        [
            f"{drop.width} neurons",
            f"{drop.hard:.2f}",
            f"{drop.soft:.2f}",
            interval_cell(drop.difference, drop.low, drop.high, "+.2f"),
            claim_cell("holds" if drop.low > 0 else "does not hold" if drop.high < 0 else "open"),
        ]
        for drop in result.drops
    ]
    about = (
        "The paper's second observation: from the reduced data set to all digits the hard arm loses much accuracy, the "
        "soft arm little. Primary protocol; difference of the two losses with its 95% interval, adjusted for "
        f"{len(rows)} widths."
    )
    return [
        Table(
            "From the easier data set to the harder one",
            about,
            ["", "hard loses", "soft loses", "difference", ""],
            rows,
        )
    ]


def _method(settings: Table1Settings) -> list[str]:
    teacher, protocol = settings.teacher, settings.protocol(PRIMARY)
    soft = len(protocol.temperatures) * len(protocol.soft_learning_rates)
    return [
        "The paper states no radius, temperature, learning rate, batch size or number of iterations; all of them are "
        "choices made here.",
        f"Teacher: {teacher.width} neurons with trainable output layer and biases, {teacher.init} initialization, Adam "
        f"with a learning rate falling from {teacher.learning_rate:g} to 0, at most {teacher.epochs} epochs, weights "
        "of the best validation epoch. One teacher per seed.",
        f"Students: {protocol.about}; {protocol.epochs} epochs, batch size {settings.batch_size}, weights of the best "
        "validation epoch.",
        f"Choice: {soft} settings for every radius in each arm (soft: temperature × learning rate, hard: learning "
        f"rates only), by mean validation accuracy over {settings.tuning_seeds} tuning seeds{_confirmation(settings)}. "
        f"A share of {settings.validation_share:.3g} of the training images is used for validation.",
        f"Test: {settings.runs} new seeds, the same for both arms; a seed sets teacher and initialization. The test "
        "images are used once, after the choice. The order of the batches is the same for all.",
        "Intervals: two-way random effects (seeds and test images), a Student interval for each, combined in "
        "quadrature; gaps are paired by seed and image, adjusted by Bonferroni (intervals) and Holm (p-values) within "
        "each table. The reduced data set is a part of all digits: half-widths of sums and differences over both data "
        "sets are added, which covers any dependence.",
        f"'No difference' means that the adjusted interval lies within ±{settings.equivalence:g} points.",
    ]


def _confirmation(settings: Table1Settings) -> str:
    if settings.shortlist == 1:
        return ""
    return (
        f"; the best {settings.shortlist} are tried with {settings.confirmation_seeds} more, and the best mean over "
        "all of them counts, collapsed runs included"
    )


def _flat(settings: Table1Settings) -> dict[str, Any]:
    shown = settings.model_dump(mode="json")
    protocols = shown.pop("protocols")
    for protocol in protocols:
        shown[f"protocol {protocol.pop('name')}"] = protocol
    return shown
