"""What Table 1 says, in plain sentences made from its numbers."""

from collections import Counter
from collections.abc import Sequence

from softlabel.studies.table1.cells import ARMS
from softlabel.studies.table1.result import Table1Result, Table1Row


def summary(result: Table1Result) -> list[str]:
    """The sentences, the answer first."""
    counts = Counter(row.verdict for row in result.primary)
    verdicts = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    gaps = [row.gap.mean for row in result.primary]
    answer = (
        f"Each arm with the settings that serve it best: {verdicts} (of {len(result.primary)} rows); gaps from "
        f"{min(gaps):+.2f} to {max(gaps):+.2f} points."
    )
    return [answer, *_common_radius(result), *_collapses(result), *_paper(result)]


def _mean_gap(rows: Sequence[Table1Row]) -> float:
    return sum(row.gap.mean for row in rows) / len(rows)


def _soft_wins(rows: Sequence[Table1Row]) -> int:
    return sum(row.verdict == "soft wins" for row in rows)


def _common_radius(result: Table1Result) -> list[str]:
    """Both arms with one radius: by radius, without projection, and where the ball constrains the hard arm."""
    projected = [row for row in result.common if row.chosen["hard"].radius is not None]
    parts = []
    for radius in sorted({row.chosen["hard"].radius or 0.0 for row in projected}):
        rows = [row for row in projected if row.chosen["hard"].radius == radius]
        share = sum(row.on_the_ball["hard"] for row in rows) / len(rows)
        parts.append(
            f"B = {radius:g}: {_mean_gap(rows):+.2f} points, soft wins {_soft_wins(rows)} of {len(rows)} ({share:.0%})"
        )
    lines = [
        "With one radius for both arms, mean gap over data sets and widths (in parentheses: share of the hard arm's "
        "neurons on the boundary of the ball): " + "; ".join(parts) + "."
    ]
    free = [row for row in result.common if row.chosen["hard"].radius is None]
    if free:
        lines.append(
            f"Without projection the mean gap is {_mean_gap(free):+.2f} points; soft wins {_soft_wins(free)} of "
            f"{len(free)} rows."
        )
    tight = [row for row in projected if row.on_the_ball["hard"] > 0.5]
    loose = [row for row in result.common if row.on_the_ball["hard"] <= 0.5]
    if free and tight and loose:
        lines.append(
            "When soft labels win: hard labels ask for ever larger outputs, soft labels for finite ones. Where most of "
            f"the hard arm's neurons are on the boundary of the ball, the mean gap is {_mean_gap(tight):+.2f} points "
            f"over {len(tight)} rows; elsewhere it is {_mean_gap(loose):+.2f} over {len(loose)}."
        )
    return lines


def _collapses(result: Table1Result) -> list[str]:
    """Runs that learned nothing; they are part of every mean."""
    tables = {"common radius": result.common} | {rows[0].protocol: rows for rows in (result.primary, *result.others)}
    parts = [
        f"{name}: {', '.join(f'{sum(row.collapsed[arm] for row in rows)} {arm}' for arm in ARMS)} "
        f"of {sum(row.gap.runs for row in rows)} each"
        for name, rows in tables.items()
        if any(sum(row.collapsed.values()) for row in rows)
    ]
    if not parts:
        return []
    return [
        "Collapsed runs (no better than chance, also on validation images: all neurons are inactive after too large a "
        "learning rate, or all output signs are equal in an unpaired initialization) are included in every mean: "
        + "; ".join(parts)
        + "."
    ]


def _paper(result: Table1Result) -> list[str]:
    """The comparison with the paper's numbers for soft labels."""
    printed = [row for row in result.primary if row.paper is not None]
    if not printed:
        return []
    missed = [row for row in printed if row.paper and row.arms["soft"].interval()[1] < row.paper[2]]
    rows = ", ".join(
        f"{row.dataset}, {row.width}: {row.arms['soft'].mean:.2f} of {row.paper[2]}" for row in missed if row.paper
    )
    line = f"The paper's accuracies with soft labels are missed in {len(missed)} of {len(printed)} rows"
    return [line + (f" ({rows})." if rows else "."), *_closest(result)]


def _closest(result: Table1Result) -> list[str]:
    """How close any protocol comes to the paper's hardest claim, width 4 on all digits."""
    tables = (result.primary, *result.others)
    rows = [row for rows in tables for row in rows if row.leave_out == () and row.width == 4]
    if not rows or rows[0].paper is None:
        return []
    best = max(rows, key=lambda row: row.arms["soft"].mean)
    hard = max(rows, key=lambda row: row.arms["hard"].mean)
    low, high = best.arms["soft"].interval()
    return [
        f"Soft labels, width 4, all digits (paper: {rows[0].paper[2]}): the closest of {len(rows)} protocols is "
        f"'{best.protocol}' with {best.arms['soft'].mean:.2f} [{low:.2f}, {high:.2f}]. Hard labels "
        f"(paper: {rows[0].paper[1]}) reach {hard.arms['hard'].mean:.2f} ('{hard.protocol}')."
    ]
