"""What Table 1 says, in plain sentences made from its numbers."""

from collections import Counter
from collections.abc import Sequence

from softlabel.studies.table1.cells import ARMS
from softlabel.studies.table1.result import Table1Result, Table1Row


def summary(result: Table1Result) -> list[str]:
    """The sentences, the answer first."""
    return [_answer(result), _free_choice(result), *_ball(result), *_collapses(result), *_paper(result)]


def _answer(result: Table1Result) -> str:
    """With one ball for both arms: the smallest, and none."""
    radii = list(result.mean_gaps)
    parts = []
    if radii[0] is not None:
        where = f"On a small ball around the initialization (B = {radii[0]:g})"
        parts.append(f"{where} {_words(result, radii[0])}")
    if radii[-1] is None:
        parts.append(f"{'without a ball' if parts else 'Without a ball'} {_words(result, None)}")
    return "; ".join(parts) + "."


def _words(result: Table1Result, radius: float | None) -> str:
    gap, verdict = result.mean_gaps[radius], result.verdict_on(radius)
    ends = f"{gap.low:+.1f} … {gap.high:+.1f}"
    if verdict in ("soft wins", "hard wins"):
        return f"{verdict.split()[0]} labels win by {abs(gap.mean):.1f} points ({ends})"
    if verdict == "no difference":
        return f"the arms tie ({gap.mean:+.1f} points, {ends})"
    return f"no winner is visible ({gap.mean:+.1f} points, {ends})"


def _free_choice(result: Table1Result) -> str:
    """Each arm with its own settings: the paper's table."""
    counts = Counter(row.verdict for row in result.primary)
    verdicts = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    gaps = [row.gap.mean for row in result.primary]
    return (
        f"When each arm may choose its learning rate, temperature and radius: {verdicts} (of {len(result.primary)} "
        f"rows), gaps from {min(gaps):+.2f} to {max(gaps):+.2f} points."
    )


def _mean_gap(rows: Sequence[Table1Row]) -> float:
    return sum(row.gap.mean for row in rows) / len(rows)


def _ball(result: Table1Result) -> list[str]:
    """Why: where the ball constrains the hard arm, and elsewhere."""
    tight = [row for row in result.common if row.on_the_ball["hard"] > 0.5]
    loose = [row for row in result.common if row.on_the_ball["hard"] <= 0.5]
    if not (tight and loose):
        return []
    return [
        "Why: hard labels ask for ever larger outputs, which the ball forbids. Where most of the hard arm's neurons "
        f"are on the boundary of the ball, the mean gap is {_mean_gap(tight):+.2f} points, elsewhere "
        f"{_mean_gap(loose):+.2f}."
    ]


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
    if len(rows) < 2 or rows[0].paper is None:
        return []
    best = max(rows, key=lambda row: row.arms["soft"].mean)
    hard = max(rows, key=lambda row: row.arms["hard"].mean)
    low, high = best.arms["soft"].interval()
    return [
        f"Soft labels, width 4, all digits (paper: {rows[0].paper[2]}): the closest of {len(rows)} protocols is "
        f"'{best.protocol}' with {best.arms['soft'].mean:.2f} [{low:.2f}, {high:.2f}]. Hard labels "
        f"(paper: {rows[0].paper[1]}) reach {hard.arms['hard'].mean:.2f} ('{hard.protocol}')."
    ]
