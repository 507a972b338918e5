"""Table 1 as JSON, as a table at the terminal, and as a page."""

from collections.abc import Sequence
from typing import Any

from softlabel.lab.statistics import Mean
from softlabel.report.citations import citations
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.table1.cells import ARMS, set_name
from softlabel.studies.table1.charts import charts, radius_name
from softlabel.studies.table1.judging import Judgement, Row
from softlabel.studies.table1.settings import PRIMARY, Table1

QUESTION = (
    "With 4, 6 or 8 neurons: does a student learn more from a teacher's soft labels than from hard ones? "
    "Digits above 4 against the others, two-layer students, projected gradient descent "
    "(Mandal, Lin and Srikant, Table 1)."
)


def document(judged: Judgement, report: str) -> dict[str, Any]:
    """What `reproduce table1 --json` prints."""
    confidence = judged.settings.confidence
    return {
        "rows": [row_document(row, confidence) for row in judged.primary],
        "common_radius": [row_document(row, confidence) for row in judged.common],
        "protocols": {rows[0].protocol: [row_document(row, confidence) for row in rows] for rows in judged.further},
        "drops": [vars(drop) for drop in judged.drops],
        "map": [
            {"dataset": set_name(leave_out), "width": width, "labels": name, "radius": radius, "validation": value}
            for leave_out in judged.settings.leave_out
            for width in judged.settings.widths
            for name, values in judged.map(leave_out, width).items()
            for radius, value in values.items()
        ],
        "settings": judged.settings.model_dump(mode="json"),
        "report": report,
    }


def row_document(row: Row, confidence: float) -> dict[str, Any]:
    """One row of the table; accuracies and gaps in per cent."""
    return {
        "dataset": row.dataset,
        "width": row.width,
        "teacher": row.teacher.value,
        **{arm: mean_document(row.arms[arm], confidence) | {"chosen": _chosen(row, arm)} for arm in ARMS},
        "gap": {
            "mean": row.gap.value,
            "low": row.low,
            "high": row.high,
            "runs": row.gap.runs,
            "p_holm": row.p,
            "effect": row.gap.effect,
        },
        "paper": None if row.paper is None else dict(zip(("teacher", "hard", "soft"), row.paper, strict=True)),
        "verdict": row.verdict,
        "runs_needed": row.needed,
        "collapsed": row.collapsed,
    }


def mean_document(mean: Mean, confidence: float) -> dict[str, Any]:
    low, high = mean.interval(confidence)
    return {"mean": mean.value, "low": low, "high": high, "runs": mean.runs}


def _chosen(row: Row, arm) -> dict[str, Any]:
    cell = row.chosen[arm]
    return {
        "start": cell.start,
        "radius": cell.radius,
        "temperature": cell.temperature,
        "step": cell.step,
        "on_the_ball": row.on_the_ball[arm],
    }


def page(judged: Judgement, environment: dict[str, Any], again: str) -> Page:
    """The page of a run."""
    settings = judged.settings
    held = f"{settings.data}, {settings.task}"
    return Page(
        title=f"Table 1: soft against hard labels for very small students ({held})",
        question=QUESTION,
        answer=summary(judged),
        tables=[_paper_table(judged), *_drop_tables(judged)],
        further_tables=[
            _gap_table(
                "Common radius: both arms on the same ball",
                "One radius for both arms; step and temperature chosen on validation data with equal budgets. "
                f"Intervals are adjusted for {len(judged.common)} comparisons.",
                judged.common,
            ),
            *_further_tables(judged),
        ],
        charts=charts(judged),
        method=_method(settings),
        settings=_flat(settings),
        environment=environment,
        again=again,
        citations=citations("table1", settings.data),
    )


def summary(judged: Judgement) -> list[str]:
    """What came out, in plain words, from the numbers themselves."""
    lines = []
    counts: dict[str, int] = {}
    for row in judged.primary:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    said = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    gaps = [row.gap.value for row in judged.primary]
    lines.append(
        f"Each arm with the settings that serve it best: {said} (of {len(judged.primary)} rows); gaps from "
        f"{min(gaps):+.2f} to {max(gaps):+.2f} points."
    )
    common = [row for row in judged.common if row.chosen["hard"].radius is not None]
    radii = sorted({row.chosen["hard"].radius or 0.0 for row in common})
    parts = []
    for radius in radii:
        rows = [row for row in common if row.chosen["hard"].radius == radius]
        mean = sum(row.gap.value for row in rows) / len(rows)
        bound = sum(row.on_the_ball["hard"] for row in rows) / len(rows)
        wins = sum(row.verdict == "soft wins" for row in rows)
        parts.append(f"B = {radius:g}: {mean:+.2f} points, soft wins {wins} of {len(rows)} ({bound:.0%} held)")
    free = [row for row in judged.common if row.chosen["hard"].radius is None]
    lines.append(
        "With one radius for both arms, mean gap over sets and widths (in brackets: the hard arm's neurons that the "
        "ball holds): " + "; ".join(parts) + "."
    )
    if free:
        mean = sum(row.gap.value for row in free) / len(free)
        wins = sum(row.verdict == "soft wins" for row in free)
        lines.append(f"Without projection the mean gap is {mean:+.2f} points; soft wins {wins} of {len(free)} rows.")
    if common and free:
        tight = [row for row in common if row.on_the_ball["hard"] > 0.5]
        loose = [row for row in judged.common if row.on_the_ball["hard"] <= 0.5]
        if tight and loose:
            first, second = (sum(row.gap.value for row in rows) / len(rows) for rows in (tight, loose))
            lines.append(
                "When soft labels win: hard labels ask for ever larger outputs, soft labels for finite ones. Where the "
                f"ball holds most of the hard arm's neurons the mean gap is {first:+.2f} points over {len(tight)} "
                f"rows; where it does not, {second:+.2f} over {len(loose)}."
            )
    lines += _collapses(judged)
    missed = [row for row in judged.primary if row.paper is not None and row.arms["soft"].interval()[1] < row.paper[2]]
    with_paper = [row for row in judged.primary if row.paper is not None]
    if with_paper:
        words = ", ".join(
            f"{row.dataset}, {row.width}: {row.arms['soft'].value:.2f} of {row.paper[2]}" for row in missed if row.paper
        )
        lines.append(
            f"The paper's soft cells are missed in {len(missed)} of {len(with_paper)} rows"
            + (f" ({words})." if words else ".")
        )
        lines.append(_nearest(judged))
    return lines


def _collapses(judged: Judgement) -> list[str]:
    """Runs that learned nothing: they are part of every mean, and said."""
    tables = {"common radius": judged.common} | {rows[0].protocol: rows for rows in (judged.primary, *judged.further)}
    parts = [
        f"{name}: {', '.join(f'{sum(row.collapsed[arm] for row in rows)} {arm}' for arm in ARMS)} "
        f"of {sum(row.gap.runs for row in rows)} each"
        for name, rows in tables.items()
        if any(sum(row.collapsed.values()) for row in rows)
    ]
    if not parts:
        return []
    return [
        "Runs that collapsed (no better than a coin, on validation images too: all neurons silent after too long a "
        "step, or all output signs equal in an unpaired start) are counted in every mean: " + "; ".join(parts) + "."
    ]


def _nearest(judged: Judgement) -> str:
    """How near any protocol comes to the paper's hardest claim, width 4 on all digits."""
    rows = [row for rows in (judged.primary, *judged.further) for row in rows if row.leave_out == () and row.width == 4]
    if not rows or rows[0].paper is None:
        return ""
    best = max(rows, key=lambda row: row.arms["soft"].value)
    hard = max(rows, key=lambda row: row.arms["hard"].value)
    low, high = best.arms["soft"].interval()
    return (
        f"Soft labels, width 4, all digits (paper: {rows[0].paper[2]}): the nearest of {len(rows)} protocols is "
        f"'{best.protocol}' with {best.arms['soft'].value:.2f} [{low:.2f}, {high:.2f}]. Hard labels "
        f"(paper: {rows[0].paper[1]}) reach {hard.arms['hard'].value:.2f} ('{hard.protocol}')."
    )


def _interval(mean: Mean) -> Cell:
    low, high = mean.interval()
    return Cell(f"{mean.value:.2f}", f"{low:.2f} … {high:.2f}")


def _verdict(row: Row) -> Cell:
    tone = {"soft wins": "good", "hard wins": "bad"}.get(row.verdict, "muted")
    lines = [f"{row.collapsed[arm]} of {row.gap.runs} {arm} runs collapsed" for arm in ARMS if row.collapsed[arm]]
    if row.verdict == "undecided":
        lines.insert(0, f"{row.needed} runs may decide" if row.needed else "more test images needed")
    return Cell(row.verdict, lines, tone)


def _against(mean: Mean, printed: float | None) -> Cell:
    """Our mean and interval, and how it stands to the paper's number."""
    low, high = mean.interval()
    lines = [f"{low:.2f} … {high:.2f}"]
    tone = ""
    if printed is not None:
        miss = mean.value - printed
        tone = "bad" if printed > high else ""
        lines.append(f"paper {printed:.2f} ({miss:+.2f})")
    return Cell(f"{mean.value:.2f}", lines, tone)


def _paper_table(judged: Judgement) -> Table:
    rows: list[list[Cell | str]] = []
    for row in judged.primary:
        printed = row.paper or (None, None, None)
        means = (row.teacher, row.arms["hard"], row.arms["soft"])
        rows.append(
            [
                Cell(row.dataset, f"{row.width} neurons"),
                *(_against(mean, number) for mean, number in zip(means, printed, strict=True)),
                Cell(f"{row.gap.value:+.2f}", [f"{row.low:+.2f} … {row.high:+.2f}", _printed_gap(row)]),
                _verdict(row),
            ]
        )
    return Table(
        "Primary: each arm with its own settings",
        "Test accuracy in per cent, mean over runs with 95% intervals over seeds and test images; the gap's interval "
        f"is adjusted for {len(judged.primary)} comparisons. Settings were chosen on validation data, with the same "
        "number to choose from in each arm. In brackets our number less the paper's; red: a miss, the paper's number "
        "lies above our interval.",
        ["", "teacher", "hard", "soft", "gap soft − hard", "verdict"],
        rows,
    )


def _printed_gap(row: Row) -> str:
    return "" if row.paper is None else f"paper {row.paper[2] - row.paper[1]:+.2f}"


def _gap_table(title: str, about: str, rows: Sequence[Row]) -> Table:
    return Table(
        title,
        about,
        ["", "radius hard / soft", "hard", "soft", "gap", "verdict", "on the ball: hard / soft", "temperature"],
        [
            [
                Cell(row.dataset, f"{row.width} neurons"),
                " / ".join(radius_name(row.chosen[arm].radius) for arm in ARMS),
                _interval(row.arms["hard"]),
                _interval(row.arms["soft"]),
                Cell(f"{row.gap.value:+.2f}", f"{row.low:+.2f} … {row.high:+.2f}"),
                _verdict(row),
                f"{row.on_the_ball['hard']:.0%} / {row.on_the_ball['soft']:.0%}",
                f"{row.chosen['soft'].temperature:g}",
            ]
            for row in rows
        ],
    )


def _further_tables(judged: Judgement) -> list[Table]:
    return [
        _gap_table(f"Protocol '{rows[0].protocol}'", judged.settings.protocol(rows[0].protocol).about + ".", rows)
        for rows in judged.further
    ]


def _drop_tables(judged: Judgement) -> list[Table]:
    if not judged.drops:
        return []
    rows = [
        [
            f"{drop.width} neurons",
            f"{drop.hard:.2f}",
            f"{drop.soft:.2f}",
            Cell(f"{drop.difference:+.2f}", f"{drop.low:+.2f} … {drop.high:+.2f}"),
            Cell(
                *(
                    ("holds", "", "good")
                    if drop.low > 0
                    else ("fails", "", "bad")
                    if drop.high < 0
                    else ("open", "", "muted")
                )
            ),
        ]
        for drop in judged.drops
    ]
    about = (
        "The paper's second observation: from the reduced set to all digits the hard arm loses much, the soft arm "
        "little. Primary protocol; difference of the two losses with its 95% interval."
    )
    return [
        Table("From the easier set to the harder one", about, ["", "hard loses", "soft loses", "difference", ""], rows)
    ]


def _method(settings: Table1) -> list[str]:
    teacher, protocol = settings.teacher, settings.protocol(PRIMARY)
    soft = len(protocol.temperatures) * len(protocol.soft_steps)
    return [
        "The paper states no radius, temperature, step, batch size or number of iterations; all of them are choices "
        "made here.",
        f"Teacher: {teacher.width} neurons with trainable output layer and biases, {teacher.start} start, Adam from "
        f"step {teacher.step:g} falling to 0, at most {teacher.epochs} epochs, weights of the best validation epoch. "
        "One teacher for every seed.",
        f"Students: {protocol.about}; {protocol.epochs} epochs, batches of {settings.batch_size}, weights of the best "
        "validation epoch.",
        f"Choice: {soft} settings for every radius in each arm (soft: temperature × step, hard: steps alone), by mean "
        f"validation accuracy over {settings.tuning_seeds} tuning seeds. A share of {settings.validation_share:.3g} "
        "of the training images serves for validation.",
        f"Test: {settings.runs} fresh seeds, the same for both arms; a seed sets teacher and start. The test images "
        "are read once, after the choice. Batches come in one order for all.",
        "Intervals: two-way random effects (seeds and test images), a Student interval for each joined in quadrature; "
        "gaps are paired by seed and image, adjusted by Bonferroni (intervals) and Holm (p-values) within each table.",
        f"'No difference' means that the adjusted interval lies within ±{settings.equivalence:g} points.",
    ]


def _flat(settings: Table1) -> dict[str, Any]:
    shown = settings.model_dump(mode="json")
    protocols = shown.pop("protocols")
    for protocol in protocols:
        shown[f"protocol {protocol.pop('name')}"] = protocol
    return shown
